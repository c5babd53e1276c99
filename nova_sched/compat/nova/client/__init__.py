"""As ``nova.scheduler.client``: clients of the scheduler and Placement."""

import functools

from nova_sched.compat.nova.client import query
from nova_sched.compat.nova.client import report

SchedulerQueryClient = query.SchedulerQueryClient


class SchedulerClient:
    """Both clients, each made at its first use."""

    @functools.cached_property
    def queryclient(self):
        """The client of the scheduler: query.SchedulerQueryClient."""
        return query.SchedulerQueryClient()

    @functools.cached_property
    def reportclient(self):
        """The client of Placement: report.SchedulerReportClient."""
        return report.SchedulerReportClient()

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_objects=False, return_alternates=False):
        """See SchedulerQueryClient."""
        return self.queryclient.select_destinations(
            context, spec_obj, instance_uuids, return_objects,
            return_alternates)
