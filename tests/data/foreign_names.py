"""Plug-ins that use rare names of Nova, as some authors do."""

from nova import compute
from nova import objects
from nova.compute import rpcapi
from nova.openstack.common import log as logging
from nova.scheduler import filter_scheduler
from nova.scheduler import filters
from nova.scheduler import scheduler_options
from nova.scheduler import weights
from nova.scheduler.filters import utils

LOG = logging.getLogger(__name__)


class LateFilter(filters.BaseHostFilter):
    """Calls a function that Nova had until Juno."""

    def host_passes(self, host_state, filter_properties):
        return utils.aggregate_values_of_all(
            filter_properties['context'], host_state.host, 'k')


class LateWeigher(weights.BaseHostWeigher):
    def _weigh_object(self, host_state, weight_properties):
        from nova.objects import NoSuch
        return NoSuch


class KillingFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, filter_properties):
        api = compute.API()
        for instance in api.get_all(filter_properties['context']):
            api.delete(filter_properties['context'], instance)
        return True


class VolumeFilter(filters.BaseHostFilter):
    """Passes hosts on which all servers boot from volumes; logs roles."""

    def host_passes(self, host_state, filter_properties):
        api = compute.API()
        context = filter_properties['context']
        found = [objects.BlockDeviceMappingList.get_by_instance_uuid(
            context, uuid).root_bdm() for uuid in host_state.instances]
        roles = [api.get_instance_metadata(context, instance).get('role')
                 for instance in host_state.instances.values()]
        LOG.audit(_('Roles on %s: %s'), host_state.host, roles)  # noqa: F821
        return all(device and device.is_volume for device in found)


class OldWeigher(weights.BaseHostWeigher):
    def _weight_multiplier(self):
        return -1.0

    def _weigh_object(self, host_state, weight_properties):
        return host_state.free_ram_mb


class LateScheduler(filter_scheduler.FilterScheduler):
    def _schedule(self, context, spec_obj, *args):
        return objects.NoSuch


class BothScheduler(filter_scheduler.FilterScheduler):
    """As in Juno, with a copy of Nova's constructor."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.options = scheduler_options.SchedulerOptions()
        self.notifier = self.placement_client = None
        self.compute_rpcapi = rpcapi.ComputeAPI()

    def schedule_run_instance(self, context, request_spec, *args):
        self.compute_rpcapi.run_instance(context, request_spec)

    def select_destinations(self, context, request_spec, filter_properties):
        return super().select_destinations(context, request_spec,
                                           filter_properties)


class CastingScheduler(filter_scheduler.FilterScheduler):
    def schedule_run_instance(self, context, request_spec, *args):
        pass
