"""From a row of Nova's ``compute_nodes`` to one record of the host table.

One bad row never hides the others: text that cannot be read counts as absent
and is logged once per distinct cause.
"""

import datetime
import functools
import json

from oslo_log import log as logging

from nova_sched.hardware.numa import topology as numa
from nova_sched.hardware.pci import pools
from nova_sched.hosts.metrics import HostMetrics

LOG = logging.getLogger(__name__)

_EPOCH = datetime.datetime(1970, 1, 1)

#: Names that stay absent until a compute service reports its usage.
_NOT_REPORTED = {
    'uuid': None, 'hypervisor_type': None, 'hypervisor_version': None,
    'host_ip': None, 'cpu_info': None, 'supported_instances': None,
    'stats': None, 'metrics': HostMetrics(), 'pci_stats': None,
    'numa_topology': None, 'updated': 0.0} | dict.fromkeys(
        ('total_usable_ram_mb', 'free_ram_mb', 'total_usable_disk_gb',
         'free_disk_mb', 'disk_mb_used', 'vcpus_total', 'vcpus_used',
         'num_instances', 'num_io_ops', 'failed_builds'), 0)


def seconds(moment):
    """A naive UTC datetime as seconds since the epoch; None as 0.0."""
    return (moment - _EPOCH).total_seconds() if moment else 0.0


def record(row, cell_uuid, ratios):
    """One host's record from its compute node row.

    row: mapping of column name to value.
    ratios: (cpu, ram, disk) for rows that carry none (NULL or 0.0).

    A row whose free_disk_gb is NULL was never reported: its host exists with
    nothing on it and no uuid.
    """
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
        return common | _NOT_REPORTED
    stats = _stats(row['stats'])
    return common | {
        'uuid': row['uuid'],
        'total_usable_ram_mb': row['memory_mb'],
        'free_ram_mb': row['free_ram_mb'] or 0,
        'total_usable_disk_gb': row['local_gb'],
        'free_disk_mb': _free_disk_gb(row) * 1024,
        'disk_mb_used': row['local_gb_used'] * 1024,
        'vcpus_total': row['vcpus'],
        'vcpus_used': row['vcpus_used'],
        'num_instances': _count(stats, 'num_instances'),
        'num_io_ops': _count(stats, 'io_workload'),
        'failed_builds': _count(stats, 'failed_builds'),
        'hypervisor_type': row['hypervisor_type'],
        'hypervisor_version': row['hypervisor_version'],
        'host_ip': row['host_ip'],
        'cpu_info': row['cpu_info'],
        'supported_instances': _list_text(row['supported_instances'],
                                          'supported_instances'),
        'stats': stats,
        'metrics': HostMetrics(row['metrics']),
        'pci_stats': pools.Pools.of(row['pci_stats']),
        'numa_topology': numa.HostTopology.of(row['numa_topology']),
        'updated': seconds(row['updated_at'])}


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


def _free_disk_gb(row):
    free, least = row['free_disk_gb'], row['disk_available_least']
    if least is None:
        return free
    if least > free:
        LOG.warning('Host %(hostname)s has more disk space than database '
                    'expected (%(physical)s GB > %(database)s GB)',
                    {'physical': least, 'database': free,
                     'hostname': row['hypervisor_hostname']})
    return min(free, least)


def _stats(text):
    """The statistics of a compute node; single values become text."""
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
    except (TypeError, ValueError):
        count = None
    # A column holds 64 bits; a bigger number would fail the whole table.
    if count is None or abs(count) >= 1 << 63:
        _warn_unreadable(f'stats {name}', str(value))
        return 0
    return count


@functools.lru_cache(maxsize=4096)
def _list_text(text, column):
    """The text of a JSON list; None when it holds anything else."""
    if not text:
        return None
    try:
        if isinstance(json.loads(text), list):
            return text
    except (ValueError, RecursionError):
        pass
    _warn_unreadable(column, text)
    return None


@functools.lru_cache(maxsize=1024)
def _warn_unreadable(column, text):
    LOG.warning('A compute node row holds unreadable %s, which count as '
                'absent: %.200r', column, text)
