"""The sources of a configuration: files, command line, libraries' options.

Knows nothing of this service's own options, which are in ``conf``.
"""
