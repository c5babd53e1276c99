"""All filters and weighers that Nova has had, with their modules.

Existing configuration files have these paths.
"""

#: Module below ``nova.scheduler.filters`` -> its filters.
FILTER_MODULES = {
    'affinity_filter': (
        'DifferentHostFilter', 'SameHostFilter', 'SimpleCIDRAffinityFilter',
        'ServerGroupAffinityFilter', 'ServerGroupAntiAffinityFilter'),
    'aggregate_image_properties_isolation': (
        'AggregateImagePropertiesIsolation',),
    'aggregate_instance_extra_specs': ('AggregateInstanceExtraSpecsFilter',),
    'aggregate_multitenancy_isolation': ('AggregateMultiTenancyIsolation',),
    'all_hosts_filter': ('AllHostsFilter',),
    'availability_zone_filter': ('AvailabilityZoneFilter',),
    'compute_capabilities_filter': ('ComputeCapabilitiesFilter',),
    'compute_filter': ('ComputeFilter',),
    'core_filter': ('CoreFilter', 'AggregateCoreFilter'),
    'disk_filter': ('DiskFilter', 'AggregateDiskFilter'),
    'exact_core_filter': ('ExactCoreFilter',),
    'exact_disk_filter': ('ExactDiskFilter',),
    'exact_ram_filter': ('ExactRamFilter',),
    'image_props_filter': ('ImagePropertiesFilter',),
    'io_ops_filter': ('IoOpsFilter', 'AggregateIoOpsFilter'),
    'isolated_hosts_filter': ('IsolatedHostsFilter',),
    'json_filter': ('JsonFilter',),
    'metrics_filter': ('MetricsFilter',),
    'num_instances_filter': (
        'NumInstancesFilter', 'AggregateNumInstancesFilter'),
    'numa_topology_filter': ('NUMATopologyFilter',),
    'pci_passthrough_filter': ('PciPassthroughFilter',),
    'ram_filter': ('RamFilter', 'AggregateRamFilter'),
    'retry_filter': ('RetryFilter',),
    'trusted_filter': ('TrustedFilter',),
    'type_filter': ('TypeAffinityFilter', 'AggregateTypeAffinityFilter'),
}

#: Module below ``nova.scheduler.weights`` -> its weighers, in the order of
#: ``all_weighers``.
WEIGHER_MODULES = {
    'ram': ('RAMWeigher',),
    'cpu': ('CPUWeigher',),
    'disk': ('DiskWeigher',),
    'metrics': ('MetricsWeigher',),
    'io_ops': ('IoOpsWeigher',),
    'pci': ('PCIWeigher',),
    'affinity': ('ServerGroupSoftAffinityWeigher',
                 'ServerGroupSoftAntiAffinityWeigher'),
    'compute': ('BuildFailureWeigher',),
    'cross_cell': ('CrossCellWeigher',),
    'hypervisor_version': ('HypervisorVersionWeigher',),
    'num_instances': ('NumInstancesWeigher',),
    'image_props': ('ImagePropertiesWeigher',),
}

#: Weigher -> its path in Nova.
WEIGHER_PATHS = {
    name: f'nova.scheduler.weights.{module}.{name}'
    for module, names in WEIGHER_MODULES.items() for name in names}

#: Filter -> the Nova release that removed it.  This service has all of them.
REMOVED_FILTERS = {
    'AggregateCoreFilter': '22.0.0 (Victoria)',
    'AggregateDiskFilter': '22.0.0 (Victoria)',
    'AggregateRamFilter': '22.0.0 (Victoria)',
    'AvailabilityZoneFilter': '28.0.0 (2023.2)',
    'CoreFilter': '22.0.0 (Victoria)',
    'DiskFilter': '22.0.0 (Victoria)',
    'ExactCoreFilter': '18.0.0 (Rocky)',
    'ExactDiskFilter': '18.0.0 (Rocky)',
    'ExactRamFilter': '18.0.0 (Rocky)',
    'RamFilter': '22.0.0 (Victoria)',
    'RetryFilter': '22.0.0 (Victoria)',
    'TrustedFilter': '17.0.0 (Queens)',
    'TypeAffinityFilter': '17.0.0 (Queens)',
}
