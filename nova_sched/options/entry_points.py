"""The entry points of the packages that are installed."""

import functools
from importlib import metadata
import os
import sys


def named(group):
    """Return the entry points of a group: EntryPoints of importlib."""
    return _installed(tuple(
        (folder, _changed(folder)) for folder in sys.path)).select(group=group)


def _changed(folder):
    """Return when something was last added to a folder, or removed."""
    try:
        return os.stat(folder or os.curdir).st_mtime_ns
    except OSError:
        return None


@functools.lru_cache(maxsize=1)
def _installed(path):
    """Return all entry points of a Python path; looks into every package.

    path: (folder, when it changed) of each of its folders.
    """
    return metadata.entry_points()
