"""As ``nova.scheduler.client.report``: the client of Placement."""

import functools
import threading

from nova_sched.compat import report_methods
from nova_sched.compat.nova import reach
from nova_sched.compat.nova.conf import CONF

TraitInfo = report_methods.TraitInfo

_lock = threading.Lock()


class SchedulerReportClient(report_methods.NovaReportClient):
    """This service's client, with the process's configuration.

    adapter: None; [placement] configures the connection.
    """

    def __new__(cls, adapter=None):
        if reach.is_limited() and cls is SchedulerReportClient:
            # An object of another class, so that __init__ does not run.
            return reach.reader
        return super().__new__(cls)

    def __init__(self, adapter=None):
        if adapter is not None:
            raise TypeError('SchedulerReportClient takes no adapter here; '
                            '[placement] configures the connection')
        super().__init__(CONF, reach.reader and reach.reader._adapter)


def report_client_singleton():
    """Return the SchedulerReportClient of the process, made at the first use.
    """
    with _lock:
        return _singleton(reach.reader)


@functools.cache
def _singleton(limited):
    return SchedulerReportClient()
