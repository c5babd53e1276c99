"""Measures whether a guest of 8 NUMA cells fits on a host of 16 cells.

There are 16! / 8! = 518,918,400 ordered selections of 8 cells out of 16.
"""

import json
import statistics
import time

from nova_sched import objects
from nova_sched.hardware.numa import cells as numa_cells
from nova_sched.hardware.numa import guest as numa_guest
from nova_sched.hardware.numa.topology import Fitting
from nova_sched.hardware.numa.topology import HostTopology
from nova_sched.hardware.pci import pools

HOST_CELLS, GUEST_CELLS = 16, 8
LIMIT = 5.0    # ms
_CPUS, _MEMORY = 8, 16384
_TIMES = 21


def measure():
    """Yield (case, whether it fits, milliseconds)."""
    for what, (topology, spec, devices) in _cases().items():
        times = []
        for _ in range(_TIMES):
            start = time.perf_counter()
            fitted = Fitting(
                topology, numa_guest.GuestRequirements.of(spec), devices,
                numa_guest.Limits(1.0, 1.0)).fit()
            times.append((time.perf_counter() - start) * 1000)
        yield what, fitted is not None, statistics.median(times)


def _cases():
    """Return the cases: name -> (HostTopology, RequestSpec, Pools or None)."""
    even = [_MEMORY] * HOST_CELLS
    rising = [1024 * (number + 1) for number in range(HOST_CELLS)]
    wants = [1024] * GUEST_CELLS
    far = pools.Pools.of(
        '[{"vendor_id": "8086", "product_id": "1520", "numa_node": 99, '
        '"count": 8}]')
    device = objects.InstancePCIRequests(requests=[objects.InstancePCIRequest(
        count=1, spec=[{'vendor_id': '8086'}], alias_name='nic',
        numa_policy='required', request_id=None)])
    return {
        'every cell fits': (_host(even), _request(wants), None),
        'no cell fits': (
            _host(even), _request([_MEMORY * 2] * GUEST_CELLS), None),
        'the last guest cell fits nowhere': (
            _host(even), _request([*wants[1:], _MEMORY * 2]), None),
        'the last two guest cells need the same host cell': (
            _host(rising), _request([*wants[2:], *rising[-1:] * 2]), None),
        'big guest cells come last': (
            _host(rising), _request(rising[-GUEST_CELLS:]), None),
        'pinned, all cells alike': (
            _host(even), _request(wants, pinned=True), None),
        'a device that is near to no cell': (
            _host(even), _request(wants, pci_requests=device), far),
        'the same on a host of Queens': (
            _host(even, newer=False), _request(wants, pci_requests=device),
            far)}


def _host(memory, newer=True):
    cells = [numa_cells.HostCell(
        id=number, cpuset=frozenset(_cpus(number)),
        pcpuset=frozenset(_cpus(number)), memory=size,
        siblings=tuple(frozenset(_cpus(number)[i:i + 2])
                       for i in range(0, _CPUS, 2)))
        for number, size in enumerate(memory)]
    return HostTopology.of(json.dumps(
        numa_cells.primitive(cells, newer)))


def _cpus(number):
    return range(number * _CPUS, (number + 1) * _CPUS)


def _request(memory, pinned=False, **values):
    cells = [objects.InstanceNUMACell(
        id=number, memory=size,
        cpuset=set() if pinned else {2 * number, 2 * number + 1},
        pcpuset={2 * number, 2 * number + 1} if pinned else set(),
        cpu_policy='dedicated' if pinned else None)
        for number, size in enumerate(memory)]
    return objects.RequestSpec(
        numa_topology=objects.InstanceNUMATopology(cells=cells), **values)
