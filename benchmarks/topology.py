"""A production cloud and its requests, from CSV files.

``benchmarks/data/huawei-topology/README.md`` describes the files. Row i of
``hosts.csv`` is host i of ``racks.csv``. A host here has only the free
resources of its row.
"""

import collections
import csv
import functools
import itertools
import json
import random

from benchmarks.asked import FAULT_DOMAIN
from benchmarks.asked import Asked
from benchmarks.violations import Room
from benchmarks.workload_data import DATA
from nova_sched.cloud import fake_hardware
from nova_sched.cloud import file as cloud_file
from nova_sched.hardware.numa import cells as numa_cells

_MB = 1024      # a GiB in MiB
_PAGE_KB = 4
_DISK_GB = 1000
_PROJECT = '0' * 32


def rooms(data, count):
    """Return the resources of the first hosts: {host: Room}."""
    made = {}
    for number, row in enumerate(_rows(data, 'hosts')[:count], 1):
        cells = tuple((int(row[f'CPU{cell}']), int(row[f'RAM{cell}']) * _MB)
                      for cell in (1, 2) if int(row[f'CPU{cell}']))
        made[fake_hardware.host_name(number)] = Room(
            sum(cpus for cpus, _ in cells),
            sum(memory for _, memory in cells), _DISK_GB, cells)
    return made


def cloud(rooms):
    """Return a cloud of hosts with these rooms, for cloud.file to load."""
    rng = random.Random(1)
    now = cloud_file.utcnow().isoformat()
    return {
        'now': now,
        'compute_nodes': [
            _compute_node(number, room, rng, now)
            for number, room in enumerate(rooms.values(), 1)],
        'services': [
            {'uuid': fake_hardware.random_uuid(rng), 'host': host,
             'binary': 'nova-compute', 'topic': 'compute', 'version': 74,
             'report_count': 1, 'disabled': False, 'forced_down': False,
             'last_seen_up': now, 'updated_at': now, 'created_at': now}
            for host in rooms]}


def _compute_node(number, room, rng, now):
    row = fake_hardware.compute_node(number, rng, now) | {
        'vcpus': room.vcpus, 'local_gb': room.disk_gb,
        # Add the resources that Nova reserves: the whole room stays free.
        'memory_mb': room.memory_mb + fake_hardware.RESERVED_MB,
        'cpu_allocation_ratio': 1.0, 'pci_stats': None,
        'numa_topology': _numa_topology(room.cells)}
    return row | fake_hardware.usage(row, [])


def _numa_topology(cells):
    """Return the JSON text of cells, (CPUs, MiB) each, for floating guests."""
    made, first = [], 0
    for number, (cpus, memory) in enumerate(cells):
        numbers = range(first, first + cpus)
        made.append(numa_cells.HostCell(
            id=number, cpuset=frozenset(numbers), pcpuset=frozenset(),
            memory=memory, siblings=tuple(frozenset({n}) for n in numbers),
            pages=(numa_cells.Pages(
                _PAGE_KB, memory * 1024 // _PAGE_KB, 0, 0),)))
        first += cpus
    return json.dumps(numa_cells.primitive(made, newer=True))


def requests(data, sequences):
    """Yield an Asked for each row of the sequences, without end.

    After the last sequence the first one follows, with new groups.
    """
    numbers = itertools.count()
    for cycle in itertools.count():
        for sequence in sequences:
            for row in _rows(data, f'requests_{sequence}'):
                policy = row['strategy'] or None
                yield Asked(
                    number=next(numbers), project=_PROJECT,
                    vcpus=int(row['flavor_vcpus']),
                    memory_mb=int(row['flavor_ram']) * _MB,
                    numa_nodes=int(row['numa']), policy=policy,
                    group=policy and (cycle, sequence, policy, row['group']),
                    domain=row['domain'] or None, outcome='either')


def shared_racks(data, answers):
    """Return how many groups have fault domains, and how many share a rack.

    Only groups with two domains or more count.  A group shares a rack if
    instances of two domains are in one rack.
    """
    racks = {fake_hardware.host_name(number): row['rack_id'] for number, row
             in enumerate(_rows(data, 'racks'), 1)}
    groups = collections.defaultdict(lambda: collections.defaultdict(set))
    for answer in answers:
        if answer.asked.policy == FAULT_DOMAIN:
            groups[answer.asked.group][answer.asked.domain].update(
                racks[host] for host in answer.hosts)
    several = [[racks for racks in domains.values() if racks]
               for domains in groups.values()]
    several = [domains for domains in several if len(domains) > 1]
    return len(several), sum(
        any(not one.isdisjoint(other)
            for one, other in itertools.combinations(domains, 2))
        for domains in several)


@functools.cache
def _rows(data, name):
    with open(DATA / data / f'{name}.csv', newline='') as file:
        return list(csv.DictReader(file))
