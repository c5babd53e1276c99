"""On how many examples a property is tried."""

import os

from hypothesis import settings

#: Set by ``tools/test.sh --everything``.
ALL = 'NOVA_SCHED_TEST_ALL_EXAMPLES'


def so_many(count, fewer=None):
    """So many where there is time for all, elsewhere fewer: a third of them.
    """
    if ALL in os.environ:
        return count
    return count // 3 if fewer is None else fewer


def examples(count, fewer=None):
    """Return hypothesis' settings for so many examples, elsewhere for fewer:
    a quarter of them.
    """
    return settings(max_examples=so_many(
        count, count // 4 if fewer is None else fewer), deadline=None)
