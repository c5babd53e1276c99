"""Converting rows of Nova's tables to records of the host table.

An invalid value counts as absent and is logged once for each distinct cause,
so that it does not affect other rows.
"""

import collections
import datetime
import functools
import json
import operator

from oslo_log import log as logging

from nova_sched.hardware import reports
from nova_sched.hardware.numa.topology import HostTopology
from nova_sched.hardware.pci import pools
from nova_sched.hosts import columns
from nova_sched.hosts import values
from nova_sched.hosts.metrics import HostMetrics

LOG = logging.getLogger(__name__)

_EPOCH = datetime.datetime(1970, 1, 1)

#: Maximum nesting of JSON texts, so that rules can parse them without
#: exceeding the recursion limit.
_DEEPEST = 16

#: A row of Nova's table ``services``.  ``fresh`` is true if the service was up
#: when it was read; its heartbeat may then be an older one.
Service = collections.namedtuple(
    'Service', (*columns.SERVICE_COLUMNS, 'fresh'), defaults=(0,))


def seconds(moment):
    """Return a naive UTC datetime as seconds since the epoch; None as 0.0."""
    return (moment - _EPOCH).total_seconds() if moment else 0.0


def record(row, cell_uuid, ratios):
    """Return the record of a host from its compute node row.

    row: mapping of column name to value.
    ratios: (cpu, ram, disk) defaults for ratios that are NULL or 0.0.

    If free_disk_gb is NULL, the host has not reported yet: its record has no
    resources and no uuid.
    Raises values.UnreadableError for an invalid row.
    """
    row = values.checked(row)
    cpu, ram, disk = ratios
    common = {
        'host': row['host'], 'nodename': row['hypervisor_hostname'] or '',
        'cell_uuid': cell_uuid, 'bare_metal': False,
        'cpu_allocation_ratio': row['cpu_allocation_ratio'] or cpu,
        'ram_allocation_ratio': row['ram_allocation_ratio'] or ram,
        'disk_allocation_ratio': row['disk_allocation_ratio'] or disk}
    if row['free_disk_gb'] is None:
        LOG.debug('Ignoring compute node %s as its usage has not been '
                  'updated yet.', row['uuid'])
        return common | columns.NOT_REPORTED
    # Parsed once, because several columns are read from it.
    row = row | {'stats': _stats(row['stats'])}
    return common | {name: read(row) for name, read in _REPORTED.items()}


def bare_metal_record(row, cell_uuid, ratios):
    """Return the record of a bare-metal node, see ``record``.

    It has the machine's total and free resources; free disk is free_disk_gb.
    It has no load, and none of the data that only hypervisors report.
    """
    return record(
        row | {'disk_available_least': None, 'local_gb_used': 0,
               'host_ip': None, 'metrics': None, 'pci_stats': None,
               'numa_topology': None}, cell_uuid, ratios) | {
        'num_instances': 0, 'num_io_ops': 0, 'bare_metal': True}


def service_columns(services):
    """Return the columns with data of services: name -> list of values.

    services: list of Service, one for each host.
    """
    return {name: list(map(read, services))
            for name, read in _OF_SERVICE.items()}


def _free_disk_mb(row):
    free, least = row['free_disk_gb'], row['disk_available_least']
    if least is None:
        return free * 1024
    if least > free:
        LOG.warning('Host %(hostname)s has more disk space than database '
                    'expected (%(physical)s GB > %(database)s GB)',
                    {'physical': least, 'database': free,
                     'hostname': row['hypervisor_hostname']})
    return min(free, least) * 1024


def _stats(text):
    """Return the statistics of a compute node; scalars become text."""
    if not text:
        return {}
    try:
        stats = json.loads(text)
    except (ValueError, RecursionError):
        stats = None
    if not isinstance(stats, dict):
        _warn_unreadable('stats', text)
        return {}
    return {name: value if value is None or isinstance(value, (dict, list))
            else str(value) for name, value in stats.items()}


def _count(stats, name):
    value = stats.get(name, 0)
    try:
        count = int(value)
    except (TypeError, ValueError, OverflowError):
        count = None
    # A bigger number than 64 bits would fail the whole table.
    if count is None or abs(count) >= 1 << 63:
        _warn_unreadable(f'stats {name}', str(value))
        return 0
    return count


@functools.lru_cache(maxsize=4096)
def _list_text(text, column):
    """Return a text that is a JSON list; None for any other text."""
    if not text:
        return None
    try:
        value = json.loads(text)
        if isinstance(value, list) and values.depth(value) <= _DEEPEST:
            return text
    except (ValueError, RecursionError):
        pass
    _warn_unreadable(column, text)
    return None


@functools.lru_cache(maxsize=1024)
def _warn_unreadable(column, text):
    reports.warn(column, f'{text!r:.200}')


def _service_version(row):
    if row.version is None or values.is_whole(row.version):
        return int(row.version or 0)
    values.warn(row.host, row.host,
                f'version = {values.shown(row.version)} in services, which is '
                'no whole number of 32 bits')
    return 0


#: Column -> function that computes its value from a row with parsed stats.
#: Other columns have the value of their source.
_COMPUTED = {
    'free_ram_mb': lambda row: row['free_ram_mb'] or 0,
    'free_disk_mb': _free_disk_mb,
    'disk_mb_used': lambda row: row['local_gb_used'] * 1024,
    'num_instances': lambda row: _count(row['stats'], 'num_instances'),
    'num_io_ops': lambda row: _count(row['stats'], 'io_workload'),
    'failed_builds': lambda row: _count(row['stats'], 'failed_builds'),
    'updated': lambda row: seconds(row['updated_at']),
    'supported_instances': lambda row: _list_text(
        row['supported_instances'], 'supported_instances'),
    'metrics': lambda row: HostMetrics(row['metrics']),
    'pci_stats': lambda row: pools.Pools.of(row['pci_stats']),
    'numa_topology': lambda row: HostTopology.of(row['numa_topology'])}

_REPORTED = {
    column.name: _COMPUTED.get(column.name)
    or operator.itemgetter(*column.compute_nodes)
    for column in columns.COLUMNS if column.reported}

#: Column -> function that computes its value from a Service.
_OF_SERVICE = {
    'service': lambda row: row,
    'service_disabled': lambda row: bool(row.disabled),
    'service_forced_down': lambda row: bool(row.forced_down),
    'service_fresh': lambda row: bool(row.fresh),
    'service_last_seen': lambda row: seconds(
        row.last_seen_up or row.created_at),
    'service_version': _service_version}
