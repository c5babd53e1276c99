"""Nova's request filters, which edit a request before Placement is queried.

``RequestFilters.apply`` runs them in Nova's order (``FILTERS``) on a copy of
the request.  Each filter has Nova's name and the arguments ``(spec_obj, facts,
options)``.  It edits the RequestSpec in place and returns whether it applies.
Filters only add conditions: a host must be in an aggregate of each list that a
filter requires.
"""

import functools
import time
import types

import os_traits
from oslo_log import log as logging

from nova_sched import exception
from nova_sched import objects
from nova_sched.network.neutron import Neutron
from nova_sched.objects import base
from nova_sched.rules.flavor_image import FlavorImageRequirements
from nova_sched.rules.flavor_image import get_set
from nova_sched.rules.flavor_image import invalid_image_property

LOG = logging.getLogger(__name__)

_ADDED = '{} request filter added required trait %s'
_SKIPPED = '%s skipped'

#: Keys and values of aggregate metadata and of extra specs.
_TENANT_KEY = 'filter_tenant_id'
_TRAIT_KEY = 'trait:'
_REQUIRED = 'required'

#: Image property -> prefix of its trait's name, which the value completes.
#: The traits of hw_viommu_model are not in os-traits; Nova uses this prefix.
_PREFIXES = {
    'hw_cdrom_bus': 'COMPUTE_STORAGE_BUS_',
    'hw_disk_bus': 'COMPUTE_STORAGE_BUS_',
    'hw_video_model': 'COMPUTE_GRAPHICS_MODEL_',
    'hw_vif_model': 'COMPUTE_NET_VIF_MODEL_',
    'hw_architecture': 'HW_ARCH_',
    'hw_emulation_architecture': 'COMPUTE_ARCH_',
    'hw_viommu_model': 'COMPUTE_VIOMMU_',
}
_SOUND_MODELS = ('sb16', 'es1370', 'pcspk', 'ac97', 'ich6', 'ich9', 'usb',
                 'virtio')
_ENCRYPTION_FORMATS = ('plain', 'luks', 'luksv2')
_TPM_VERSIONS = ('1.2', '2.0')
_TPM_SECRETS = {
    'user': os_traits.COMPUTE_SECURITY_TPM_SECRET_SECURITY_USER,
    'host': os_traits.COMPUTE_SECURITY_TPM_SECRET_SECURITY_HOST,
    'deployment': os_traits.COMPUTE_SECURITY_TPM_SECRET_SECURITY_DEPLOYMENT}

#: The first service version of nova-compute that sets the trait OWNER_NOVA on
#: all its providers.
OWNER_NOVA_SINCE = 73

#: Values instead of a network: Neutron creates a network, or none is used.
_NO_NETWORKS = ('auto', 'none')
_REMOTE_MANAGED = 'remote-managed'


class RequestFilters:
    """Nova's request filters, with the sources that they read from.

    host_manager: scheduler.host_manager.HostManager, or None.
    placement: scheduler.client.report.SchedulerReportClient.
    clock: function that returns seconds.
    """

    def __init__(self, conf, host_manager, placement, clock=time.monotonic):
        # A copy: a reload must not change the options of requests under way.
        self._options = types.SimpleNamespace(**conf.scheduler)
        self._clock = clock
        self._neutron = Neutron(conf, clock=clock)
        if host_manager is None:
            self._aggregates, self._oldest_compute = list, lambda: None
        else:
            self._aggregates = host_manager.aggregates
            self._oldest_compute = host_manager.oldest_compute
        self._placement = placement

    def apply(self, context, spec_obj):
        """Return a copy of a RequestSpec that the request filters edited.

        context: RequestContext; its token is used to read ports.
        Raises NoValidHost for a request that no host can serve, InvalidInput
        for an invalid request, DatabaseUnavailable,
        ResourceProviderAggregateRetrievalFailed, and exceptions of
        network.neutron.
        """
        spec_obj = base.clone(spec_obj)
        networks = self._neutron.reader(context)
        facts = types.SimpleNamespace(
            aggregates=functools.cache(self._aggregates),
            oldest_compute=self._oldest_compute,
            port=networks.port,
            segments_of_network=functools.cache(networks.segments_of_network),
            segments_of_subnet=functools.cache(networks.segments_of_subnet),
            aggregates_of=functools.cache(functools.partial(
                _aggregates_of, self._placement, context, networks.deadline)))
        try:
            process_reqspec(spec_obj, facts, self._options, self._clock)
        except exception.RequestFilterFailed as exc:
            raise exception.NoValidHost(reason=str(exc),
                                        nova=str(exc)) from exc
        return spec_obj


def process_reqspec(spec_obj, facts, options, clock):
    """Run all request filters on a RequestSpec, which they edit.

    facts: object with these methods, each of which does I/O:

        aggregates()                all objects.Aggregate: list
        oldest_compute()            lowest version of all compute services:
                                    int, or None without services
        port(port_id)               object with ``vnic_type``, ``network_id``
                                    and ``subnet_id``; the latter is of the
                                    first fixed address, or None
        segments_of_network(id)     uuids of the segments of a network's
        segments_of_subnet(id)      subnets, or of one subnet: list, or None
                                    if Neutron does not respond
        aggregates_of(segment)      uuids of a segment's aggregates: list, or
                                    None if Placement does not respond

    options: object with the options of [scheduler].
    clock: function that returns seconds.
    Raises RequestFilterFailed for a request that no host can serve,
    InvalidInput for an invalid request, and exceptions of ``facts``.
    """
    for request_filter in FILTERS:
        start = clock()
        if request_filter(spec_obj, facts, options):
            LOG.debug('Request filter %r took %.1f seconds',
                      request_filter.__name__, clock() - start)


def _aggregates_of(placement, context, deadline, segment):
    """Return the aggregates of a segment; None after the deadline."""
    if deadline.left() > 0:
        return placement.aggregates_of(segment, context)
    LOG.warning('Not querying Placement for the aggregates of segment %s: '
                'reading the networks of one request took too long', segment)
    return None


def require_tenant_aggregate(spec_obj, facts, options):
    """Restrict a project to the aggregates that name it in their metadata.

    Raises RequestFilterFailed for a project without an aggregate, if an
    aggregate is required.
    """
    if not options.limit_tenants_to_placement_aggregate:
        return False
    tenant = spec_obj.project_id
    matching = _matching(facts, lambda metadata: any(
        key.startswith(_TENANT_KEY) and value == tenant
        for key, value in metadata.items()))
    if matching:
        _require_any(spec_obj, matching)
        LOG.debug('require_tenant_aggregate request filter added aggregates '
                  '%s for tenant %r', ','.join(matching), tenant)
    elif options.placement_aggregate_required_for_tenants:
        LOG.warning('Tenant %(tenant)s has no available aggregates',
                    {'tenant': tenant})
        raise exception.RequestFilterFailed('No hosts available for tenant')
    return True


def map_az_to_placement_aggregate(spec_obj, facts, _options):
    """Restrict a request to the aggregates of its availability zone.

    A zone without an aggregate, such as the default one, requires nothing.
    """
    zone = spec_obj.availability_zone
    if not zone:
        return False
    matching = _matching(facts, lambda metadata: metadata.get(
        'availability_zone') == zone)
    if matching:
        _require_any(spec_obj, matching)
        LOG.debug('map_az_to_placement_aggregate request filter added '
                  'aggregates %s for az %r', ','.join(matching), zone)
    return True


def require_image_type_support(spec_obj, _facts, options):
    """Require a host that boots images of the disk format."""
    if (not options.query_placement_for_image_type_support
            or spec_obj.is_bfv):
        return False
    disk_format = spec_obj.image and spec_obj.image.disk_format
    trait = disk_format and _known(
        f'COMPUTE_IMAGE_TYPE_{disk_format.upper()}')
    if trait:
        _require(spec_obj, _ADDED.format('require_image_type_support'), trait)
    return True


def compute_status_filter(spec_obj, _facts, _options):
    """Exclude hosts with a disabled compute service."""
    trait = os_traits.COMPUTE_STATUS_DISABLED
    spec_obj.request_level_params.root_forbidden.add(trait)
    LOG.debug('compute_status_filter request filter added forbidden trait %s',
              trait)
    return True


def isolate_aggregates(spec_obj, facts, options):
    """Forbid the aggregates with traits that a request does not require."""
    if not options.enable_isolated_aggregate_filtering:
        return False
    traits = _required_traits(spec_obj)
    matching = _matching(facts, lambda metadata: any(
        key.startswith(_TRAIT_KEY) and value == _REQUIRED
        and key.removeprefix(_TRAIT_KEY) not in traits
        for key, value in metadata.items()))
    if matching:
        destination = _destination(spec_obj)
        destination.forbidden_aggregates = {
            *(destination.forbidden_aggregates or ()), *matching}
    return True


def transform_image_metadata(spec_obj, _facts, options):
    """Require the traits of the image's properties: all of them or none."""
    if not options.image_metadata_prefilter:
        return False
    image = FlavorImageRequirements(spec_obj).image
    traits = [
        _known(prefix + str(image.get(name)).upper().replace('-', '_'))
        for name, prefix in _PREFIXES.items() if image.get(name)]
    if all(traits):
        _require(spec_obj, _ADDED.format('transform_image_metadata'), *traits)
    return True


def accelerators_filter(spec_obj, _facts, _options):
    """Require accelerators for a flavor with a device profile."""
    if FlavorImageRequirements(spec_obj).flavor('accel:device_profile'):
        _require(spec_obj, _ADDED.format('accelerators_filter'),
                 os_traits.COMPUTE_ACCELERATORS)
    return True


def packed_virtqueue_filter(spec_obj, _facts, _options):
    """Require packed virtio rings.

    Raises InvalidInput if flavor and image contradict each other.
    """
    if FlavorImageRequirements(spec_obj).agreed(
            'hw:virtio_packed_ring', is_flag=True):
        _require(spec_obj, _ADDED.format('virtqueue_filter'),
                 os_traits.COMPUTE_NET_VIRTIO_PACKED)
    return True


def routed_networks_filter(spec_obj, facts, options):
    """Restrict a request to hosts that reach the segments of its networks.

    Raises RequestFilterFailed if Neutron or Placement do not return the
    aggregates of a segment, and exceptions of ``facts``.
    """
    if not options.query_placement_for_routed_network_aggregates:
        return False
    for requested in _networks(spec_obj):
        network_id, aggregates = _reachable(requested, facts)
        if aggregates:
            _require_any(spec_obj, aggregates)
            LOG.debug('routed_networks_filter request filter added the '
                      'following aggregates for network ID %s: %s',
                      network_id, ', '.join(aggregates))
    return True


def remote_managed_ports_filter(spec_obj, facts, _options):
    """Require a host with remote-managed ports if the request has such a port.

    Raises exceptions of ``facts``.
    """
    for requested in _networks(spec_obj):
        if requested.port_id and (
                facts.port(requested.port_id).vnic_type == _REMOTE_MANAGED):
            _require(spec_obj, 'remote_managed_ports_filter request filter '
                     'added trait %s', os_traits.COMPUTE_REMOTE_MANAGED_PORTS)
    return True


def ephemeral_encryption_filter(spec_obj, _facts, _options):
    """Require encryption of local disks, and its format.

    Raises InvalidInput if flavor and image contradict each other.
    """
    requirements = FlavorImageRequirements(spec_obj)
    if not requirements.agreed('hw:ephemeral_encryption', is_flag=True):
        LOG.debug(_SKIPPED, 'ephemeral_encryption_filter')
        return False
    traits = [os_traits.COMPUTE_EPHEMERAL_ENCRYPTION]
    format_ = requirements.agreed('hw:ephemeral_encryption_format',
                                  _ENCRYPTION_FORMATS)
    if format_ is not None:
        if format_ not in _ENCRYPTION_FORMATS:
            raise invalid_image_property(
                f'must be one of {", ".join(_ENCRYPTION_FORMATS)}', format_,
                'hw_ephemeral_encryption_format')
        traits.append(
            f'{os_traits.COMPUTE_EPHEMERAL_ENCRYPTION}_{format_.upper()}')
    _require(spec_obj, 'ephemeral_encryption_filter added trait %s', *traits)
    return True


def virtio_sound_filter(spec_obj, _facts, _options):
    """Require virtio sound.

    Raises InvalidInput if flavor and image contradict each other.
    """
    requirements = FlavorImageRequirements(spec_obj)
    if requirements.agreed('hw:sound_model', _SOUND_MODELS) != 'virtio':
        LOG.debug(_SKIPPED, 'virtio_sound_filter')
        return False
    _require(spec_obj, 'virtio_sound_filter added trait %s',
             os_traits.COMPUTE_SOUND_MODEL_VIRTIO)
    return True


def tpm_secret_security_filter(spec_obj, _facts, _options):
    """Require support for the security of a TPM's secrets.

    Raises RequestFilterFailed for an unknown kind of security, and
    InvalidInput if flavor and image contradict each other.
    """
    requirements = FlavorImageRequirements(spec_obj)
    if requirements.agreed('hw:tpm_version', _TPM_VERSIONS) is None:
        LOG.debug(_SKIPPED, 'tpm_secret_security_filter')
        return False
    security = requirements.flavor('hw:tpm_secret_security') or 'user'
    if security not in _TPM_SECRETS:
        reason = f"TPM secret security '{security}' is not supported."
        LOG.warning('%s', reason)
        raise exception.RequestFilterFailed(reason)
    spec_obj.request_level_params.root_required.add(_TPM_SECRETS[security])
    return True


def owner_nova_filter(spec_obj, facts, _options):
    """Require the trait OWNER_NOVA once all compute services set it."""
    oldest = facts.oldest_compute() or 0
    if oldest < OWNER_NOVA_SINCE:
        LOG.warning('OWNER_NOVA trait not added to scheduling request: not '
                    'all nova-compute services are upgraded '
                    '(min_version=%d, need %d).', oldest, OWNER_NOVA_SINCE)
        return False
    trait = os_traits.OWNER_NOVA
    _require(spec_obj, 'Added required trait %s to root provider in request '
             'spec', trait)
    groups = _of_flavor_devices(spec_obj)
    for group in groups:
        group.required_traits.add(trait)
    if groups:
        LOG.debug('Added required trait %s to PCI request groups in request '
                  'spec', trait)
    return True


#: In Nova's order.
FILTERS = (
    require_tenant_aggregate,
    map_az_to_placement_aggregate,
    require_image_type_support,
    compute_status_filter,
    isolate_aggregates,
    transform_image_metadata,
    accelerators_filter,
    packed_virtqueue_filter,
    routed_networks_filter,
    remote_managed_ports_filter,
    ephemeral_encryption_filter,
    virtio_sound_filter,
    tpm_secret_security_filter,
    owner_nova_filter,
)


def _require(spec_obj, text, *traits):
    """Require traits of the host's root provider, and log each with a text."""
    for trait in traits:
        spec_obj.request_level_params.root_required.add(trait)
        LOG.debug(text, trait)


def _require_any(spec_obj, aggregates):
    """Require the host to be in one of these aggregates: uuids, not empty."""
    destination = _destination(spec_obj)
    destination.aggregates = [*(destination.aggregates or ()),
                              ','.join(aggregates)]


def _destination(spec_obj):
    if spec_obj.requested_destination is None:
        spec_obj.requested_destination = objects.Destination()
    return spec_obj.requested_destination


def _matching(facts, fits):
    """Return the uuids of the aggregates with matching metadata, in order.

    fits: function of the metadata, a dict, that returns whether they match.
    """
    return [aggregate.uuid for aggregate in facts.aggregates()
            if aggregate.uuid and fits(aggregate.metadata or {})]


def _required_traits(spec_obj):
    """Return the traits that the flavor (in any group) and image require."""
    requirements = FlavorImageRequirements(spec_obj)
    traits = set(requirements.image.get('traits_required') or ())
    for key, value in requirements.extra_specs.items():
        group, _, trait = key.partition(':')
        if group.startswith('trait') and value == _REQUIRED:
            traits.add(trait)
    return traits


def _known(trait):
    """Return the name of a trait that exists; otherwise log it: None."""
    if hasattr(os_traits, trait):
        return trait
    LOG.error('Computed trait name %r is not valid; is os-traits up to date?',
              trait)
    return None


def _of_flavor_devices(spec_obj):
    """Return the request groups that come from the flavor's PCI requests."""
    pci = spec_obj.pci_requests
    prefixes = tuple(
        f'{request.request_id}-' for request in (pci.requests if pci else ())
        if request.alias_name is not None and request.request_id)
    return [group for group in get_set(spec_obj, 'requested_resources', ())
            if (group.requester_id or '').startswith(prefixes)]


def _networks(spec_obj):
    networks = get_set(spec_obj, 'requested_networks')
    return networks.objects if networks else ()


def _reachable(requested, facts):
    """Return the aggregates of hosts that reach a NetworkRequest.

    Returns the id of the network, None for a port with an address, and a list
    of aggregate uuids, which is empty if every host reaches it.
    """
    network_id = requested.network_id
    if requested.port_id:
        port = facts.port(requested.port_id)
        if port.subnet_id:
            return None, _of_segments(
                facts.segments_of_subnet(port.subnet_id), facts,
                f'subnet {port.subnet_id}')
        network_id = port.network_id
    if not network_id or network_id in _NO_NETWORKS:
        return network_id, []
    return network_id, _of_segments(facts.segments_of_network(network_id),
                                    facts, f'network {network_id}')


def _of_segments(segments, facts, where):
    """Return the aggregates of segments: list of uuids.

    Raises RequestFilterFailed if a segment has none.
    """
    aggregates = []
    for segment in dict.fromkeys(_required(segments, where)):
        aggregates += _required(facts.aggregates_of(segment) or None, where)
    return list(dict.fromkeys(aggregates))


def _required(answer, where):
    if answer is None:
        raise exception.RequestFilterFailed(
            f'Aggregates not found for the {where}')
    return answer
