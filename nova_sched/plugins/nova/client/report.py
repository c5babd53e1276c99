"""As ``nova.scheduler.client.report``: asking Placement."""

from nova_sched.plugins.nova.conf import CONF
from nova_sched.scheduler.client import report


class SchedulerReportClient(report.SchedulerReportClient):
    """As of this service, by the process's configuration."""

    def __init__(self):
        super().__init__(CONF)
