"""The filter scheduler with overridden methods of plug-ins."""

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
    """An adapter for FilterScheduler that calls overrides of Nova's methods.

    Overrides of the driver and of its host manager.
    """

    def check_set_up(self):
        super().check_set_up()
        # Faults of the host manager's rules must appear at start.
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

        If the host manager chooses filters and weighers, these become the
        ranker's.
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
        LOG.info('Requests are decided host state by host state, because of '
                 '%s', ', '.join(own))
        return functools.partial(attempt.RowApiAttempt, self._steps)

    @functools.cached_property
    def _steps(self):
        """The driver itself, or an object with Nova's steps for it."""
        if isinstance(self, NovaSchedulerMixin):
            return self
        made = NovaSchedulerMixin()
        made.conf, made.host_manager = self.conf, self.host_manager
        return made


def in_front_of(cls):
    """Return a driver class that calls overrides of Nova's methods."""
    if not issubclass(cls, filter_scheduler.FilterScheduler) or issubclass(
            cls, RowApi):
        return cls
    return driver_signatures.with_adapter(RowApi, cls)
