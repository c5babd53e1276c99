"""The version of the running service."""

import functools
from importlib import metadata

PACKAGE = 'nova_sched'


def version_string():
    """Return the installed version, or a text that there is none."""
    return _version(PACKAGE)


@functools.cache
def _version(package):
    """Return a package's version; cached, as each ConfigOpts needs it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return 'unknown, not installed'
