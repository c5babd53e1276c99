"""As ``nova.scheduler.rpcapi``: the client side of the RPC interface."""

from nova_sched.compat.nova import reach
from nova_sched.compat.nova.conf import CONF
from nova_sched.scheduler import rpcapi


class SchedulerAPI(rpcapi.SchedulerAPI):
    """As of this service, by the process's configuration."""

    def __init__(self):
        if reach.is_limited():
            raise RuntimeError('a shadow asks no scheduler, which would '
                               'claim what it answers')
        super().__init__(CONF)
