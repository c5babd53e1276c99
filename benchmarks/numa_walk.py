"""Compares the search for NUMA cells with a plain walk.

``python -m benchmarks.numa_walk [--seconds 5]``.  ``hardware/numa/search.py``
describes the walk: over ``itertools.permutations`` of the host cells, with one
verdict per pair of cells.  After a time-out it ends, and ``>`` precedes its
time and the ratio.  Guests need big pages; host cell n has n + 1:

- ``at once``: every host cell has enough for every guest cell;
- ``at last``: only the very last selection fits;
- ``not``: two guest cells need the same host cell.
"""

import argparse
import itertools
import json
import statistics
import time

from benchmarks import tables
from nova_sched import objects
from nova_sched.hardware.numa import cells as numa_cells
from nova_sched.hardware.numa import guest as numa_guest
from nova_sched.hardware.numa.topology import Fitting
from nova_sched.hardware.numa.topology import HostTopology

_GUESTS, _HOSTS = (1, 2, 4, 8), (2, 4, 8, 16)
_CPUS, _MEMORY, _TIMES = 8, 16384, 21
_LIMITS = numa_guest.Limits(1.0, 1.0)
#: Function of (guest cells, host cells): the pages that guest cells need.
_CASES = {
    'at once': lambda guests, hosts: [1] * guests,
    'at last': lambda guests, hosts: range(hosts, hosts - guests, -1),
    'not': lambda guests, hosts: (
        [hosts] * 2 + [1] * (guests - 2) if guests > 1 else [hosts + 1])}


class Walk(Fitting):
    """A host and a guest; tries one selection after the other."""

    def fits(self, seconds):
        """Whether the guest fits; None if it takes longer."""
        guests, known = self._guests, {}
        end = time.perf_counter() + seconds
        for number, selection in enumerate(itertools.permutations(
                range(len(self._hosts)), len(guests))):
            if not number % 10000 and time.perf_counter() > end:
                return None
            for index, position in enumerate(selection):
                key = self._hosts[position].id, guests[index].id
                if key not in known:
                    known[key] = self._try(index, position)
                if not known[key]:
                    break
                guests[index].id = key[0]
            else:
                return True
        return False


def main():
    """Measure and print; exit with an error if the answers differ."""
    parser = argparse.ArgumentParser('python -m benchmarks.numa_walk')
    parser.add_argument('--seconds', type=float, default=5)
    seconds = parser.parse_args().seconds
    tables.head('fits', 'guest cells', 'host cells', 'search ms', 'walk ms',
                'walk / search')
    for what, guests, hosts in itertools.product(_CASES, _GUESTS, _HOSTS):
        if guests <= hosts:
            tables.row(what, guests, hosts, *_one(
                _host(hosts), _CASES[what](guests, hosts), seconds))


def _one(topology, pages, seconds):
    required = numa_guest.GuestRequirements.of(_request(pages))
    found, search = _timed(lambda: Fitting(
        topology, required, None, _LIMITS), lambda fitting: fitting.fit())
    fits, walk = _timed(lambda: Walk(topology, required, None, _LIMITS),
                        lambda fitting: fitting.fits(seconds))
    if fits not in (None, found is not None):
        raise SystemExit(f'the walk found {fits}, the search {found}')
    more = '> ' if fits is None else ''
    return (f'{search:.2f}', f'{more}{walk:.2f}',
            f'{more}{walk / search:.1f}')


def _timed(make, ask):
    """(answer, median milliseconds); once if that takes a second."""
    times = []
    while len(times) < _TIMES and sum(times) < 1000:
        start = time.perf_counter()
        answer = ask(make())
        times.append((time.perf_counter() - start) * 1000)
    return answer, statistics.median(times)


def _host(count):
    made = HostTopology.of(json.dumps(numa_cells.primitive([
        numa_cells.HostCell(
            id=number, cpuset=frozenset(_cpus(number)), pcpuset=frozenset(),
            memory=_MEMORY, pages=(
                numa_cells.Pages(4, _MEMORY * 256, 0, 0),
                numa_cells.Pages(2048, number + 1, 0, 0)))
        for number in range(count)], True)))
    assert len(made.cells) == count
    return made


def _cpus(number):
    return range(number * _CPUS, (number + 1) * _CPUS)


def _request(pages):
    return objects.RequestSpec(
        numa_topology=objects.InstanceNUMATopology(cells=[
            objects.InstanceNUMACell(
                id=number, memory=2 * count, pagesize=2048, pcpuset=set(),
                cpuset={2 * number, 2 * number + 1})
            for number, count in enumerate(pages)]))


if __name__ == '__main__':
    main()
