"""Numbers of examples of properties."""

import os

from hypothesis import settings

#: Set by ``tools/test.sh --everything``.
ALL = 'NOVA_SCHED_TEST_ALL_EXAMPLES'


def so_many(count, fewer=None):
    """Return ``count`` with --everything, else ``fewer`` or a third."""
    if ALL in os.environ:
        return count
    return count // 3 if fewer is None else fewer


def examples(count, fewer=None):
    """Return hypothesis' settings for ``count`` examples with --everything,
    else for ``fewer`` or a quarter.
    """
    return settings(max_examples=so_many(
        count, count // 4 if fewer is None else fewer), deadline=None)
