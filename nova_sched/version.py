"""Which release of the service is running."""

import functools
from importlib import metadata

PACKAGE = 'nova_sched'


def version_string():
    """Return the version as installed; says so where it is not installed."""
    return _version(PACKAGE)


@functools.cache
def _version(package):
    """Return the same; each program asks for it with every configuration."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return 'unknown, not installed'
