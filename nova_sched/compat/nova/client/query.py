"""As ``nova.scheduler.client.query``: the client of the scheduler."""

from nova_sched.compat.nova import rpcapi
from nova_sched.scheduler.client import query


class SchedulerQueryClient(query.SchedulerQueryClient):
    """As of this service, by the process's configuration."""

    def __init__(self):
        self.scheduler_rpcapi = rpcapi.SchedulerAPI()
