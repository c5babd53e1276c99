"""FilterScheduler with methods of Nova's that a plug-in overrides."""

import functools

from oslo_log import log as logging

from nova_sched.compat import driver_signatures
from nova_sched.compat import nova_methods
from nova_sched.compat import report_methods
from nova_sched.compat.nova import reach
from nova_sched.compat.row_api import attempt
from nova_sched.compat.row_api.nova_scheduler import NovaSchedulerMixin
from nova_sched.plugins import loading
from nova_sched.scheduler import filter_scheduler
from nova_sched.scheduler.attempt import SchedulingAttempt

LOG = logging.getLogger(__name__)


class RowApi:
    """Has FilterScheduler call Nova's methods that a plug-in overrides.

    The plug-in is a driver, a host manager or both.
    """

    def check_set_up(self):
        super().check_set_up()
        # A host manager with faulty filters must fail at the start.
        self._make_attempt  # noqa: B018

    @functools.cached_property
    def placement_client(self):
        """The client of Placement for plug-ins: SchedulerReportClient."""
        return reach.reader or report_methods.NovaReportClient(self.conf)

    def _attempt(self, request, offer, record, make=None):
        return super()._attempt(request, offer, record,
                                make or self._make_attempt)

    @functools.cached_property
    def _make_attempt(self):
        """The class of attempts, or a function that makes them.

        Replaces ``ranker`` if the driver or the host manager overrides steps:
        its filters and weighers are those of the host manager.
        """
        manager = self.host_manager
        own = [f'{type(each).__name__}.{name}' for each, names in (
            (self, nova_methods.STEPS), (manager, nova_methods.BY_ROWS))
            for name in nova_methods.overridden(each, names)]
        if own or nova_methods.overridden(manager, nova_methods.RULES):
            manager = self._steps.host_manager
            self.ranker = loading.ranker(*manager.rules)
        if not own:
            return SchedulingAttempt
        LOG.info('Hosts are evaluated one HostState at a time, because a '
                 'plug-in overrides %s', ', '.join(own))
        return functools.partial(attempt.RowApiAttempt, self._steps)

    @functools.cached_property
    def _steps(self):
        """This driver, or a NovaSchedulerMixin with its host manager."""
        if isinstance(self, NovaSchedulerMixin):
            return self
        made = NovaSchedulerMixin()
        made.conf, made.host_manager = self.conf, self.host_manager
        return made


def in_front_of(cls):
    """Return a class with RowApi in front of a FilterScheduler.

    Other classes are returned unchanged.
    """
    if not issubclass(cls, filter_scheduler.FilterScheduler) or issubclass(
            cls, RowApi):
        return cls
    return driver_signatures.with_adapter(RowApi, cls)
