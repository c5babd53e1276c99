"""Work on the options as a whole: reading files, checking, naming.

The options themselves are in ``conf``, a file a section.
"""
