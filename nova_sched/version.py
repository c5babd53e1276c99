"""Which release of the service is running."""

from importlib import metadata

PACKAGE = 'nova_sched'


def version_string():
    """Return the version as installed; says so where it is not installed."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return 'unknown, not installed'
