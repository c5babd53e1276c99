"""The test that a guest fails on a host, with the figures of that test.

For messages: a fit ends with a verdict (``topology``).  What is told here is
of the rule that the fit breaks, never of another one that looks sufficient.
"""

import dataclasses
import math

from nova_sched.hardware.numa import cell_fit
from nova_sched.hardware.numa import pages as numa_pages
from nova_sched.hardware.numa import pinning as numa_pinning

#: Tests of one guest cell on one host cell, after those of cell_fit.
MULTIPLE = 'multiple'

#: Tests of all guest cells together, in their order.
CELLS, ROOM, DEVICES, NETWORKS, GIVEN_UP, PROVIDERS, NEAR, ORDER = (
    'cells', 'room', 'devices', 'networks', 'given up', 'providers', 'near',
    'order')

#: How near to a fit a guest is that fails the tests of all cells together.
_TOGETHER = {CELLS: -1, **{test: 100 + place for place, test in enumerate((
    ROOM, DEVICES, NETWORKS, GIVEN_UP, PROVIDERS, NEAR, ORDER))}}


@dataclasses.dataclass(frozen=True)
class Shortfall:
    """The test that a guest fails, on a host cell or on a host.

    nearness: how near it is to a fit, by the tests that are passed before.
    test: cell_fit.Rule, or a name of those here and of numa_pinning.
    need, have: its amounts, of which the guest needs more than there is;
        None of a test without.
    size: of the pages it is about, in KiB as a guest names it, or None.

    One that is greater is nearer to a fit.
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
        """Whether no other one is nearer to a fit."""
        return self.nearness >= _TOGETHER[GIVEN_UP]


def of_all(test, need=None, have=None):
    """Return the Shortfall of a test of all guest cells together."""
    return Shortfall(_TOGETHER[test] + _share(need, have), test, need, have)


def _share(need, have):
    """Return which part is there of what is needed: from 0 to 1."""
    return max(0, min(have / need, 0.99)) if need else 0


def of_cell(refusal, host, guest, reserve, is_newer):
    """Return the Shortfall of a guest cell that a host cell refuses.

    refusal: cell_fit.Refusal.  host: HostCell.
    guest: GuestCell, as the request has it.
    reserve: whether the emulator needs a CPU there.
    is_newer: whether it was refused by ``cell_fit.place``.
    """
    test, size = refusal.rule, None
    if refusal.rule == cell_fit.PAGES or (is_newer and refusal.rule in (
            cell_fit.MEMORY, cell_fit.FREE_MEMORY)):
        need, have, size = numa_pages.shortfall(host, guest)
        if have >= need:
            # Enough, but of pages that do not divide it.
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
