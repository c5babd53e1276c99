"""The attributes of one host, as ``host show`` prints them."""

import json

from nova_sched.cmd.manage import forms
from nova_sched.hardware.numa import topology
from nova_sched.rules import aggregates as aggregate_values

#: Attributes of a host state that are shown unchanged.
_PLAIN = ('hypervisor_type', 'hypervisor_version', 'host_ip')
_NUMBERS = ('vcpus_total', 'vcpus_used', 'cpu_allocation_ratio',
            'num_instances', 'num_io_ops', 'failed_builds')


def status(state):
    """Return the state of a host's service: up, down or disabled."""
    if state.service_disabled:
        return 'disabled'
    return 'up' if state.service_up else 'down'


def zones(state, conf):
    """Return the availability zones that a host is in: a sorted list."""
    return sorted(aggregate_values.split_values(
        state.aggregates, 'availability_zone')
    ) or [conf.default_availability_zone]


def facts(state, conf):
    """Return the attributes of a HostState: dict, name -> value."""
    return {
        'host': state.host, 'node': state.nodename, 'uuid': state.uuid,
        'cell': state.cell_uuid, **_service(state),
        'zone': ', '.join(zones(state, conf)), **_usage(state),
        **{name: getattr(state, name) for name in _PLAIN},
        'cpu_info': _cpu_info(state),
        'supported_instances': forms.lines(
            list(state.supported_instances or ()),
            lambda kind: ('/'.join(map(str, kind)) if isinstance(kind, list)
                          else str(kind))),
        'numa_cells': _numa_cells(state), 'pci_pools': _pci_pools(state),
        'metrics': _metrics(state), 'stats': forms.pairs(state.stats),
        'aggregates': _aggregates(state),
        'instances': forms.listed(sorted(state.instances))}


def _service(state):
    service = state.service
    return {
        'service': status(state),
        'disabled_reason': service['disabled_reason'],
        'forced_down': bool(service['forced_down']),
        'last_heartbeat': forms.timestamp(
            service['last_seen_up'] or service['created_at']),
        'service_version': service['version'],
        'usage_reported': forms.timestamp(state.updated)}


def _usage(state):
    return {
        'total_usable_ram_mb': forms.megabytes(state.total_usable_ram_mb),
        'free_ram_mb': forms.megabytes(state.free_ram_mb),
        'ram_allocation_ratio': forms.number(state.ram_allocation_ratio),
        'total_usable_disk_gb': forms.gigabytes(
            state.total_usable_disk_gb, state.total_usable_disk_gb * 1024),
        'free_disk_mb': forms.gigabytes(state.free_disk_mb,
                                        state.free_disk_mb),
        'disk_allocation_ratio': forms.number(state.disk_allocation_ratio),
        **{name: forms.number(getattr(state, name)) for name in _NUMBERS}}


def _cpu_info(state):
    """Return the CPUs as reported: an object, None if it is not readable."""
    try:
        info = json.loads(state.cpu_info or '{}')
    except ValueError:
        return None
    if not isinstance(info, dict):
        return None
    return forms.DualValue(info, ' '.join(
        str(info[name]) for name in ('arch', 'vendor', 'model')
        if info.get(name)))


def _numa_cells(state):
    cells = [_numa_cell(cell) for cell in topology.HostTopology.of(
        state.numa_topology).cells] if state.numa_topology else []
    return forms.lines(cells, lambda cell: (
        f'{cell["id"]}: {cell["memory_mb"] - cell["memory_used_mb"]:,} of '
        f'{cell["memory_mb"]:,} MB free, CPUs {_ranges(cell["cpus"])}, '
        f'{cell["cpus_used"]} used, for pinning '
        f'{_ranges(cell["dedicated_cpus"])}, pinned '
        f'{_ranges(cell["pinned_cpus"])}'
        + ''.join(f', {page["free"]:,} of {page["total"]:,} pages of '
                  f'{page["size_kb"]:,} KB free' for page in cell['pages'])))


def _numa_cell(cell):
    return {
        'id': cell.id, 'socket': cell.socket,
        'cpus': sorted(cell.cpuset), 'dedicated_cpus': sorted(cell.pcpuset),
        'cpus_used': cell.cpu_usage,
        'pinned_cpus': sorted(cell.pinned_cpus),
        'memory_mb': cell.memory, 'memory_used_mb': cell.memory_usage,
        'pages': [{'size_kb': pages.size_kb, 'total': pages.total,
                   'free': pages.free} for pages in cell.pages]}


def _ranges(numbers):
    """Return ascending numbers as '0-3, 8', 'none' for none."""
    runs = []
    for value in numbers:
        if runs and runs[-1][1] == value - 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return ', '.join(str(first) if first == last else f'{first}-{last}'
                     for first, last in runs) or 'none'


def _pci_pools(state):
    pools = [dict(pool) for pool in state.pci_stats.pools
             ] if state.pci_stats else []
    return forms.lines(pools, lambda pool: f'{pool["count"]} x ' + ', '.join(
        f'{name}={pool[name]}' for name in sorted(pool) if name != 'count'))


def _metrics(state):
    metrics = [{'name': metric.name, 'value': metric.value,
                'timestamp': forms.timestamp(metric.timestamp),
                'source': metric.source} for metric in state.metrics]
    return forms.lines(metrics, lambda metric: (
        f'{metric["name"]}={metric["value"]}'))


def _aggregates(state):
    rows = [{'id': aggregate.id, 'uuid': aggregate.uuid,
             'name': aggregate.name, 'metadata': dict(aggregate.metadata)}
            for aggregate in state.aggregates]
    return forms.lines(rows, lambda aggregate: aggregate['name'] + (
        f' ({forms.pairs(aggregate["metadata"])})'
        if aggregate['metadata'] else ''))
