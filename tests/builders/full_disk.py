"""A full disk, for this process."""

import contextlib
import resource


@contextlib.contextmanager
def full_disk():
    """Keep all files from growing, for a block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
