"""The options as a whole: reading files, checking values, naming.

The options themselves are in ``conf``, a file a section.
"""
