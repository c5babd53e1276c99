"""On how many examples a property is tried."""

import os

from hypothesis import settings

#: Set by ``tools/test.sh --everything``.
ALL = 'NOVA_SCHED_TEST_ALL_EXAMPLES'


def examples(count):
    """Return hypothesis' settings for so many examples, or half as many.

    count: where there is time for all.
    """
    return settings(max_examples=count if ALL in os.environ else count // 2,
                    deadline=None)
