"""Some rules in the form of a plug-in: one host at a time.

They are functions of a host state and a request, without logging: the fastest
alternative to columns.
"""

import json


def ram(state, spec):
    total, needed = state.total_usable_ram_mb, spec.memory_mb
    if total < needed:
        return False
    limit = total * state.ram_allocation_ratio
    return limit - (total - state.free_ram_mb) >= needed


def core(state, spec):
    total = state.vcpus_total
    if not total:
        return True
    return (spec.vcpus <= total and total * state.cpu_allocation_ratio
            - state.vcpus_used >= spec.vcpus)


def disk(state, spec):
    needed = 1024 * (spec.root_gb + spec.ephemeral_gb) + spec.swap
    total = state.total_usable_disk_gb * 1024
    if total < needed:
        return False
    limit = total * state.disk_allocation_ratio
    return limit - (total - state.free_disk_mb) >= needed


def io_ops(state, spec):
    return state.num_io_ops < 8


def num_instances(state, spec):
    return state.num_instances < 50


def compute(state, spec):
    return state.service_up and not state.service_disabled


def availability_zone(state, spec):
    zones = {zone.strip() for aggregate in state.aggregates
             for key, value in aggregate.metadata.items()
             if key == 'availability_zone' for zone in value.split(',')}
    return (spec.availability_zone in zones if zones
            else spec.availability_zone == 'nova')


def tenants(state, spec):
    allowed = {piece.strip() for aggregate in state.aggregates
               for key, value in aggregate.metadata.items()
               if key.startswith('filter_tenant_id')
               for piece in value.split(',')}
    return not allowed or spec.project_id in allowed


def type_affinity(state, spec):
    names = [aggregate.metadata['instance_type']
             for aggregate in state.aggregates
             if 'instance_type' in aggregate.metadata]
    return not names or any(
        spec.flavor.name in map(str.strip, name.split(',')) for name in names)


def capabilities(state, spec):
    return (json.loads(state.cpu_info)['arch'] == 'x86_64'
            and state.vcpus_total >= 2)


def free_ram(state, spec):
    return max(state.free_ram_mb, 0)


def free_disk(state, spec):
    return max(state.free_disk_mb, 0)


#: Built-in rule -> function with the same result.
RULES = {
    'RamFilter': ram, 'CoreFilter': core, 'DiskFilter': disk,
    'IoOpsFilter': io_ops, 'NumInstancesFilter': num_instances,
    'ComputeFilter': compute, 'AvailabilityZoneFilter': availability_zone,
    'AggregateMultiTenancyIsolation': tenants,
    'AggregateTypeAffinityFilter': type_affinity,
    'ComputeCapabilitiesFilter': capabilities, 'RAMWeigher': free_ram,
    'DiskWeigher': free_disk}
