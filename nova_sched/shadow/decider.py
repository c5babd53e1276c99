"""A scheduler whose decisions have no effect."""

from oslo_log import log as logging
import oslo_messaging as messaging

from nova_sched import conf as config
from nova_sched import context
from nova_sched import rpc
from nova_sched.hosts import decision
from nova_sched.plugins.nova import reach
from nova_sched.scheduler import driver
from nova_sched.scheduler import manager
from nova_sched.scheduler.candidates import CandidateSource
from nova_sched.shadow import read_only_placement

LOG = logging.getLogger(__name__)


class Decider:
    """A scheduler that answers calls to others; for use by one thread.

    conf: ConfigOpts.
    placement: read_only_placement.ReadOnlyPlacement, or None.

    driver: the scheduler.driver.Scheduler.
    """

    def __init__(self, conf, placement):
        self._client = client = read_only_placement.ReadOnlyReportClient(
            conf, placement)
        # Plug-ins that claim or send by themselves have no effect either.
        reach.limit(client)
        self.driver = driver.load_driver(conf)
        if hasattr(self.driver, 'host_manager'):
            # A pick that has no effect is not in flight.
            self.driver.host_manager.remembers = False
        if hasattr(self.driver, 'placement_client'):
            self.driver.placement_client = client
        self._recorder = _LastRecord()
        self._candidates = CandidateSource(conf, self.driver, client)
        self._manager = manager.SchedulerManager(
            self.driver, self._candidates, self._recorder,
            limits=manager.Limits.of(conf))

    def start(self):
        """Start the driver.  Raises DatabaseUnavailable."""
        self.driver.start()
        self._candidates.start()

    def stop(self):
        """Let go of what ``start`` acquired."""
        self._candidates.stop()
        self.driver.stop()

    @property
    def copy_comparison(self):
        """The CopyComparison of the last call; None without one."""
        return self._client.comparison

    def decide(self, call):
        """Decide a tap.Call of select_destinations.

        Returns its closed Decision, also for a call that fails.
        """
        caller = rpc.ContextSerializer().deserialize_context(call.context)
        self._recorder.record = self._client.comparison = None
        error = None
        try:
            self._manager.select_destinations(caller, **call.args)
        except messaging.ExpectedException:
            pass        # it is in the record, and the manager logs the reason
        except Exception as exc:
            error = exc
        record = self._recorder.record or decision.Decision(
            request_id=caller.request_id)
        record.close(decision.FAILED)
        if error is not None:
            LOG.error('Request %(id)s cannot be decided here: %(error)r',
                      {'id': record.request_id, 'error': error},
                      exc_info=error)
        # Replaces the caller's context, and its token, in this thread.
        context.RequestContext(request_id=record.request_id)
        return record

    def refresh(self):
        """Read the hosts again.

        Does nothing for a driver that reads them in its periodic work only.
        Raises DatabaseUnavailable.
        """
        refresh = getattr(getattr(self.driver, 'host_manager', None),
                          'refresh', None)
        # A driver of Nova's form reads the hosts at each request as well.
        reads_later = self.driver.PERIODIC and not getattr(
            self.driver, 'NO_ARG_CONSTRUCTOR', False)
        if refresh is not None and not reads_later:
            refresh()

    def table(self):
        """Return the HostTable last read, for a decision or by ``refresh``.

        None if the driver's host manager has no ``view``.
        """
        view = getattr(getattr(self.driver, 'host_manager', None), 'view',
                       None)
        return None if view is None else view().table


class _LastRecord:
    """A recorder for the manager that keeps the last record only."""

    generation = 1

    def __init__(self):
        self.record = None

    def add(self, record):
        self.record = record


def connect_placement(conf):
    """Return a ReadOnlyPlacement, or None where none is configured."""
    if not config.placement_configured(conf):
        return None
    return read_only_placement.ReadOnlyPlacement(conf)
