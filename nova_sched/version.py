"""The version of the running service."""

import functools
from importlib import metadata

PACKAGE = 'nova_sched'


@functools.cache
def version_string():
    """Return the installed version, or a text that there is none.

    Cached, as each ConfigOpts needs it.
    """
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return 'unknown, not installed'
