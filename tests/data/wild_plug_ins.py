"""Plug-ins as many authors write them for Nova, one for each name they use."""

from nova import availability_zones
from nova import db
from nova import exception
from nova import objects
from nova import servicegroup
from nova import utils as nova_utils
from nova.objects import cell_mapping
from nova.objects import compute_node
from nova.objects import host_mapping
from nova.openstack.common import jsonutils
from nova.openstack.common import log as logging
from nova.openstack.common.gettextutils import _
from nova.scheduler import filters
from nova.scheduler import scheduler_options
from nova.scheduler import utils
from nova.scheduler import weights
from oslo.config import cfg

CONF = cfg.CONF
CONF.register_opts([cfg.StrOpt('compute_driver_of_juno', default='x')])
LOG = logging.getLogger(__name__)


def _other(spec_obj):
    """The name of the host that a hint names."""
    return spec_obj.get_scheduler_hint('beside')


class AdminFilter(filters.BaseHostFilter):
    """Passes for the call's project; elevates the context."""

    def host_passes(self, host_state, spec_obj):
        context = spec_obj._context
        return (context.project_id == 'p' and not context.is_admin
                and context.elevated().is_admin)


class SameAggregateFilter(filters.BaseHostFilter):
    """Hosts that share an aggregate with another one."""

    def host_passes(self, host_state, spec_obj):
        theirs = objects.AggregateList.get_by_host(
            spec_obj._context.elevated(), _other(spec_obj))
        return bool({aggregate.id for aggregate in theirs}
                    & {aggregate.id for aggregate in host_state.aggregates})


class SameZoneFilter(filters.BaseHostFilter):
    """Hosts in the zone of another one."""

    def host_passes(self, host_state, spec_obj):
        zone = availability_zones.get_host_availability_zone
        context = spec_obj._context
        return zone(context, host_state.host) == zone(
            context, _other(spec_obj))


class SameRackFilter(filters.BaseHostFilter):
    """Hosts in the rack of another one, as in Kilo."""

    def host_passes(self, host_state, filter_properties):
        context = filter_properties['context'].elevated()
        other = filter_properties['scheduler_hints']['beside']
        return self._racks(context, other) == self._racks(
            context, host_state.host)

    def _racks(self, context, host):
        return db.aggregate_metadata_get_by_host(
            context, host, key='rack')['rack']


class SameCellFilter(filters.BaseHostFilter):
    """Hosts in the cell of another one."""

    def host_passes(self, host_state, spec_obj):
        try:
            mapping = host_mapping.HostMapping.get_by_host(
                spec_obj._context, _other(spec_obj))
        except exception.HostMappingNotFound:
            return False
        assert isinstance(mapping.cell_mapping, cell_mapping.CellMapping)
        assert not isinstance(mapping, compute_node.ComputeNode)
        return mapping.cell_mapping.uuid == host_state.cell_uuid


class SmallFlavorFilter(filters.BaseHostFilter):
    """Reads the flavor as a dict."""

    def host_passes(self, host_state, spec_obj):
        flavor = spec_obj.flavor
        return flavor.get('memory_mb') == flavor['memory_mb'] < 1024


class RackWeigher(weights.BaseHostWeigher):
    """Has its multiplier from the host's aggregates."""

    def weight_multiplier(self, host_state):
        return utils.get_weight_multiplier(host_state, 'rack_weight', 1.0)

    def _weigh_object(self, host_state, weight_properties):
        return 1.0 if host_state.host == 'b' else 0.0


class RamOfOthersFilter(filters.BaseHostFilter):
    """Hosts with instances of smaller flavors than the request's alone."""

    def host_passes(self, host_state, spec_obj):
        return all(
            isinstance(instance, objects.Instance)
            and instance.flavor.memory_mb < spec_obj.memory_mb
            and instance.get_flavor().extra_specs.get('kind') == 'small'
            for instance in host_state.instances.values())


class QuietNeighboursWeigher(weights.BaseHostWeigher):
    """Hosts without instances of a noisy role or image come first."""

    def _weigh_object(self, host_state, weight_properties):
        return -sum(
            instance.metadata.get('role') == 'noisy'
            or instance.system_metadata['image_os_type'] == 'noisy'
            for instance in host_state.instances.values())


class YoungWeigher(weights.BaseHostWeigher):
    """The host with the youngest instance comes first."""

    def _weigh_object(self, host_state, weight_properties):
        return max((instance.created_at.timestamp() for instance
                    in host_state.instances.values()), default=0)


class LiveFilter(filters.BaseHostFilter):
    """Hosts with a service that is up, by Nova's service group."""

    def __init__(self):
        self.servicegroup_api = servicegroup.API()

    def host_passes(self, host_state, spec_obj):
        return self.servicegroup_api.service_is_up(host_state.service)


class JunoFilter(filters.BaseHostFilter):
    """A list of hosts in the operator's file, with Juno's imports."""

    def __init__(self):
        self.options = scheduler_options.SchedulerOptions()

    @nova_utils.synchronized('juno-filter')
    def host_passes(self, host_state, filter_properties):
        hosts = self.options.get_configuration().get('hosts')
        LOG.debug(_('Hosts: %s'), jsonutils.dumps(hosts))
        return host_state.host in hosts and isinstance(
            CONF.compute_driver_of_juno, str)
