"""A fake cloud in a database: hosts that send heartbeats and fill up.

The scheduler sees what Nova's compute services would write: rows of compute
nodes and services, heartbeats, and after a boot the usage that the resource
audit reports.
"""

import logging
import random

from oslo_db import exception as db_exc
import sqlalchemy as sa

from nova_sched.cloud import fake_hardware
from nova_sched.cloud import file as cloud_file
from nova_sched.db import engine as db_engine
from nova_sched.db import tables

LOG = logging.getLogger(__name__)

_COMPUTE_VERSION = 74            # of a 2026.2 compute service
_TROUBLE_FROM = 20               # hosts; smaller clouds have no dead host
_FORCED_DOWN_FROM = 100
_HOST_PATTERN = 'fake-%'
_USAGE = ('vcpus_used', 'memory_mb_used', 'local_gb_used', 'free_ram_mb',
          'free_disk_gb', 'disk_available_least', 'running_vms', 'stats')
_COUNTED = ('memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb', 'vm_state',
            'task_state', 'project_id', 'os_type')
_SIZES = ('memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb')


class FakeCloud:
    """Hosts fake-0001 and so on, in the database of a SQLAlchemy engine.

    hosts: their number.  seed: of the random values; equal seeds give equal
        clouds.
    hardware: keywords of fake_hardware.compute_node.
    dead_host, disabled_host, forced_down_host: names, or None: with 20 hosts
        or more the last host is dead and the second to last is disabled; with
        100 or more the third to last is forced down.
    """

    def __init__(self, engine, hosts=20, seed=1, **hardware):
        self.engine, self._hardware = engine, hardware
        self.hosts = hosts
        self._seed = seed
        self.dead_host, self.disabled_host, self.forced_down_host = (
            fake_hardware.host_name(hosts - from_end)
            if hosts >= least else None for from_end, least in enumerate(
                (_TROUBLE_FROM, _TROUBLE_FROM, _FORCED_DOWN_FROM)))

    def create(self):
        """Replace all hosts and aggregates in the database; no servers."""
        rng = random.Random(self._seed)
        now = cloud_file.utcnow()
        stamp = now.isoformat()
        numbers = range(1, self.hosts + 1)
        nodes = [fake_hardware.compute_node(number, rng, stamp,
                                            **self._hardware)
                 for number in numbers]
        cloud_file.load(self.engine, {
            'now': stamp,
            'compute_nodes': nodes,
            'services': [self._service(number, rng, now)
                         for number in numbers],
            'aggregates': _aggregates(nodes, rng),
        })

    def _service(self, number, rng, now):
        host = fake_hardware.host_name(number)
        seen = '2026-01-01T00:00:00' if host == self.dead_host else (
            now.isoformat())
        disabled = host == self.disabled_host
        return {
            'id': number, 'uuid': fake_hardware.random_uuid(rng),
            'host': host, 'binary': 'nova-compute', 'topic': 'compute',
            'report_count': 1, 'version': _COMPUTE_VERSION,
            'disabled': disabled,
            'disabled_reason': 'maintenance' if disabled else None,
            'forced_down': host == self.forced_down_host,
            'last_seen_up': seen, 'updated_at': seen, 'created_at': seen}

    def heartbeat(self):
        """Record a heartbeat of each host but the dead one; return the count.
        """
        c = tables.services.c
        now = cloud_file.utcnow()
        with db_engine.writing(self.engine) as connection:
            return connection.execute(
                tables.services.update()
                .where(c.binary == 'nova-compute', c.deleted == 0,
                       c.host.like(_HOST_PATTERN),
                       c.host != (self.dead_host or ''))
                .values(report_count=c.report_count + 1,
                        last_seen_up=now, updated_at=now)).rowcount

    def boot(self, instance_uuid, host, node, flavor, **extra):
        """Create a server on a host, as conductor and compute service do.

        The host reports it with its next audit.
        flavor: dict with memory_mb (MiB), vcpus, root_gb, ephemeral_gb (GiB)
            and optionally id.
        extra: other columns of instances, such as project_id.
        """
        row = {'vm_state': 'active', 'created_at': cloud_file.utcnow(),
               'project_id': 'fake-project', 'user_id': 'fake-user',
               'os_type': 'linux', 'deleted': 0,
               **{name: flavor.get(name, 0) for name in _SIZES},
               'instance_type_id': flavor.get('id'), **extra,
               'uuid': instance_uuid, 'host': host, 'node': node}
        with db_engine.writing(self.engine) as connection:
            connection.execute(tables.instances.insert(), row)

    def delete(self, instance_uuid):
        """Soft-delete a server; its host reports that with its next audit."""
        c = tables.instances.c
        with db_engine.writing(self.engine) as connection:
            connection.execute(
                tables.instances.update()
                .where(c.uuid == instance_uuid, c.deleted == 0)
                .values(deleted=c.id, deleted_at=cloud_file.utcnow()))

    def audit(self):
        """Run the resource audit of every node; return the number of changes.

        As in Nova, a row is written, and its updated_at set, only if its
        usage has changed.
        """
        with db_engine.writing(self.engine) as connection:
            held = _instances_by_node(connection)
            changed = []
            for node in _nodes(connection):
                now_used = fake_hardware.usage(node, held.get(
                    (node['host'], node['hypervisor_hostname']), ()))
                if any(node[name] != now_used[name] for name in _USAGE):
                    changed.append({'node_id': node['id'], **now_used})
            if changed:
                connection.execute(
                    tables.compute_nodes.update()
                    .where(tables.compute_nodes.c.id
                           == sa.bindparam('node_id'))
                    .values(updated_at=cloud_file.utcnow(),
                            **{name: sa.bindparam(name) for name in _USAGE}),
                    changed)
        return len(changed)

    def run(self, stop_event, interval=10):
        """Send heartbeats and audits every ``interval`` seconds until stopped.

        stop_event: a threading.Event.  An error of the database is logged and
        the next interval tries again.
        """
        while not stop_event.is_set():
            try:
                alive, changed = self.heartbeat(), self.audit()
            except (db_exc.DBError, sa.exc.SQLAlchemyError) as error:
                LOG.warning('Fake cloud: no heartbeats this time: %s', error)
            else:
                LOG.info('Fake cloud: %(alive)s of %(hosts)s hosts sent a '
                         'heartbeat, %(changed)s reported new usage',
                         {'alive': alive, 'hosts': self.hosts,
                          'changed': changed})
            stop_event.wait(interval)


def _aggregates(nodes, rng):
    """Return three availability zones of equal size, and one SSD aggregate.

    Every fourth host has an SSD.
    """
    hosts = [node['host'] for node in nodes]
    members = {f'az{n + 1}': hosts[n::3] for n in range(3)}
    aggregates = [
        {'name': zone, 'hosts': part,
         'metadata': {'availability_zone': zone}}
        for zone, part in members.items()]
    aggregates.append(
        {'name': 'ssd', 'hosts': hosts[::4], 'metadata': {'ssd': 'true'}})
    return [{'id': number, 'uuid': fake_hardware.random_uuid(rng), **entry}
            for number, entry in enumerate(aggregates, 1)]


def _nodes(connection):
    c = tables.compute_nodes.c
    return connection.execute(
        sa.select(c.id, c.host, c.hypervisor_hostname, c.vcpus, c.memory_mb,
                  c.local_gb, *(c[name] for name in _USAGE))
        .where(c.deleted == 0, c.host.like(_HOST_PATTERN))).mappings()


def _instances_by_node(connection):
    """Return the instances of each node: (host, node) -> list of rows."""
    c, held = tables.instances.c, {}
    for row in connection.execute(
            sa.select(c.host, c.node, *(c[name] for name in _COUNTED))
            .where(c.deleted == 0, c.host.like(_HOST_PATTERN))).mappings():
        held.setdefault((row['host'], row['node']), []).append(row)
    return held
