"""The entry points of the packages that are installed."""

import functools
from importlib import metadata
import sys


def named(group):
    """Return the entry points of a group: EntryPoints of importlib."""
    return _installed(tuple(sys.path)).select(group=group)


@functools.lru_cache(maxsize=1)
def _installed(path):
    """Return all entry points on a Python path; looks into every package."""
    return metadata.entry_points()
