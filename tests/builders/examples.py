"""On how many examples a property is tried."""

import os

from hypothesis import settings

#: Set by ``tools/test.sh --everything``.
ALL = 'NOVA_SCHED_TEST_ALL_EXAMPLES'


def so_many(count):
    """So many where there is time for all, a third of them elsewhere."""
    return count if ALL in os.environ else count // 3


def examples(count):
    """Return hypothesis' settings for as many examples as of so_many."""
    return settings(max_examples=so_many(count), deadline=None)
