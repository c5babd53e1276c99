"""NUMA cells of hosts and guests for tests."""

import json

from nova_sched import objects
from nova_sched.hardware.numa import cells as numa_cells
from nova_sched.hardware.numa import guest as numa_guest
from nova_sched.hardware.numa.topology import HostTopology

FOUR_CORES = ({0, 4}, {1, 5}, {2, 6}, {3, 7})


def a_cell(id=0, cpus=range(8), **fields):
    """A HostCell with 4 GiB and CPUs for floating and pinned guests.

    pages: (size_kb, total[, used[, reserved]]) each.
    networks: names of physical networks, or None.
    """
    cpus = frozenset(cpus)
    pages = fields.pop('pages', ())
    networks = fields.pop('networks', None)
    for name in ('cpuset', 'pcpuset', 'pinned_cpus'):
        if name in fields:
            fields[name] = frozenset(fields[name])
    return numa_cells.HostCell(**{
        'id': id, 'cpuset': cpus, 'pcpuset': cpus, 'memory': 4096,
        'pages': tuple(numa_cells.Pages(*numbers, *(0, 0)[len(numbers) - 2:])
                       for numbers in pages),
        'networks': None if networks is None else numa_cells.Networks(
            frozenset(networks), fields.pop('tunneled', False)),
        **fields, 'siblings': tuple(map(
            frozenset, fields.get('siblings', ())))})


def cells_text(*cells, newer=True):
    """The text of a ``numa_topology`` column: current, or of Queens."""
    return json.dumps(numa_cells.primitive(cells, newer))


def a_topology(*cells, newer=True):
    """The HostTopology of a current host, or of Queens."""
    return HostTopology.of(cells_text(*cells, newer=newer))


def guest_cell(id=0, floating=0, pinned=0,
               **fields):
    """An InstanceNUMACell with 512 MiB and numbers of CPUs by kind."""
    policy = 'dedicated' if pinned else None
    if pinned and floating:
        policy = 'mixed'
    return objects.InstanceNUMACell(**{
        'id': id, 'memory': 512, 'pagesize': None, 'cpu_policy': policy,
        'cpu_thread_policy': None, 'cpuset': set(range(floating)),
        'pcpuset': set(range(floating, floating + pinned)), **fields})


def a_guest(*cells, emulator=None):
    """An InstanceNUMATopology; ``emulator`` is its threads policy."""
    return objects.InstanceNUMATopology(
        cells=list(cells), emulator_threads_policy=emulator)


def requirements(*cells, emulator=None, pci=(), networks=None):
    """The GuestRequirements of a request with such a guest."""
    return numa_guest.GuestRequirements(
        tuple(map(numa_guest.GuestCell.of, cells)), emulator == 'isolate',
        list(pci), networks)


def free(steps=1):
    """Replace ``effort.Effort.spend`` without a bound."""


def tried(**fields):
    """A GuestCell; see guest_cell."""
    return numa_guest.GuestCell.of(guest_cell(**fields))


def metadata(*physnets, tunneled=False):
    """A request's NetworkMetadata."""
    return objects.NetworkMetadata(physnets=set(physnets), tunneled=tunneled)
