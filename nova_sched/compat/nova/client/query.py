"""As ``nova.scheduler.client.query``: the client of the scheduler."""

from nova_sched.compat.nova import rpcapi
from nova_sched.scheduler.client import query


class SchedulerQueryClient(query.SchedulerQueryClient):
    """This service's client, with the process's configuration."""

    def __init__(self):
        self.scheduler_rpcapi = rpcapi.SchedulerAPI()
