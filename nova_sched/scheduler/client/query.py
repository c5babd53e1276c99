"""The client that conductors use to call the scheduler."""

from oslo_log import log as logging

from nova_sched.scheduler import rpcapi

LOG = logging.getLogger(__name__)


class SchedulerQueryClient:
    """Calls a scheduler over RPC.

    conf, transport: as for rpcapi.SchedulerAPI.
    """

    def __init__(self, conf, transport=None):
        self.scheduler_rpcapi = rpcapi.SchedulerAPI(conf, transport)

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_objects=False, return_alternates=False):
        """Choose a host for each instance; see rpcapi.SchedulerAPI."""
        LOG.debug('SchedulerQueryClient starts to make a RPC call.')
        return self.scheduler_rpcapi.select_destinations(
            context, spec_obj, instance_uuids, return_objects,
            return_alternates)
