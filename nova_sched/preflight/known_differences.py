"""How releases of Nova behave differently from this service: one table.

What differs in options and their defaults is in ``options.releases``, which
filters Nova has removed in ``rules.nova_classes``; a weigher came with the
option of its multiplier.
"""

import itertools
import typing

from nova_sched.options import releases as nova
from nova_sched.rules import nova_classes

#: Nova's weighers.
WEIGHERS = frozenset(itertools.chain.from_iterable(
    nova_classes.WEIGHER_MODULES.values()))

#: Request filter -> the release it came with, its switch in [scheduler].
REQUEST_FILTERS = {
    'require_tenant_aggregate': (
        nova.ROCKY, 'limit_tenants_to_placement_aggregate'),
    'map_az_to_placement_aggregate': (nova.ROCKY, None),
    'require_image_type_support': (
        nova.TRAIN, 'query_placement_for_image_type_support'),
    'compute_status_filter': (nova.TRAIN, None),
    'isolate_aggregates': (nova.TRAIN, 'enable_isolated_aggregate_filtering'),
    'transform_image_metadata': (nova.USSURI, 'image_metadata_prefilter'),
    'accelerators_filter': (nova.USSURI, None),
    'packed_virtqueue_filter': (nova.V29, None),
    'routed_networks_filter': (
        nova.WALLABY, 'query_placement_for_routed_network_aggregates'),
    'remote_managed_ports_filter': (nova.YOGA, None),
    'ephemeral_encryption_filter': (nova.ZED, None),
    'virtio_sound_filter': (nova.V32, None),
    'tpm_secret_security_filter': (nova.V33, None),
    'owner_nova_filter': (nova.V34, None),
}


class Fact(typing.NamedTuple):
    """A difference between some releases and this service.

    about: an option, a rule, or what else it is about.
    first, last: numbers of releases, both included.
    there, here: what these do, and what this service does.
    when: function of a Setup and a Release: whether it matters to the setup.
    advice: what to do about it, if anything.
    """

    about: str
    first: int
    last: int
    there: str
    here: str
    when: typing.Callable = lambda setup, release: True
    advice: str = ''


def _filters(*names):
    return lambda setup, release: any(
        name in setup.filters for name in names)


def _weighers(*names):
    return lambda setup, release: any(
        setup.weighers.get(name) for name in names)


_group_filters = _filters('ServerGroupAntiAffinityFilter',
                          'ServerGroupAffinityFilter')


def _placement(setup, release):
    return setup.placement


def _without_placement(setup, release):
    return setup.ranks and not setup.placement


def _driver(name):
    return lambda setup, release: setup.driver == name


def _zone_is_not_asked(setup, release):
    """Return whether zones are left to AvailabilityZoneFilter there."""
    option = 'scheduler', 'query_placement_for_availability_zone'
    asked = (setup.value(*option) if option in setup.written
             else nova.default(release, *option))
    return setup.placement and not asked


def _version(first, last, version):
    return Fact(
        'Placement microversion', first, last, version,
        'the newest that Placement has, of those that Nova has used',
        _placement)


_SERVICE = (
    Fact('refusals', nova.FIRST, nova.LAST,
         'callers, and so users, are told that there are not enough hosts',
         'the reasons follow, counted by the filter'),
    Fact('equal hosts', nova.FIRST, nova.LAST,
         'of hosts with equal weight any may be taken',
         'the first by name is taken',
         lambda setup, release: setup.weighers and not (
             setup.conf.filter_scheduler.shuffle_best_same_weighed_hosts),
         '[filter_scheduler] shuffle_best_same_weighed_hosts = true draws '
         'one of them'),
    Fact('aggregates', nova.FIRST, nova.LAST,
         'read at start, then changed by messages, of which a lost one '
         'counts until the restart', 'read again whenever they change'),
    Fact('instances on hosts', nova.FIRST, nova.LAST,
         'kept in memory, from reports of the compute services',
         'read from the databases when a rule asks',
         lambda setup, release: setup.value(
             'filter_scheduler', 'track_instance_changes'),
         '[filter_scheduler] track_instance_changes = false on the compute '
         'hosts saves the reports'),
    Fact('picks without a claim', nova.KILO, nova.OCATA,
         'forgotten at any newer report of the host',
         'count until the instance shows on its host', _without_placement),
    Fact('picks without a claim', nova.PIKE, nova.ROCKY,
         'forgotten at the next refresh',
         'count until the instance shows on its host',
         _driver('caching_scheduler')),
    Fact('[DEFAULT] scheduler_topic', nova.PIKE, nova.LAST,
         'always scheduler', 'as the option says',
         lambda setup, release: setup.conf.scheduler_topic != 'scheduler'),
    Fact('[scheduler] workers', nova.KILO, nova.QUEENS,
         'one process decides', 'several do at the same time',
         lambda setup, release: setup.workers > 1,
         'Each sees what the others of its service have picked; picks of '
         'services on other machines show in the database only'),
    Fact('members of server groups', nova.PIKE, nova.LAST,
         'those that are claimed count where the database shows them',
         'count from the pick on',
         lambda setup, release: (setup.placement
                                 and _group_filters(setup, release))),
    Fact('cells that hang', nova.QUEENS, nova.LAST,
         'every request waits for them, a minute at most',
         'waited for once, [nova_sched] cell_timeout seconds; then left out '
         'until they answer',
         lambda setup, release: bool(setup.conf.api_database.connection)),
    Fact('allocation ratios', nova.KILO, nova.KILO,
         'those of the scheduler count for all hosts',
         'what a host reports goes before'),
    Fact('allocation ratios', nova.STEIN, nova.LAST,
         'written into the rows of hosts that report none',
         'never written'),
    Fact('[scheduler] driver', nova.QUEENS, nova.ROCKY,
         'its chance scheduler fails every request', 'it works',
         _driver('chance_scheduler')),
    Fact('[scheduler] driver', nova.STEIN, nova.LAST,
         'there is only the filter scheduler', 'it runs',
         lambda setup, release: setup.driver in (
             'chance_scheduler', 'caching_scheduler')),
    Fact('[scheduler] host_manager', nova.ROCKY, nova.LAST,
         'there is none for bare metal', 'it runs',
         lambda setup, release: setup.bare_metal),
)

_PLACEMENT = (
    Fact('Placement', nova.KILO, nova.MITAKA,
         'there is none', 'only hosts that it offers are looked at, and they '
         'are claimed', _placement),
    Fact('Placement', nova.QUEENS, nova.LAST,
         'without it no request finds a host',
         'hosts are judged by what the databases say',
         lambda setup, release: _without_placement(setup, release) and (
             setup.driver == 'filter_scheduler')),
    _version(nova.PIKE, nova.PIKE, '1.10'),
    _version(nova.QUEENS, nova.QUEENS, '1.17'),
    _version(nova.ROCKY, nova.ROCKY, '1.25'),
    _version(nova.STEIN, nova.STEIN, '1.29'),
    _version(nova.TRAIN, nova.TRAIN, '1.32'),
    _version(nova.USSURI, nova.WALLABY, '1.35'),
    Fact('allocation candidates', nova.PIKE, nova.LAST,
         'the first [scheduler] max_placement_results (from Queens on) that '
         'Placement lists for the request',
         'all that fit, by a copy of what Placement knows; it may be some '
         'seconds old',
         lambda setup, release: setup.placement and (
             setup.conf.nova_sched.candidates == 'mirror'),
         '[nova_sched] candidates = list asks as Nova does'),
    Fact('flavors', nova.QUEENS, nova.QUEENS,
         'numbered groups of resources and forbidden traits are not asked '
         'for', 'they are', _placement),
    Fact('volume-backed servers', nova.QUEENS, nova.QUEENS,
         'the root disk of the flavor is asked for', 'it is not',
         _placement),
    Fact('availability zones', nova.ROCKY, nova.V27,
         'left to AvailabilityZoneFilter',
         'asked of Placement, too', _zone_is_not_asked,
         'Mirror the aggregates of zones to Placement: nova-manage placement '
         'sync_aggregates'),
)

_FILTERS = (
    Fact('RamFilter, CoreFilter', nova.KILO, nova.KILO,
         'a server may be bigger than its host, within the overcommit ratio',
         'it may not', _filters('RamFilter', 'AggregateRamFilter',
                                'CoreFilter', 'AggregateCoreFilter')),
    Fact('DiskFilter', nova.KILO, nova.MITAKA,
         'a server may be bigger than its host, within the overcommit ratio',
         'it may not', _filters('DiskFilter', 'AggregateDiskFilter')),
    Fact('disabled hosts', nova.KILO, nova.KILO,
         'never looked at', 'left to ComputeFilter, which is not enabled',
         lambda setup, release: (
             setup.ranks and 'ComputeFilter' not in setup.filters),
         'Add ComputeFilter to [filter_scheduler] enabled_filters'),
    Fact('ComputeCapabilitiesFilter', nova.KILO, nova.MITAKA,
         'an extra spec without a scope that the host does not know rejects '
         'it', 'it is ignored', _filters('ComputeCapabilitiesFilter')),
    Fact('ComputeCapabilitiesFilter', nova.KILO, nova.V28,
         'the extra spec hw:maxphysaddr_bits is ignored',
         'the host must have so many bits',
         _filters('ComputeCapabilitiesFilter')),
    Fact('ImagePropertiesFilter', nova.KILO, nova.ROCKY,
         'a required hypervisor version has two or three numbers; an image '
         'with another one is refused', 'any version is compared',
         _filters('ImagePropertiesFilter')),
    Fact('AggregateImagePropertiesIsolation', nova.KILO, nova.KILO,
         'compares image properties of any name',
         'compares those that Nova knows',
         _filters('AggregateImagePropertiesIsolation')),
    Fact('AggregateMultiTenancyIsolation', nova.KILO, nova.V29,
         'reads the key filter_tenant_id',
         'reads every key that begins so',
         _filters('AggregateMultiTenancyIsolation')),
    Fact('AggregateTypeAffinityFilter', nova.KILO, nova.KILO,
         'the whole value is the name of a flavor',
         'it may name several, with commas between',
         _filters('AggregateTypeAffinityFilter')),
    Fact('SameHostFilter', nova.KILO, nova.KILO,
         'a host without instances passes', 'it is rejected',
         _filters('SameHostFilter')),
    Fact('PciPassthroughFilter', nova.KILO, nova.QUEENS,
         'upper and lower case of devices and requests must agree',
         'case does not matter', _filters('PciPassthroughFilter')),
    Fact('PciPassthroughFilter, NUMATopologyFilter', nova.QUEENS, nova.ZED,
         'judge a host, and the first candidate that Placement has for it is '
         'claimed', 'judge each candidate, and one that fits is claimed',
         lambda setup, release: setup.placement and _filters(
             'PciPassthroughFilter', 'NUMATopologyFilter')(setup, release)),
    Fact('NUMATopologyFilter', nova.KILO, nova.ROCKY,
         'counts memory pages for guests that ask for a page size',
         'counts them for all guests', _filters('NUMATopologyFilter')),
    Fact('NUMATopologyFilter', nova.KILO, nova.STEIN,
         'pinned and other guests share the CPUs of a host',
         'on hosts that tell dedicated CPUs apart each has its own',
         _filters('NUMATopologyFilter')),
    Fact('NUMATopologyFilter', nova.KILO, nova.XENA,
         'has another order of the cells of a host',
         'the order is that of [compute] '
         'packing_host_numa_cells_allocation_strategy',
         _filters('NUMATopologyFilter')),
    Fact('NUMATopologyFilter', nova.QUEENS, nova.QUEENS,
         'runs for rebuilds', 'does not', _filters('NUMATopologyFilter')),
    Fact('TrustedFilter', nova.MITAKA, nova.MITAKA,
         'checks the certificate whatever [trusted_computing] '
         'attestation_insecure_ssl says', 'does as it says',
         lambda setup, release: 'TrustedFilter' in setup.filters and (
             setup.conf.trusted_computing.attestation_insecure_ssl)),
)

_WEIGHERS = (
    Fact('weights', nova.KILO, nova.USSURI,
         'weighers remember the least and the greatest value they ever saw, '
         'so that earlier requests count', 'each request is weighed by '
         'itself', lambda setup, release: len(setup.weighers) > 1),
    Fact('multipliers', nova.KILO, nova.ROCKY,
         'are those of the options', 'metadata of aggregates go before',
         lambda setup, release: bool(setup.weighers)),
    Fact('soft affinity', nova.MITAKA, nova.QUEENS,
         'servers of the same request do not count', 'they do',
         _weighers('ServerGroupSoftAffinityWeigher',
                   'ServerGroupSoftAntiAffinityWeigher')),
)

FACTS = _SERVICE + _PLACEMENT + _FILTERS + _WEIGHERS
