"""Host states that a plug-in constructs, which are not rows of a table."""

import datetime

from nova_sched.hosts import columns
from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.hosts.metrics import HostMetrics

_NONE = ('uuid', 'pci_stats', 'numa_topology', 'host_ip', 'hypervisor_type',
         'hypervisor_version', 'hypervisor_hostname', 'cpu_info',
         'supported_instances', 'updated', 'metrics', 'ram_allocation_ratio',
         'cpu_allocation_ratio', 'disk_allocation_ratio')

#: Attribute of a host state -> attribute of a compute node.
_OF_COMPUTE = {
    'total_usable_ram_mb': 'memory_mb', 'free_ram_mb': 'free_ram_mb',
    'total_usable_disk_gb': 'local_gb', 'vcpus_total': 'vcpus',
    'vcpus_used': 'vcpus_used', 'updated': 'updated_at', 'stats': 'stats',
} | {name: name for name in (
    'uuid', 'numa_topology', 'host_ip', 'hypervisor_type',
    'hypervisor_version', 'hypervisor_hostname', 'cpu_info',
    'ram_allocation_ratio', 'cpu_allocation_ratio', 'disk_allocation_ratio')}


class NoTable:
    """Replaces the snapshot of a host state that is not a row of one."""

    offer = PLACEMENT_NOT_USED

    def value(self, name, row):
        """Raise AttributeError, because there are no columns."""
        raise AttributeError(f'a host state of no table has no {name!r}')

    def block(self, rows):
        """Raise TypeError, because built-in rules judge rows."""
        raise TypeError(
            'a built-in filter or weigher cannot judge a host state that was '
            'constructed by HostState(...); pass host states of the request, '
            'or return yours from get_all_host_states of a host manager, '
            'which adds them to its table')


def attributes(host, node, cell_uuid):
    """Return the attributes of a host state before its first update: dict."""
    return {'host': host, 'nodename': node, 'cell_uuid': cell_uuid,
            **dict.fromkeys(columns.RECORDED, 0), **dict.fromkeys(_NONE),
            'limits': {}, 'instances': {}, 'aggregates': [],
            'allocation_candidates': []}


def of_compute(compute):
    """Return the attributes of a host that a compute node sets: dict.

    compute: object with some of the columns of compute_nodes.
    """
    values = {ours: getattr(compute, theirs)
              for ours, theirs in _OF_COMPUTE.items()
              if hasattr(compute, theirs)}
    if hasattr(compute, 'free_disk_gb'):
        least = getattr(compute, 'disk_available_least', None)
        free = compute.free_disk_gb
        values['free_disk_mb'] = 1024 * (
            free if least is None else min(free, least))
    if hasattr(compute, 'local_gb_used'):
        values['disk_mb_used'] = compute.local_gb_used * 1024
    if hasattr(compute, 'metrics'):
        values['metrics'] = HostMetrics(compute.metrics).objects()
    stats = values.get('stats') or {}
    for ours, theirs in (('num_instances', 'num_instances'),
                         ('num_io_ops', 'io_workload'),
                         ('failed_builds', 'failed_builds')):
        if theirs in stats:
            values[ours] = int(stats[theirs])
    return values


def consume(state, spec_obj):
    """Consume an instance's resources of a host state that is not a row.

    These are RAM, disk, CPUs, one instance and one I/O operation, but not NUMA
    cells and PCI devices.
    """
    state.free_ram_mb -= spec_obj.memory_mb
    root_gb = 0 if spec_obj.is_bfv else spec_obj.root_gb
    state.free_disk_mb -= (root_gb + spec_obj.ephemeral_gb) * 1024
    state.vcpus_used += spec_obj.vcpus
    state.num_instances += 1
    state.num_io_ops += 1
    state.updated = datetime.datetime.now(datetime.UTC)
