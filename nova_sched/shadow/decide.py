"""Deciding as a scheduler does, with nothing coming of it."""

from oslo_log import log as logging
import oslo_messaging as messaging

from nova_sched import conf as config
from nova_sched import context
from nova_sched import rpc
from nova_sched.hosts import decision
from nova_sched.plugins.nova import reach
from nova_sched.scheduler import driver
from nova_sched.scheduler import manager
from nova_sched.scheduler import offers
from nova_sched.shadow import reading

LOG = logging.getLogger(__name__)


class Decider:
    """A driver that decides what others are asked; of one thread.

    conf: ConfigOpts.  placement: reading.ReadOnly, or None.

    driver: the scheduler.driver.Scheduler.
    """

    def __init__(self, conf, placement):
        client = reading.Client(conf, placement)
        # What plug-ins claim and send by themselves comes of nothing, too.
        reach.limit(client)
        self.driver = driver.load_driver(conf)
        if hasattr(self.driver, 'host_manager'):
            # What is chosen here is in flight for nobody.
            self.driver.host_manager.remembers = False
        if hasattr(self.driver, 'placement_client'):
            self.driver.placement_client = client
        self._kept = _Kept()
        self._manager = manager.SchedulerManager(
            self.driver, offers.Offers(conf, self.driver, client), self._kept,
            limits=manager.Limits.of(conf))

    def decide(self, call):
        """The record of a tap.Call that asks for hosts: closed Decision."""
        asker = rpc.ContextSerializer().deserialize_context(call.context)
        self._kept.record = None
        error = None
        try:
            self._manager.select_destinations(asker, **call.args)
        except messaging.ExpectedException:
            pass        # the record says what, and the manager logs the why
        except Exception as exc:
            error = exc
        record = self._kept.record or decision.Decision(
            request_id=asker.request_id)
        record.close(decision.FAILED)
        if error is not None:
            LOG.error('Request %(id)s cannot be decided here: %(error)r',
                      {'id': record.request_id, 'error': error},
                      exc_info=error)
        # In place of the caller's, and its token, as this thread's own.
        context.RequestContext(request_id=record.request_id)
        return record

    def refresh(self):
        """Have ``table`` tell the hosts as they are at this moment.

        Not those of a driver that reads them in its periodic work only.
        Raises DatabaseUnavailable.
        """
        refresh = getattr(getattr(self.driver, 'host_manager', None),
                          'refresh', None)
        # One of Nova's form reads at each request, whatever else it does.
        reads_later = self.driver.PERIODIC and not getattr(
            self.driver, 'NO_ARG_CONSTRUCTOR', False)
        if refresh is not None and not reads_later:
            refresh()

    def table(self):
        """The hosts as last read, for a decision or by ``refresh``: HostTable.

        None where the driver's host manager does not tell.
        """
        view = getattr(getattr(self.driver, 'host_manager', None), 'view',
                       None)
        return None if view is None else view().table


class _Kept:
    """Takes the record of each request, as the manager's recorder."""

    generation = 1

    def __init__(self):
        self.record = None

    def add(self, record):
        self.record = record


def placement_of(conf):
    """The way to Placement for reading, or None where there is none."""
    if not config.placement_configured(conf):
        return None
    return reading.ReadOnly(conf)
