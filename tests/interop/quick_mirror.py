"""A daemon that refreshes its mirror of Placement before each request.

For tests that compare decisions on the mirror with decisions on listings,
while Placement changes between requests.
"""

import sys
import time

from nova_sched.cmd import run_scheduler
from nova_sched.placement.mirror import mirror
from nova_sched.placement.mirror import upkeep
from nova_sched.scheduler.client import report
from tests.functional import processes

#: Requests a second that read single providers.
upkeep.SINGLE = 1000


class _QuickUpkeep(upkeep.Upkeep):
    """An Upkeep that can read everything at any time."""

    _complete_as_of = 0

    def read_now(self):
        """Return once the mirror has Placement's state as of the call."""
        moment = time.monotonic()

        def is_newer():
            if self._complete_as_of > moment and not (
                    self._changed or self._freed
                    or self._providers.without_limits()):
                return True
            self._changes.at = self._all.at = 0
            self._woken.set()
            return False
        processes.until(is_newer, 'an up-to-date mirror of Placement')

    def _read_all(self, generations):
        super()._read_all(generations)
        self._complete_as_of = self._all.began


class _QuickMirror(mirror.PlacementMirror):
    """A mirror that refreshes before it returns candidates."""

    def candidates(self, queries):
        if self.age is not None:
            self._upkeep.read_now()
        return super().candidates(queries)


if __name__ == '__main__':
    mirror.Upkeep = _QuickUpkeep
    report.PlacementMirror = _QuickMirror
    sys.exit(run_scheduler())
