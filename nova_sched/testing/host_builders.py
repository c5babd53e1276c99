"""Hosts for tests, with valid defaults and without a database."""

import datetime
import fnmatch
import functools
import uuid

import numpy as np

from nova_sched import nova_compat
from nova_sched import objects
from nova_sched.hardware.numa.topology import HostTopology
from nova_sched.hardware.pci import pools
from nova_sched.hosts import columns
from nova_sched.hosts import instances
from nova_sched.hosts import rows
from nova_sched.hosts import table as host_table
from nova_sched.hosts.metrics import HostMetrics
from nova_sched.testing import request_builders

NOW = 1_700_000_000.0

#: Sizes that a flavor and an instance have by the same names.
_SIZES = ('memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb')

_DEFAULTS = {
    column.name: column.empty for column in columns.COLUMNS
    if column.name not in ('host', 'nodename', 'uuid', 'service')} | {
    'cell_uuid': '00000000-0000-0000-0000-000000000001', 'aggregates': (),
    'total_usable_ram_mb': 32768, 'free_ram_mb': 32768,
    'total_usable_disk_gb': 500, 'free_disk_mb': 500 * 1024,
    'vcpus_total': 16, 'cpu_allocation_ratio': 16.0,
    'ram_allocation_ratio': 1.5, 'disk_allocation_ratio': 1.0,
    'updated': NOW, 'service_last_seen': NOW, 'service_up': True,
    'service_version': 70,
    'hypervisor_type': 'QEMU', 'hypervisor_version': 8002000,
    'host_ip': '192.0.2.1', 'stats': {}, 'metrics': None, 'pci_stats': '[]',
    'supported_instances': '[["x86_64", "kvm", "hvm"]]'}

#: Columns of a host whose compute service has never reported its usage, where
#: they differ from the defaults.
NEVER_REPORTED = {
    name: value for name, value in columns.NOT_REPORTED.items()
    if name != 'metrics' and value != _DEFAULTS.get(name, ...)}


def a_host(host=None, **values):
    """Return a host as a dict of columns; by default it is up and empty.

    aggregates: list of metadata dicts, or of Aggregate.
    disabled_reason: of its service.
    metrics, pci_stats, numa_topology: the text of its column.
    """
    record = _DEFAULTS | values
    record['metrics'] = HostMetrics(record['metrics'])
    if record['pci_stats'] is not None:
        record['pci_stats'] = pools.Pools.of(record['pci_stats'])
    record['numa_topology'] = HostTopology.of(record['numa_topology'])
    if host is not None:
        record['host'] = host
    record.setdefault('service', _a_service(record))
    record.pop('disabled_reason', None)
    record['aggregates'] = tuple(
        an_aggregate(metadata) if isinstance(metadata, dict) else metadata
        for metadata in record['aggregates'])
    return record


def _a_service(record):
    """Return a database row of a service without a name."""
    seen = datetime.datetime.fromtimestamp(
        record['service_last_seen'], datetime.UTC).replace(tzinfo=None)
    return rows.Service(
        id=1, uuid=None, host=None, version=record['service_version'],
        disabled=record['service_disabled'],
        disabled_reason=record.get('disabled_reason'),
        forced_down=record['service_forced_down'], report_count=8640,
        created_at=seen - datetime.timedelta(days=1), updated_at=seen,
        last_seen_up=seen)


def _named(record, number):
    """Return a host's record with all that derives from its name or number."""
    host = record.get('host', f'host{number}')
    service = record['service']
    if service.host is None:
        service = service._replace(host=host, uuid=_uuid(f'service.{host}'))
    node = record.get('nodename', host)
    return {'host': host, 'nodename': node, 'uuid': _uuid(node),
            **record, 'service': service}


def _uuid(name):
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))


def an_aggregate(metadata, **values):
    """Return an aggregate with this metadata."""
    return objects.Aggregate(metadata=metadata,
                             **{'id': 1, 'name': 'agg'} | values)


def table(*records):
    """Return a HostTable; hosts without a name are named host0, host1."""
    made = host_table.HostTable.from_records([
        _named(record, number) for number, record in enumerate(records)])
    made._check()
    return made


def hosts(*records, running=None, images=None):
    """Return the hosts as a HostBlock of a snapshot of their own.

    running, images: see ``instances_on``.
    Class methods of Nova's objects use these hosts, in this thread, until the
    next call.
    """
    snapshot = table(*records).snapshot(
        instances_on(running or {}, images or {}))
    nova_compat.loaded().set_current_hosts(snapshot)
    return snapshot.block()


def instances_on(running, images):
    """Return the Instances of a cloud.

    running: {uuid: host name}, or {uuid: dict of fields} with the host.
        The field ``flavor`` is a Flavor, or a dict of a_flavor's keywords;
        the instance gets its sizes.
    images: {uuid: {name: text}}, their image properties.
    """
    rows = {uuid: {'uuid': uuid, **(
        fields if isinstance(fields, dict) else {'host': fields})}
            for uuid, fields in running.items()}
    flavors = {uuid: _a_flavor(row.pop('flavor'))
               for uuid, row in rows.items() if 'flavor' in row}
    for instance, flavor in flavors.items():
        rows[instance] = {'instance_type_id': flavor.id, **{
            size: getattr(flavor, size) for size in _SIZES}, **rows[instance]}
    return _Instances(
        flavors,
        lambda uuids: {uuid: rows[uuid]['host'] for uuid in uuids
                       if uuid in rows},
        lambda *names: list(rows.values()),
        images=lambda _, patterns: [
            (rows[uuid]['host'], uuid, name, text)
            for uuid, texts in images.items() for name, text in texts.items()
            if any(fnmatch.fnmatchcase(name, pattern)
                   for pattern in patterns)])


class _Instances(instances.Instances):
    """Instances with flavors, by default a small one.

    flavors: {uuid: Flavor}.  Other arguments are the base class's.
    """

    def __init__(self, flavors, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._flavors = flavors

    def on_host(self, host):
        running = super().on_host(host)
        for key, instance in running.items():
            flavor = self._flavors.get(key) or request_builders.a_flavor()
            instance.flavor = flavor
            instance.get_flavor = functools.partial(_flavor_of, flavor)
        return running


def _a_flavor(flavor):
    return (request_builders.a_flavor(**flavor) if isinstance(flavor, dict)
            else flavor)


def _flavor_of(flavor, namespace=None):
    """Return the flavor, as ``Instance.get_flavor`` outside of a resize."""
    return flavor if namespace is None else None


def one(block, row):
    """Return one row of a block as a block of its own."""
    return block.snapshot.block(np.array([block.rows[row]]))
