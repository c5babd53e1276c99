"""As ``nova.scheduler.client.report``: asking Placement."""

from nova_sched.placement import nova_methods
from nova_sched.plugins.nova import reach
from nova_sched.plugins.nova.conf import CONF
from nova_sched.scheduler.client import report

TraitInfo = nova_methods.TraitInfo


class SchedulerReportClient(report.SchedulerReportClient):
    """As of this service, by the process's configuration."""

    def __new__(cls):
        if reach.is_limited() and cls is SchedulerReportClient:
            # Of another class, so that it is not initialised once more.
            return reach.only
        return super().__new__(cls)

    def __init__(self):
        super().__init__(CONF, reach.only and reach.only._adapter)
