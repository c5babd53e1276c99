"""How many equal guests fit on the NUMA cells of hosts, one after the other.

``HostCells`` has the cells of many hosts as columns.  ``HostCells.count``
computes the numbers for the guests of most flavors at once: all cells of the
guest need the same, and its CPUs float, or are pinned without a thread policy.
The result for a host is that of ``topology.Fitting`` and
``consumption.Hardware`` in turn, until the guest does not fit:

* the number on a host cell is the smallest quotient of its free CPUs, memory
  and pages by the needs of a guest cell;
* a guest of one cell is placed on any host cell: the sum of their numbers;
* a guest of as many cells as the host takes all cells: the smallest number.

Other guests and hosts are left to a trial (``UNKNOWN``).
"""

import itertools

import numpy as np

from nova_sched.hardware.numa import pages as numa_pages

#: Result for hosts whose number must be found by a trial.
UNKNOWN = -1
#: Result for hosts that the guest's cells do not limit.
UNLIMITED = 1 << 30

_NUMBERS = ('memory', 'memory_usage', 'cpu_usage', 'floating', 'pinnable',
            'free_cpus', 'free_threads')


class HostCells:
    """The NUMA cells of some hosts as columns.

    topologies: list of HostTopology or None, one a host.
    """

    def __init__(self, topologies):
        hosts, numbers, pages = [], [], []
        self._sizes = np.zeros(len(topologies), np.int64)
        self._is_known = np.zeros(len(topologies), np.bool_)
        for host, topology in enumerate(topologies):
            cells = topology.cells if topology is not None else ()
            self._sizes[host] = len(cells)
            self._is_known[host] = all(map(_is_plain, cells)) and (
                not cells or topology.is_newer)
            for cell in cells:
                hosts.append(host)
                numbers.append((
                    cell.memory, cell.memory_usage, cell.cpu_usage,
                    len(cell.cpuset), len(cell.pcpuset), len(cell.free_cpus),
                    cell.free_threads))
                pages.append(cell.pages_by_size)
        self._hosts = np.array(hosts, np.int64)
        columns = np.array(numbers, np.int64).reshape(-1, len(_NUMBERS)).T
        self._columns = dict(zip(_NUMBERS, columns, strict=True))
        self._pages = _Pages(pages)

    def count(self, required, cpu_ratios, ram_ratios):
        """Return how many guests each host takes: int64 (n,), or UNKNOWN.

        required: GuestRequirements.
        cpu_ratios, ram_ratios: overcommit ratios of the hosts, float64 (n,).
        None if no host's number is known.
        """
        guest = _alike(required)
        if guest is None:
            return None
        by_cell = self._by_cell(guest, cpu_ratios, ram_ratios)
        size, count = len(required.cells), np.zeros(len(self._sizes), np.int64)
        if size == 1:
            np.add.at(count, self._hosts, by_cell)
            np.minimum(count, UNLIMITED, out=count)
            is_known = self._is_known
        else:
            count += UNLIMITED
            np.minimum.at(count, self._hosts, by_cell)
            is_known = self._is_known & (self._sizes <= size)
        if guest.pagesize is not None and guest.pagesize < 0:
            is_known = is_known & self._have_one_size(guest)
        count[self._sizes < size] = 0
        return np.where(is_known, count, UNKNOWN)

    def _have_one_size(self, guest):
        """Return which hosts have pages of one allowed size: bool (n,).

        Else a size that the guest gets on one cell counts on the next one.
        """
        most, least = self._pages.allowed_sizes(guest)
        highest = np.zeros(len(self._sizes), np.int64)
        lowest = np.full(len(self._sizes), UNLIMITED)
        np.maximum.at(highest, self._hosts, most)
        np.minimum.at(lowest, self._hosts, np.where(most, least, UNLIMITED))
        return (highest == lowest) | (highest == 0)

    def _by_cell(self, guest, cpu_ratios, ram_ratios):
        """Return how many guest cells each host cell takes: int64 (cells,)."""
        column, hosts = self._columns, self._hosts
        memory, floating = guest.memory, len(guest.cpuset)
        if guest.pagesize is not None:
            parts = [self._pages.count(guest)]
        elif guest.is_pinned:
            parts = [self._pages.smallest(memory, is_free=True)]
        else:
            parts = [UNLIMITED * (
                self._pages.smallest(memory, is_free=False) > 0)]
        if guest.is_pinned:
            pinned = len(guest.pcpuset)
            parts += [column['free_cpus'] // pinned,
                      column['free_threads'] // pinned,
                      UNLIMITED * (column['pinnable'] >= pinned)]
        else:
            parts += [
                UNLIMITED * (column['floating'] >= floating),
                _times(column['memory_usage'], memory,
                       column['memory'] * ram_ratios[hosts]),
                _times(column['cpu_usage'], floating,
                       column['floating'] * cpu_ratios[hosts])]
        return np.clip(np.minimum.reduce(parts), 0, UNLIMITED)


class _Pages:
    """The pages of cells: int64 (cells, most sizes), largest size first.

    by_size: the Pages of each cell, largest size first: list of lists.
    """

    def __init__(self, by_size):
        most = max(map(len, by_size), default=0) or 1
        table = np.zeros((len(by_size), most, 3), np.int64)
        for cell, pages in enumerate(by_size):
            for place, item in enumerate(pages):
                table[cell, place] = item.size_kb, item.total, item.free
        self._size, self._total, self._free = np.moveaxis(table, 2, 0)
        #: Position of the smallest size of each cell.
        self._last = np.array([len(pages) - 1 for pages in by_size], np.int64)

    def smallest(self, memory, is_free):
        """Return how often memory fits into the smallest pages: (cells,).

        memory: MB.  is_free: whether only free pages count.
        """
        cells = np.arange(len(self._last))
        have = self._free if is_free else self._total
        return _fitting(self._size[cells, self._last],
                        have[cells, self._last], memory)

    def count(self, guest):
        """Return how often a guest cell that requests pages fits: (cells,)."""
        fits = _fitting(self._size, self._free, guest.memory)
        return np.minimum(np.where(self._allowed(guest), fits, 0).sum(axis=1),
                          UNLIMITED)

    def allowed_sizes(self, guest):
        """Return the largest and the smallest size that a guest allows.

        int64 (cells,) each, in KiB; 0 for cells without an allowed size.
        """
        allowed = self._allowed(guest)
        least = np.where(allowed, self._size, UNLIMITED).min(axis=1)
        return np.where(allowed, self._size, 0).max(axis=1), least

    def _allowed(self, guest):
        """Return the sizes that a guest allows: bool (cells, most sizes)."""
        places = np.arange(self._size.shape[1])
        is_last = places == self._last[:, None]
        allowed = places <= self._last[:, None]
        if guest.pagesize == numa_pages.SMALL:
            allowed &= is_last
        elif guest.pagesize == numa_pages.LARGE:
            allowed &= ~is_last
        elif guest.pagesize != numa_pages.ANY:
            allowed &= self._size == guest.pagesize
        return allowed


def _fitting(size_kb, count, memory):
    """Return how often memory in MB fits into a number of pages: int array."""
    needed = memory * 1024
    size_kb = np.maximum(size_kb, 1)
    return np.where(needed % size_kb, 0,
                    np.maximum(count, 0) // (needed // size_kb).clip(1))


def _times(usage, need, limit):
    """Return how often a need can be added to a usage within a limit.

    limit: float64, compared as ``usage + need <= limit``.
    """
    if not need:
        return np.where(usage <= limit, UNLIMITED, 0)
    times = np.clip(np.floor((limit - usage) / need), 0, UNLIMITED).astype(
        np.int64)
    # The quotient may be rounded across a whole number.
    times -= usage + times * need > limit
    times += usage + (times + 1) * need <= limit
    return times


def _alike(required):
    """Return one GuestCell if a formula has the guest's numbers, or None."""
    if (required.kind is None or required.isolate_emulator
            or not required.cells
            or len({cell.needs for cell in required.cells}) > 1):
        return None
    guest = required.cells[0]
    if guest.thread_policy not in (None, 'prefer') or not guest.memory:
        return None
    if guest.cpu_policy == 'dedicated':
        return guest if guest.pcpuset and not guest.cpuset else None
    return guest if guest.is_shared and not (
        guest.is_pinned or guest.pcpuset) else None


def _is_plain(cell):
    """Return whether a formula has the numbers of a host cell."""
    sizes = [pages.size_kb for pages in cell.pages_by_size]
    return bool(sizes) and sizes[-1] > 0 and all(
        larger > smaller for larger, smaller in itertools.pairwise(sizes))
