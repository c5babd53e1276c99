"""A disk that has no room, for one process."""

import contextlib
import resource


@contextlib.contextmanager
def full_disk():
    """No file grows, for the time of a block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
