"""The NUMA topology of a host, and the fit of a guest's topology on it.

``fit`` places the cells of a guest on cells of a host:

1. The host's cells are ordered (``_ordered``).
2. ``search`` finds the first selection of host cells that fits all guest
   cells, one each; ``cell_fit`` decides about one guest cell on one host cell.
3. Devices and networks must be near the selection (``selection``).

The form of the host's report selects the rules.  Compute services older than
Train do not separate the CPUs of pinned guests: on their hosts guests are
placed as in Queens, and verdicts are not shared.  A guest with pinned and
floating CPUs is unknown to them, and placed by the current rules.
"""

import copy
import functools
import json
import operator

from oslo_log import log as logging

from nova_sched.hardware import reports
from nova_sched.hardware.numa import cell_fit
from nova_sched.hardware.numa import cells as numa_cells
from nova_sched.hardware.numa import effort
from nova_sched.hardware.numa import matching
from nova_sched.hardware.numa import pinning as numa_pinning
from nova_sched.hardware.numa import search as numa_search
from nova_sched.hardware.numa import shortfall as shortfalls
from nova_sched.hardware.numa.selection import SelectionRules

LOG = logging.getLogger(__name__)

#: Maximum number of cached verdicts of a topology.  Each takes some 200 bytes,
#: on thousands of hosts.
MOST_KNOWN = 16


class HostTopology(reports.Report):
    """The NUMA cells of one host; see reports.Report.

    A host without cells has no NUMA topology.  Compute services newer than
    Stein write the newer of the two forms.

    fits: cached verdicts, see ``knowing``: key of the guest -> whether it
        fits.
    """

    __slots__ = ('fits',)

    COLUMN = 'numa_topology'
    parse = staticmethod(numa_cells.parse)

    def __init__(self, text, parsed=None):
        super().__init__(text, parsed)
        self.fits = {}

    def knowing(self, key, find):
        """Return whether a guest fits: the cached verdict, or ``find()``.

        key: everything but the topology that the verdict depends on.
        find: function; its result is cached unless it is None.
        """
        known = self.fits.get(key)
        if known is None and (known := find()) is not None:
            if len(self.fits) >= MOST_KNOWN:
                self.fits.clear()
            self.fits[key] = known
        return known

    @classmethod
    def of(cls, text):
        """Return the topology of a ``numa_topology`` column; None of NULL."""
        return cls(text) if text else None

    def with_cells(self, cells):
        """Return the same host with other cells."""
        cells, newer = tuple(cells), self.is_newer
        return HostTopology(json.dumps(numa_cells.primitive(cells, newer)),
                            (cells, newer))

    @property
    def cells(self):
        """The HostCells, in the host's order: a tuple."""
        return self.items

    @property
    def has_threads(self):
        """Whether cores have several threads."""
        if self.is_newer:
            return any(cell.threads > 1 for cell in self.cells)
        return any(cell.siblings for cell in self.cells)


class Fitting:
    """The fit of a guest on a host, for one or several candidates.

    topology: HostTopology.  required: numa_guest.GuestRequirements.
    pools: Pools of the host, or None if it has none.
    limits: numa_guest.Limits, or None for no overcommit limits.
    pack: whether to prefer the most used host cells.
    most: maximum cost of the search, see effort.

    As in Nova, an attempt starts with the guest cells as the previous attempt
    has left them.
    """

    def __init__(self, topology, required, pools, limits, pack=False,
                 most=effort.MOST):
        self.topology = topology
        self._guests, self._limits = required.copies(), limits
        self._required, self._pools = required, pools
        is_current = topology.is_newer or any(
            guest.cpu_policy == 'mixed' for guest in required.cells)
        self._place, self._tokens = (
            (cell_fit.place, numa_search.ById) if is_current
            else (cell_fit.place_queens, numa_search.ByCell))
        self._hosts = _ordered(topology, required, pools, pack)
        self._matching = matching.Matching(
            [cell.id for cell in self._hosts], len(self._guests),
            self._may_fit)
        self._logged, self._effort = set(), effort.Effort(most)
        self._alike = {}

    @functools.cached_property
    def _page_sizes(self):
        """The page sizes of the host, in KiB: a set."""
        return {pages.size_kb for cell in self._hosts
                for pages in cell.pages}

    @functools.cached_property
    def _rules(self):
        return SelectionRules.of(self._hosts, self._required, self._pools,
                                 self._effort.spend)

    @property
    def is_given_up(self):
        """Whether an attempt was given up, and counts as not fitting."""
        return self._effort.is_spent

    def verdicts(self, mappings, check=lambda: None):
        """Return whether the guest fits with each candidate's mapping.

        check: function that is called before each; its errors are raised.
        """
        verdicts = []
        for number, mapping in enumerate(mappings, 1):
            check()
            verdicts.append(self.fit(
                mapping, final=number == len(mappings)) is not None)
        return verdicts

    def fit(self, mapping=None, final=True):
        """Return the placed guest cells, or None if they do not fit.

        mapping: of the allocation candidate, or None.
        final: whether this is the last attempt.
        """
        logs = LOG.isEnabledFor(logging.DEBUG)
        if self._matching.is_ruled_out or len(self._hosts) < len(self._guests):
            if logs:
                self._log_too_few()
            return None
        tokens = self._tokens(self._hosts, self._guests,
                              self._try_and_log if logs else self._try)
        self._effort.begin()
        try:
            if self._rules is not None:
                self._rules.judge_by(mapping)
            search = numa_search.Search(
                tokens, self._matching, self._rules, final,
                spend=self._effort.spend)
            if search.find() is not None:
                return self._guests
            is_cut = search.is_cut
        except effort.GivenUp:
            is_cut = True
        if is_cut:
            # Discard the state of an incomplete attempt.
            self._guests = self._required.copies()
        return None

    def shortfall(self):
        """Return the Shortfall of a guest that does not fit.

        Call it on a new Fitting, without an attempt.
        """
        count = len(self._guests)
        if len(self._hosts) < count:
            return shortfalls.of_all(
                shortfalls.CELLS, count, len(self._hosts))
        rows, refused = [], []
        for index in range(count):
            by_host = [self._cell_shortfall(index, position)
                       for position in range(len(self._hosts))]
            rows.append(sum(1 << position for position, shortfall
                            in enumerate(by_host) if shortfall is None))
            if not rows[-1]:
                refused.append(max(by_host))
        if refused:
            return min(refused)
        matched = matching.most_matched(rows)
        if matched < count:
            return shortfalls.of_all(shortfalls.ROOM, count, matched)
        return self._selection_shortfall(rows)

    def _selection_shortfall(self, rows):
        """Return the Shortfall of a guest whose cells can be matched.

        rows: masks of the host cells that each guest cell fits on.
        """
        shortfall = self._rules and self._rules.shortfall(
            matching.bits(functools.reduce(operator.or_, rows, 0)), len(rows))
        if shortfall:
            return shortfall
        [fits] = self.verdicts([None])
        if self.is_given_up:
            test = shortfalls.GIVEN_UP
        elif fits:
            test = shortfalls.PROVIDERS
        else:
            test = shortfalls.NEAR if self._rules else shortfalls.ORDER
        return shortfalls.of_all(test)

    def _cell_shortfall(self, index, position):
        """Return the Shortfall of a guest cell on a host cell, or None."""
        host, guest = self._hosts[position], copy.copy(self._guests[index])
        reserve = self._reserves(index)
        refusal = self._place(host, guest, self._limits, reserve,
                              pin=numa_pinning.may_pin)
        return refusal and shortfalls.of_cell(
            refusal, host, self._guests[index], reserve,
            self._place is cell_fit.place)

    def _try(self, index, position):
        """Place a guest cell on a host cell; return whether it fits."""
        return self._place(self._hosts[position], self._guests[index],
                           self._limits, self._reserves(index)) is None

    def _try_and_log(self, index, position):
        """Call ``_try``; log each pair of cells once."""
        if (index, position) in self._logged:
            return self._try(index, position)
        self._logged.add((index, position))
        return cell_fit.place_and_log(
            LOG.debug, self._place, self._hosts[position],
            self._guests[index], self._limits, self._reserves(index)) is None

    def _log_too_few(self):
        if not self._logged and len(self._hosts) < len(self._guests):
            self._logged.add(None)
            LOG.debug('There are not enough NUMA nodes on the system to '
                      'schedule the instance correctly. Required: %s, '
                      'actual: %s', len(self._guests), len(self._hosts))

    def _reserves(self, index):
        """Return whether this guest cell's host cell runs the emulator."""
        return self._required.isolate_emulator and index == 0

    def _may_fit(self, index, position):
        """Return whether a guest cell fits with any page size it may get."""
        # Most guests have equal cells.
        key = position, self._reserves(index), self._guests[index].needs
        if key not in self._alike:
            if self._rules is not None:
                self._effort.spend(effort.FIT)
            self._alike[key] = self._may_fit_alone(index, position)
        return self._alike[key]

    def _may_fit_alone(self, index, position):
        guest = copy.copy(self._guests[index])
        sizes = {guest.pagesize}
        if guest.pagesize is not None and guest.pagesize < 0:
            sizes |= self._page_sizes
        for size in sizes:
            guest.pagesize = size
            if self._place(self._hosts[position], guest, self._limits,
                           self._reserves(index),
                           pin=numa_pinning.may_pin) is None:
                return True
        return False


def _ordered(topology, required, pools, pack):
    """Return the host cells in the order of the search: list."""
    cells = list(topology.cells)
    if not topology.is_newer:
        if not required.pci and pools is not None:
            nodes = {pool['numa_node'] for pool in pools.items}
            cells.sort(key=lambda cell: cell.id in nodes)
        return cells
    if len(cells) == len(required.cells):
        return cells
    sign = 1 if pack else -1
    cells.sort(key=lambda cell: sign * cell.free_memory)
    if required.cells and required.cells[0].is_pinned:
        cells.sort(key=lambda cell: sign * len(cell.free_cpus))
    else:
        cells.sort(key=lambda cell: -sign * cell.cpu_usage)
    if pools is not None:
        sign, free = -1 if required.pci else 1, pools.free_by_node
        cells.sort(key=lambda cell: sign * free[cell.id])
    return cells
