"""[filter_scheduler]: which filters and weighers run, and their limits."""

from oslo_config import cfg

from nova_sched.conf import types
from nova_sched.conf import weighers

GROUP = 'filter_scheduler'
HELP = 'Which filters and weighers judge the hosts, and with which limits.'

#: Default filters with Placement, which checks the amounts (Queens).
PLACEMENT_FILTERS = (
    'RetryFilter', 'AvailabilityZoneFilter', 'ComputeFilter',
    'ComputeCapabilitiesFilter', 'ImagePropertiesFilter',
    'ServerGroupAntiAffinityFilter', 'ServerGroupAffinityFilter')

#: Default filters without Placement, with filters of amounts (Mitaka).
NO_PLACEMENT_FILTERS = (
    'RetryFilter', 'AvailabilityZoneFilter', 'RamFilter', 'DiskFilter',
    'ComputeFilter', 'ComputeCapabilitiesFilter', 'ImagePropertiesFilter',
    'ServerGroupAntiAffinityFilter', 'ServerGroupAffinityFilter')

BAREMETAL_FILTERS = (
    'RetryFilter', 'AvailabilityZoneFilter', 'ComputeFilter',
    'ComputeCapabilitiesFilter', 'ImagePropertiesFilter', 'ExactRamFilter',
    'ExactDiskFilter', 'ExactCoreFilter')

ARCHITECTURES = (
    'alpha', 'armv6', 'armv7l', 'armv7b', 'aarch64', 'cris', 'i686', 'ia64',
    'lm32', 'm68k', 'microblaze', 'microblazeel', 'mips', 'mipsel', 'mips64',
    'mips64el', 'openrisc', 'parisc', 'parisc64', 'ppc', 'ppcle', 'ppc64',
    'ppc64le', 'ppcemb', 's390', 's390x', 'sh4', 'sh4eb', 'sparc', 'sparc64',
    'unicore32', 'x86_64', 'xtensa', 'xtensaeb')


OPTS = [
    cfg.MultiStrOpt(
        'available_filters',
        default=['nova.scheduler.filters.all_filters'], help="""
The filters that enabled_filters may name: dotted paths of filter classes, or
of functions that return filter classes. May be given many times. Keep the
first value, which stands for all built-in filters, and add a line for each
filter of your own; a filter with the name of a built-in filter replaces it.
Class paths of Nova's filters stand for the filters of the same name here.
"""),
    cfg.ListOpt(
        'enabled_filters',
        sample_default=','.join(PLACEMENT_FILTERS),
        help="""
The filters that run, by class name, in this order. Put cheap filters that
reject many hosts first. With an empty value no filter runs and every host
passes.

Unset, the list depends on whether Placement is used: [placement] is
configured, and the driver is not the caching scheduler, which does not use
it. With Placement: the list shown here. Without: RamFilter and DiskFilter are
added after AvailabilityZoneFilter, because nothing else would keep a host
from being filled beyond its limits. CoreFilter is in neither list: add it if
Placement is not used and virtual CPUs are the scarce resource.
"""),
    cfg.ListOpt(
        'baremetal_enabled_filters', default=list(BAREMETAL_FILTERS), help="""
The filters that run instead of enabled_filters with the bare-metal host
manager and use_baremetal_filters.
"""),
    cfg.BoolOpt(
        'use_baremetal_filters', default=False, help="""
Whether the bare-metal host manager uses baremetal_enabled_filters. Other
host managers do not read it.
"""),
    types.at_least(0, 'max_io_ops_per_host', 8, """
IoOpsFilter and AggregateIoOpsFilter reject hosts with this many instances
being built, resized, rescued or imaged. Lower it if simultaneous builds
overload hosts with slow disks.
"""),
    types.at_least(1, 'max_instances_per_host', 50, """
NumInstancesFilter and AggregateNumInstancesFilter reject hosts with this
many instances. Lower it to limit the damage of a host failure.
"""),
    cfg.ListOpt(
        'isolated_images', default=[], help="""
UUIDs of the images that IsolatedHostsFilter keeps on isolated_hosts. Without
isolated_hosts, these images cannot be started anywhere.
"""),
    cfg.ListOpt(
        'isolated_hosts', default=[], help="""
Names of the hosts that IsolatedHostsFilter reserves for isolated_images.
"""),
    cfg.BoolOpt(
        'restrict_isolated_hosts_to_isolated_images', default=True, help="""
Whether the isolated hosts refuse every other image (true) or take them too
(false).
"""),
    cfg.StrOpt(
        'aggregate_image_properties_isolation_namespace', help="""
Prefix of the aggregate metadata keys that AggregateImagePropertiesIsolation
compares with image properties. Unset: all keys. Set it when aggregates carry
metadata that happen to be named like image properties.
"""),
    cfg.StrOpt(
        'aggregate_image_properties_isolation_separator', default='.', help="""
Separator between that prefix and the rest of the key.
"""),
    cfg.StrOpt(
        'image_properties_default_architecture',
        choices=[(name, f'{name} hosts') for name in ARCHITECTURES],
        help="""
Architecture that ImagePropertiesFilter assumes for an image that names none.
Set it to the usual one in a cloud of mixed architectures, so that unmarked
images do not land on the others.
"""),
    types.at_least(1, 'host_subset_size', 1, """
The host is drawn at random among this many best hosts. Raise it if several
schedulers often pick the same host at the same time; 1 always takes the best.
"""),
    cfg.BoolOpt(
        'shuffle_best_same_weighed_hosts', default=False,
        help="""
Whether hosts that weigh the same as the best host are put in random order.
Spreads instances over equal hosts; of most use with few weighers.
"""),
    cfg.BoolOpt(
        'track_instance_changes', default=True, help="""
Whether compute hosts report their instances. Turn it off on the compute hosts:
this service ignores the reports and reads instances from the database when a
filter or weigher needs them.
"""),
    cfg.BoolOpt(
        'pci_in_placement', default=False,
        help="""
Whether PCI devices are tracked in Placement. Turn it on only after every
compute host reports its devices there. Conductors read it, and the commands
"request plan" and "request call"; the service takes requests of either kind.
"""),
    *weighers.OPTS,
]
