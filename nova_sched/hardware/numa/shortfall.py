"""The test that a guest fails on a host, with its figures, for messages.

A fit returns a verdict only (``topology``).  A Shortfall names the rule that
the fit broke, even if another explanation looks simpler.
"""

import dataclasses
import math

from nova_sched.hardware.numa import cell_fit
from nova_sched.hardware.numa import pages as numa_pages
from nova_sched.hardware.numa import pinning as numa_pinning

#: Test of one guest cell on one host cell, in addition to cell_fit's rules.
MULTIPLE = 'multiple'

#: Tests of all guest cells together, in order.
CELLS, ROOM, DEVICES, NETWORKS, GIVEN_UP, PROVIDERS, NEAR, ORDER = (
    'cells', 'room', 'devices', 'networks', 'given up', 'providers', 'near',
    'order')

#: Nearness to a fit of a guest that fails a test of all cells together.
_TOGETHER = {CELLS: -1, **{test: 100 + place for place, test in enumerate((
    ROOM, DEVICES, NETWORKS, GIVEN_UP, PROVIDERS, NEAR, ORDER))}}


@dataclasses.dataclass(frozen=True)
class Shortfall:
    """The test that a guest fails, on a host cell or on a host.

    nearness: grows with the number of passed tests.
    test: cell_fit.Rule, or a test's name of this module or numa_pinning.
    need, have: needed and available amount; None of a test without amounts.
    size: of the pages, in KiB or as the guest requests it, or None.

    Shortfalls are ordered by nearness.
    """

    nearness: float
    test: object
    need: int | None = None
    have: int | None = None
    size: int | None = None

    def __lt__(self, other):
        return self.nearness < other.nearness

    @property
    def is_nearest(self):
        """Whether no Shortfall can be nearer to a fit."""
        return self.nearness >= _TOGETHER[GIVEN_UP]


def of_all(test, need=None, have=None):
    """Return the Shortfall of a test of all guest cells together."""
    return Shortfall(_TOGETHER[test] + _share(need, have), test, need, have)


def _share(need, have):
    """Return the available share of the needed amount: from 0 to 1."""
    return max(0, min(have / need, 0.99)) if need else 0


def of_cell(refusal, host, guest, reserve, is_newer):
    """Return the Shortfall of a guest cell that a host cell refuses.

    refusal: cell_fit.Refusal.  host: HostCell.
    guest: GuestCell of the request, unchanged.
    reserve: whether the emulator needs a CPU there.
    is_newer: whether ``cell_fit.place`` refused it.
    """
    test, size = refusal.rule, None
    if refusal.rule == cell_fit.PAGES or (is_newer and refusal.rule in (
            cell_fit.MEMORY, cell_fit.FREE_MEMORY)):
        need, have, size = numa_pages.shortfall(host, guest)
        if have >= need:
            # Enough memory, but in pages that do not divide the guest's.
            test, have = MULTIPLE, None
    elif refusal.rule == cell_fit.PINS:
        test, need, have = numa_pinning.shortfall(host, guest, reserve,
                                                  is_newer)
    else:
        need, have = _AMOUNTS[refusal.rule](host, guest, refusal.figures)
    share = 0 if have is None else _share(need, have)
    return Shortfall(refusal.rule.place + share, test, need, have, size)


def _required_cpus(host, guest, figures):
    cpus, reserve, have = figures
    return cpus + reserve, have


def _memory_left(host, guest, figures):
    *_, usage, limit = figures
    return guest.memory, math.floor(limit - (usage - guest.memory))


def _cpus_left(host, guest, figures):
    *_, usage, limit = figures
    needed = len(guest.cpuset)
    return needed, math.floor(limit - (usage - needed))


_AMOUNTS = {
    cell_fit.MEMORY: lambda host, guest, figures: figures,
    cell_fit.FREE_MEMORY: lambda host, guest, figures: figures[:2],
    cell_fit.CPUS_TO_PIN: _required_cpus,
    cell_fit.CPUS_TO_FLOAT: _required_cpus,
    cell_fit.FREE_CPUS: lambda host, guest, figures: (
        figures[0], figures[-1]),
    cell_fit.MEMORY_LIMIT: _memory_left,
    cell_fit.CPU_LIMIT: _cpus_left}
