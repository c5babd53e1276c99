"""The databases of a deployment, created by the real nova-manage.

It runs once a test run; each deployment gets copies.
"""

import concurrent.futures
import datetime
import functools
import json
import os
import pathlib
import subprocess
import tempfile

import sqlalchemy as sa

from tests.builders import clouds
from tests.builders import numa
from tests.builders import pci
from tests.functional import broker
from tests.functional import conftest as functional
from tests.functional import shared
from tests.functional import stage
from tests.interop import dumps
from tests.interop import rig_world

TOP = pathlib.Path(__file__).parents[2]
#: Seconds for one command.
PATIENCE = 120


def program(name):
    """Path of one of Nova's programs."""
    python = pathlib.Path(os.environ.get(
        'NOVA_SCHED_TEST_NOVA', TOP / '.venv-nova/bin/python'))
    path = python.parent / name
    assert path.exists(), (
        f'{path} does not exist: tools/nova-venv.sh installs it')
    return path


def _originals(transport_url, cells, disabled):
    """Run nova-manage: {name of a database: (URL, dump)}."""
    with tempfile.TemporaryDirectory() as directory:
        made = Databases(pathlib.Path(directory), transport_url, cells,
                         disabled)
        try:
            made.manage()
            return {name: (url, dumps.dump(url))
                    for name, url in made.urls.items()}
        finally:
            made.drop()


class Databases:
    """The API database, cell0's and one a cell.

    directory: for configuration files.  transport_url: of the message bus.
    cells: names; ``disabled`` ones are mapped as such.
    """

    def __init__(self, directory, transport_url, cells, disabled=()):
        self._directory, self._transport_url = directory, transport_url
        self._drops, self.urls = [], {}
        for name in ('api', 'cell0', *cells):
            self.urls[name], drop = functional.new_database()
            self._drops.append(drop)
        self._cells, self._disabled = cells, disabled
        self.mappings = {}

    def drop(self):
        """Drop all databases."""
        for drop in self._drops:
            drop()

    def options(self, cell='cell0'):
        """Options of Nova's configuration, as ``group__option``."""
        return {'DEFAULT__transport_url': self._transport_url,
                'api_database__connection': self.urls['api'],
                'database__connection': self.urls[cell]}

    def make(self):
        """Create the tables and the cell mappings."""
        originals = shared.once(
            'nova-databases', functools.partial(
                _originals, self._transport_url, self._cells, self._disabled))
        for name, url in self.urls.items():
            dumps.load(url, originals[name][1])
        with self._open('api', 'cell_mappings') as (connection, tables):
            mappings = tables['cell_mappings']
            url = mappings.c.database_connection
            for name, (original, _dumped) in originals.items():
                connection.execute(mappings.update().values({
                    url: sa.func.replace(url, sa.make_url(original).database,
                                         self.database(name))}))
            self.mappings = {row.name: dict(row._mapping) for row
                             in connection.execute(mappings.select())}

    def database(self, name):
        """The name of a database on the server."""
        return sa.make_url(self.urls[name]).database

    def manage(self):
        """Have nova-manage create the tables and map the cells."""
        stage.write_config(self._config, **self.options())
        self._manage_all(('api_db', 'sync'), ('db', 'sync', '--local_cell'))
        made = dumps.dump(self.urls['cell0'])
        for cell in self._cells:
            dumps.load(self.urls[cell], made)
        self._manage_all(
            ('cell_v2', 'map_cell0', '--database_connection',
             self.urls['cell0']),
            *(('cell_v2', 'create_cell', '--name', cell,
               '--database_connection', self._written(cell, number % 2),
               '--transport-url', self._bus(cell, number % 2),
               *(['--disabled'] if cell in self._disabled else []))
              for number, cell in enumerate(self._cells)))

    def _manage_all(self, *commands):
        """Run nova-manage with each command's words."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(self._manage, *command)
                         for command in commands]:
                done.result()

    @property
    def _config(self):
        return self._directory / 'manage.conf'

    def _manage(self, *words):
        done = subprocess.run(
            [program('nova-manage'), '--config-file', self._config,
             *words],
            capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, (words[:2], done.stdout[-2000:],
                                      done.stderr[-2000:])

    def _written(self, cell, as_template):
        """A cell's database URL, or its template."""
        if not as_template:
            return self.urls[cell]
        url = sa.make_url(self.urls[cell])
        return ('{scheme}://{username}'
                + (':{password}' if url.password else '') + '@{hostname}'
                + (':{port}' if url.port else '') + f'/{url.database}'
                + ('?{query}' if url.query else ''))

    def _bus(self, cell, as_template):
        """A transport URL of a cell, which is not used, or its template."""
        if as_template:
            return ('{scheme}://{username}:{password}@{hostname}:{port}/'
                    + cell)
        return broker.in_virtual_host(self._transport_url, cell)

    def cell(self, name):
        """The fields of a cell mapping as a conductor sends them."""
        row = self.mappings[name]
        return {'id': row['id'], 'uuid': row['uuid'], 'name': name,
                'transport_url': self._bus(name, False),
                'database_connection': self.urls[name],
                'disabled': bool(row['disabled']),
                'created_at': row['created_at'], 'updated_at': None}

    def pin(self, host, counts):
        """Write the numbers of pinned CPUs of a host's NUMA cells."""
        with self._open(host.is_.cell, 'compute_nodes') as (connection,
                                                            tables):
            nodes = tables['compute_nodes']
            connection.execute(nodes.update().where(
                nodes.c.host == host.name).values(
                    numa_topology=_numa(host, counts)))

    def _open(self, name, *tables):
        return dumps.Tables(self.urls[name], *tables)

    def fill(self, world):
        """Write the rows of a World."""
        now = datetime.datetime.now(datetime.UTC).replace(
            tzinfo=None, microsecond=0)
        for cell in self._cells:
            with self._open(cell, 'services', 'compute_nodes',
                            'instances') as (connection, tables):
                for host in world.hosts:
                    if host.is_.cell == cell:
                        _fill_host(connection, tables, host, now)
        with self._open('api', 'host_mappings', 'instance_mappings',
                        'aggregates', 'aggregate_hosts',
                        'aggregate_metadata') as (connection, tables):
            for host in world.hosts:
                _map_host(connection, tables, host,
                          self.mappings[host.is_.cell]['id'])
            for number, (name, aggregate) in enumerate(
                    world.aggregates.items(), 1):
                _fill_aggregate(connection, tables, number, name, *aggregate)


def _insert(connection, table, row):
    connection.execute(table.insert().values(row))


def _map_host(connection, tables, host, cell_id):
    _insert(connection, tables['host_mappings'],
            {'cell_id': cell_id, 'host': host.name})
    for instance in host.instances:
        _insert(connection, tables['instance_mappings'], {
            'cell_id': cell_id, 'instance_uuid': instance,
            'project_id': 'project', 'user_id': 'user',
            'queued_for_delete': False})


def _fill_aggregate(connection, tables, number, name, uuid, metadata, hosts):
    _insert(connection, tables['aggregates'],
            {'id': number, 'uuid': uuid, 'name': name})
    for host in hosts:
        _insert(connection, tables['aggregate_hosts'],
                {'aggregate_id': number, 'host': host})
    for key, value in metadata.items():
        _insert(connection, tables['aggregate_metadata'],
                {'aggregate_id': number, 'key': key, 'value': value})


def _fill_host(connection, tables, host, now):
    stamps = {'created_at': now, 'updated_at': now}
    _insert(connection, tables['services'], clouds.a_service(
        host.name, disabled=host.is_.disabled, forced_down=host.is_.down,
        last_seen_up=now, **stamps))
    _insert(connection, tables['compute_nodes'], _compute_node(host) | stamps)
    for instance in host.instances:
        _insert(connection, tables['instances'], clouds.an_instance(
            host.name, uuid=instance, node=host.node,
            vcpus=host.each['VCPU'], memory_mb=host.each['MEMORY_MB'],
            root_gb=host.each['DISK_GB'], **stamps))


def _compute_node(host):
    """The compute node row of a host, with its instances' usage."""
    count = len(host.instances)
    used = {name: amount * count for name, amount in host.each.items()}
    used['MEMORY_MB'] += rig_world.RESERVED_MB
    free_gb = host.disk_gb - used['DISK_GB']
    return clouds.a_compute_node(
        host.name, uuid=host.uuid, hypervisor_hostname=host.node,
        vcpus=host.vcpus, vcpus_used=used['VCPU'],
        memory_mb=host.memory_mb, memory_mb_used=used['MEMORY_MB'],
        free_ram_mb=host.memory_mb - used['MEMORY_MB'],
        local_gb=host.disk_gb, local_gb_used=used['DISK_GB'],
        free_disk_gb=free_gb, disk_available_least=free_gb,
        running_vms=count,
        cpu_allocation_ratio=rig_world.RATIOS['VCPU'],
        ram_allocation_ratio=rig_world.RATIOS['MEMORY_MB'],
        disk_allocation_ratio=rig_world.RATIOS['DISK_GB'],
        stats=json.dumps({'failed_builds': '0', 'io_workload': '0',
                          'num_instances': str(count)}),
        pci_stats=pci.pci_stats(*_pools(host)),
        numa_topology=_numa(host) if host.is_.numa else None)


def _pools(host):
    """Yield a pool for each provider of PCI devices."""
    for device in host.is_.devices:
        for name, count in device.inventory.items():
            if name.startswith('CUSTOM_PCI_'):
                yield pci.a_pool(
                    vendor_id='8086', product_id=name[-4:].lower(),
                    count=count, rp_uuid=host.providers[device.name],
                    dev_type=('type-PF' if name == rig_world.CARD
                              else 'type-VF'))


def _numa(host, counts=(0, 0)):
    """Two NUMA cells, each with half of the host's resources.

    counts: numbers of pinned CPUs.
    """
    half, pinned = host.vcpus // 2, host.pcpus // 2
    return numa.cells_text(*(numa.a_cell(
        cell, cpuset=range(cell * half, (cell + 1) * half - pinned),
        pcpuset=range((cell + 1) * half - pinned, (cell + 1) * half),
        pinned_cpus=range((cell + 1) * half - pinned,
                          (cell + 1) * half - pinned + counts[cell]),
        siblings=[{cpu, cpu + 1} for cpu
                  in range(cell * half, (cell + 1) * half, 2)],
        memory=host.memory_mb // 2, pages=[(4, host.memory_mb // 2 * 256)])
        for cell in range(2)))
