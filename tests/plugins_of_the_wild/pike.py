"""Pike: Nova's notifier, clients and handlers, and unused imports."""

from nova import db  # noqa: F401
from nova import rpc
from nova import utils  # noqa: F401
from nova.objects import instance_numa  # noqa: F401
from nova.scheduler import client
from nova.scheduler import filters
from nova.scheduler import weights
from oslo_log import log as logging

LOG = logging.getLogger(__name__)


class TellingFilter(filters.BaseHostFilter):
    """Passes all hosts, and sends a notification for each."""

    def __init__(self):
        self.notifier = rpc.get_notifier('scheduler')

    def host_passes(self, host_state, spec_obj):
        self.notifier.info(spec_obj._context, 'scheduler.saw_host',
                           {'host': host_state.host})
        return True


class HolderFilter(filters.BaseHostFilter):
    """Passes hosts on which an instance has allocations in Placement."""

    def __init__(self):
        self.reportclient = client.SchedulerClient().reportclient

    def host_passes(self, host_state, spec_obj):
        held = self.reportclient.get_allocations_for_consumer(
            spec_obj._context, spec_obj.get_scheduler_hint('holder'))
        LOG.info('Held: %s', held)
        return host_state.uuid in held


class SmallHostFilter(filters.BaseHostFilter):
    """Passes hosts with at most 16 GB free; used by BothFilter."""

    def host_passes(self, host_state, spec_obj):
        return host_state.free_ram_mb <= 16384


class IdleHostFilter(filters.BaseHostFilter):
    """Passes hosts without I/O; used by BothFilter."""

    def host_passes(self, host_state, spec_obj):
        return host_state.num_io_ops == 0


class BothFilter(filters.BaseHostFilter):
    """Runs two filters that no option names."""

    def __init__(self):
        self.handler = filters.HostFilterHandler()
        self.filters = [cls() for cls in self.handler.get_matching_classes([
            f'{__name__}.SmallHostFilter', f'{__name__}.IdleHostFilter'])]

    def filter_all(self, filter_obj_list, spec_obj):
        return self.handler.get_filtered_objects(
            self.filters, list(filter_obj_list), spec_obj)


class FreeRamWeigher(weights.BaseHostWeigher):
    """Weighs free memory; used by RankWeigher."""

    def _weigh_object(self, host_state, weight_properties):
        return host_state.free_ram_mb


class RankWeigher(FreeRamWeigher):
    """Weighs the rank by free memory, so that the last host is best."""

    def __init__(self):
        self.handler = weights.HostWeightHandler()
        self.weighers = [cls() for cls in self.handler.get_matching_classes(
            [f'{__name__}.FreeRamWeigher'])]

    def weigh_objects(self, weighed_obj_list, weight_properties):
        order = [weighed.obj.host for weighed
                 in self.handler.get_weighed_objects(
                     self.weighers,
                     [weighed.obj for weighed in weighed_obj_list],
                     weight_properties)]
        return [order.index(weighed.obj.host)
                for weighed in weighed_obj_list]
