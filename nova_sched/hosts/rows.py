"""From rows of Nova's tables to one record of the host table.

One bad row never hides the others: what cannot be right or be read counts as
absent and is logged once per distinct cause.
"""

import collections
import datetime
import functools
import json
import operator

from oslo_log import log as logging

from nova_sched.hardware.numa.topology import HostTopology
from nova_sched.hardware.pci import pools
from nova_sched.hosts import columns
from nova_sched.hosts import values
from nova_sched.hosts.metrics import HostMetrics

LOG = logging.getLogger(__name__)

_EPOCH = datetime.datetime(1970, 1, 1)

#: What rules read again must not need more stack than they have left.
_DEEPEST = 16

#: A row of Nova's table ``services``; and whether the service was up when it
#: was read, whatever its heartbeat says, which was read earlier then.
Service = collections.namedtuple(
    'Service', (*columns.SERVICE_COLUMNS, 'fresh'), defaults=(0,))


def seconds(moment):
    """Return a naive UTC datetime as seconds since the epoch; None as 0.0."""
    return (moment - _EPOCH).total_seconds() if moment else 0.0


def record(row, cell_uuid, ratios):
    """Return one host's record from its compute node row.

    row: mapping of column name to value.
    ratios: (cpu, ram, disk) for rows that carry none (NULL or 0.0).

    A row whose free_disk_gb is NULL was never reported: its host exists with
    nothing on it and no uuid.
    Raises values.UnreadableError for a row that is no host.
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
    # Several columns count what is in there.
    row = row | {'stats': _stats(row['stats'])}
    return common | {name: read(row) for name, read in _REPORTED.items()}


def bare_metal_record(row, cell_uuid, ratios):
    """As ``record`` for a node that is one whole machine.

    Only what the machine has and what is free of it count, and its free disk
    is what the node says; neither load nor what only hypervisors report do.
    """
    made = record(
        row | {'disk_available_least': None, 'local_gb_used': 0,
               'host_ip': None, 'metrics': None, 'pci_stats': None,
               'numa_topology': None}, cell_uuid, ratios)
    return made | {'num_instances': 0, 'num_io_ops': 0, 'bare_metal': True}


def service_columns(services):
    """Return the columns that services fill: name -> list of values.

    services: list of Service, one a host.
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
    """Return the statistics of a compute node; single values become text."""
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
    # A column holds 64 bits; a bigger number would fail the whole table.
    if count is None or abs(count) >= 1 << 63:
        _warn_unreadable(f'stats {name}', str(value))
        return 0
    return count


@functools.lru_cache(maxsize=4096)
def _list_text(text, column):
    """Return the text of a JSON list; None when it holds anything else."""
    if not text:
        return None
    try:
        found = json.loads(text)
        if isinstance(found, list) and _is_shallow(found):
            return text
    except (ValueError, RecursionError):
        pass
    _warn_unreadable(column, text)
    return None


def _is_shallow(found):
    """Return whether what was read nests at most _DEEPEST lists and dicts."""
    level = [found]
    for _ in range(_DEEPEST):
        level = [item for each in level if isinstance(each, (list, dict))
                 for item in (each.values() if isinstance(each, dict)
                              else each)]
    return not any(isinstance(each, (list, dict)) for each in level)


@functools.lru_cache(maxsize=1024)
def _warn_unreadable(column, text):
    LOG.warning('A compute node row holds unreadable %s, which count as '
                'absent: %.200r', column, text)


def _service_version(row):
    if row.version is None or values.is_whole(row.version):
        return int(row.version or 0)
    values.warn(row.host, row.host,
                f'version = {values.shown(row.version)} in services, which is '
                'no whole number of 32 bits')
    return 0


#: Columns whose value is not that of their source: functions of a row in
#: which ``stats`` are a dict.
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
    or operator.itemgetter(*column.source.columns)
    for column in columns.COLUMNS if column.reported}

#: The same of a Service.
_OF_SERVICE = {
    'service': lambda row: row,
    'service_disabled': lambda row: bool(row.disabled),
    'service_forced_down': lambda row: bool(row.forced_down),
    'service_fresh': lambda row: bool(row.fresh),
    'service_last_seen': lambda row: seconds(
        row.last_seen_up or row.created_at),
    'service_version': _service_version}
