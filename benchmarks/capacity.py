"""Measures how long it takes to count the instances that fit.

``python -m benchmarks.capacity [--hosts 10000]``.  The fake cloud's hosts hold
random amounts of everything, NUMA cells, CPUs and pages included.  There is
no broker, database or Placement: reading the state is not measured.
"""

import argparse
import json
import logging
import random
import sys
import tempfile
import time

from nova_sched import conf as config
from nova_sched.capacity import flavors
from nova_sched.cloud import fake
from nova_sched.cmd.manage import specs
from nova_sched.db import engine as db_engine
from nova_sched.db import schema
from nova_sched.db import tables as db_tables
from nova_sched.dry_run import decider

_FLAVORS = 100
_FILTERS = (
    'AvailabilityZoneFilter', 'ComputeFilter', 'ComputeCapabilitiesFilter',
    'ImagePropertiesFilter', 'RamFilter', 'CoreFilter', 'DiskFilter',
    'NUMATopologyFilter', 'PciPassthroughFilter', 'NumInstancesFilter',
    'AggregateInstanceExtraSpecsFilter')
#: Kind of flavors -> extra specs, and limit in seconds for all flavors.
_KINDS = {
    'without NUMA': ('', 2),
    'one cell': (',hw:numa_nodes=1', 10),
    'two cells': (',hw:numa_nodes=2', 10),
    'dedicated CPUs, large pages': (
        ',hw:cpu_policy=dedicated,hw:mem_page_size=large', 10)}


def main(argv=None):
    """Measure; return 1 if a limit is exceeded, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--hosts', type=int, default=10_000)
    options = parser.parse_args(argv)
    logging.disable(logging.CRITICAL)
    missed = 0
    with tempfile.TemporaryDirectory() as directory:
        cloud = _cloud(_conf(directory), options.hosts)
        print(f'{options.hosts} hosts, {_FLAVORS} flavors\n')
        print('| flavors | placeable | CPU s | limit s |\n|---|---|---|---|')
        for kind, (extra, limit) in _KINDS.items():
            placeable, seconds = _measured(cloud, extra)
            print(f'| {kind} | {placeable} | {seconds:.1f} | {limit} |')
            missed |= seconds > limit
    return int(missed)


def _measured(cloud, extra):
    """Return the sum of all numbers, and the CPU seconds."""
    conf = config.new_conf([], [])
    requests = [specs.of_flavor(specs.flavor_of(
        f'f{number}={2048 * (1 + number % 13)},{2 + 2 * (number % 4)},'
        f'{10 + number}{extra}'), conf) for number in range(_FLAVORS)]
    begun = time.process_time()
    counts = [cloud.of('', request).counts for request in requests]
    return (sum(int(count.sum()) for count in counts),
            time.process_time() - begun)


def _conf(directory):
    conf = config.new_conf([], [])
    for group, name, value in (
            ('database', 'connection', f'sqlite:///{directory}/cloud.sqlite'),
            ('filter_scheduler', 'enabled_filters', [*_FILTERS]),
            (None, 'service_down_time', 10 ** 9)):
        conf.set_override(name, value, group)
    return conf


def _cloud(conf, count):
    """Return the CloudCapacity of hosts with random usage."""
    database = db_engine.database(conf)
    schema.sync_database(database)
    fake.FakeCloud(database.engine, count, huge_pages=20,
                   ram_ratio=1.0).create()
    draw, nodes = random.Random(3), db_tables.compute_nodes
    with db_engine.writing(database.engine) as connection:
        for row in connection.execute(nodes.select()).mappings().all():
            connection.execute(nodes.update().where(
                nodes.c.id == row['id']).values(_usage(row, draw)))
    own = decider.Decider(conf)
    own.start()
    cloud = flavors.CloudCapacity(own)
    cloud.of('', specs.of_flavor(specs.flavor_of('warm=1,1,1'), conf))
    return cloud


def _usage(row, draw):
    """Return the columns of a node of which a random share is in use."""
    share = draw.random() ** 0.5
    ram = 512 + int(share * row['memory_mb'] * 0.95) // 256 * 256
    disk = int(share * row['local_gb'] * 0.8)
    return {
        'vcpus_used': int(share * row['vcpus'] * 3.5 * draw.uniform(0.5, 1)),
        'memory_mb_used': ram, 'free_ram_mb': row['memory_mb'] - ram,
        'local_gb_used': disk, 'free_disk_gb': row['local_gb'] - disk,
        'disk_available_least': row['local_gb'] - disk,
        'numa_topology': row['numa_topology'] and _used_cells(
            json.loads(row['numa_topology']), share, draw)}


def _used_cells(topology, share, draw):
    for cell in topology['nova_object.data']['cells']:
        data = cell['nova_object.data']
        cpus = data['cpuset']
        data.update(
            memory_usage=int(data['memory'] * share
                             * draw.uniform(0.6, 1)) // 128 * 128,
            cpu_usage=int(len(cpus) * 3 * share * draw.uniform(0.5, 1)),
            pcpuset=cpus, pinned_cpus=draw.sample(
                cpus, int(len(cpus) * share * draw.random() * 0.5)))
        for pages in data['mempages']:
            pages = pages['nova_object.data']
            pages['used'] = int(pages['total'] * share * draw.random())
    return json.dumps(topology)


if __name__ == '__main__':
    sys.exit(main())
