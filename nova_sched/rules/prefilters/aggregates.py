"""Request filters that restrict a request to host aggregates."""

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.rules.prefilters import edits
from nova_sched.rules.resources.flavor_image import FlavorImageRequirements

LOG = logging.getLogger(__name__)

_TENANT_KEY = 'filter_tenant_id'
_TRAIT_KEY = 'trait:'
_REQUIRED = 'required'


def require_tenant_aggregate(spec_obj, facts, options):
    """Restrict a project to the aggregates whose metadata name it.

    Raises RequestFilterFailed for a project without an aggregate, if one is
    required.
    """
    if not options.limit_tenants_to_placement_aggregate:
        return False
    tenant = spec_obj.project_id
    found = _uuids(facts, lambda metadata: any(
        key.startswith(_TENANT_KEY) and value == tenant
        for key, value in metadata.items()))
    if found:
        edits.require_any(spec_obj, found)
        LOG.debug('require_tenant_aggregate request filter added aggregates '
                  '%s for tenant %r', ','.join(found), tenant)
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
    found = _uuids(facts, lambda metadata: metadata.get(
        'availability_zone') == zone)
    if found:
        edits.require_any(spec_obj, found)
        LOG.debug('map_az_to_placement_aggregate request filter added '
                  'aggregates %s for az %r', ','.join(found), zone)
    return True


def isolate_aggregates(spec_obj, facts, options):
    """Forbid the aggregates whose traits a request does not require."""
    if not options.enable_isolated_aggregate_filtering:
        return False
    traits = _required_traits(spec_obj)
    found = _uuids(facts, lambda metadata: any(
        key.startswith(_TRAIT_KEY) and value == _REQUIRED
        and key.removeprefix(_TRAIT_KEY) not in traits
        for key, value in metadata.items()))
    if found:
        edits.forbid_all(spec_obj, found)
    return True


def _uuids(facts, fits):
    """Return the uuids of the aggregates whose metadata fit, in order."""
    return [aggregate.uuid for aggregate in facts.aggregates()
            if aggregate.uuid and fits(aggregate.metadata or {})]


def _required_traits(spec_obj):
    """Return the traits that the flavor, in any group, and image require."""
    requirements = FlavorImageRequirements(spec_obj)
    traits = set(requirements.image.get('traits_required') or ())
    for key, value in requirements.extra_specs.items():
        group, _, trait = key.partition(':')
        if group.startswith('trait') and value == _REQUIRED:
            traits.add(trait)
    return traits
