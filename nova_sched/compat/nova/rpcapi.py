"""As ``nova.scheduler.rpcapi``: the client side of the RPC interface."""

from nova_sched.compat.nova import reach
from nova_sched.compat.nova.conf import CONF
from nova_sched.scheduler import rpcapi


class SchedulerAPI(rpcapi.SchedulerAPI):
    """This service's client, with the process's configuration."""

    def __init__(self):
        if reach.is_limited():
            raise RuntimeError('a shadow calls no scheduler: that one '
                               'would claim the hosts that it returns')
        super().__init__(CONF)
