"""The filter scheduler: filter the hosts, weigh them, pick the best.

``FilterScheduler.select_destinations`` is the story of a request:

1. Read the hosts from the databases, after the request arrived, and add new
   hosts to the candidates of the mirror (``_read_hosts``).
2. Look up the hosts of the instances that the request names (``_look_up``).
3. Under the decision lock (``_decide``): take a private snapshot of the hosts,
   place instances on them (``attempt.SchedulingAttempt``), and assume the
   picks, so that other requests see them.
4. Outside of the lock, claim the picks in Placement, if it is used.  Forget
   the picks that Placement refuses.
5. Repeat 3 and 4 for the instances without a host, after refused claims or
   at the end of a slice.  If the mirror has no candidate for them, start again
   with the candidates that Placement lists.
6. Return the selections.
"""

import contextlib

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.hosts import budget
from nova_sched.plugins import loading as plugins
from nova_sched.scheduler import driver
from nova_sched.scheduler import scheduler_options
from nova_sched.scheduler.attempt import HostSelector
from nova_sched.scheduler.attempt import SchedulingAttempt
from nova_sched.scheduler.attempt import SchedulingRequest
from nova_sched.scheduler.claims import Claims
from nova_sched.scheduler.offer import NO_OFFER

LOG = logging.getLogger(__name__)


class FilterScheduler(driver.HostScheduler):
    """The driver that reads the hosts after each request arrives."""

    ONE_PROCESS = False
    LISTS_CANDIDATES_LAST = NOTIFIES = True

    def __init__(self, conf):
        super().__init__(conf)
        self.ranker = plugins.load_ranker(conf)
        self._options = scheduler_options.SchedulerOptions(
            conf.scheduler_json_config_location)
        self._selector = HostSelector.of(conf)
        if not (self.PERIODIC or self.ranker.reads_heartbeats):
            self.skip_heartbeats()

    def take_over(self, predecessor):
        if isinstance(predecessor, FilterScheduler):
            self.host_manager.take_over(predecessor.host_manager)

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False,
                            offer=NO_OFFER, record=None):
        request = SchedulingRequest(
            spec_obj, instance_uuids, self.count(spec_obj, instance_uuids),
            self._max_attempts - 1 if return_alternates else 0,
            context, self._get_configuration_options(), self.new_seed())
        record = self.opened(record, request, offer)
        self._read_hosts(record, offer)
        instances, unresponsive = self._look_up(request, record), set()
        attempt = self._attempt(request, offer, record)
        try:
            while not attempt.is_complete:
                try:
                    self._decide(attempt, instances, record)
                except exception.DatabaseUnavailable as error:
                    self._check_cell_lost(attempt, error, unresponsive)
                    attempt.undo()
                    record.tries += 1
                    instances = self._look_up(request, record)
                    continue
                except exception.NoValidHost:
                    placed = attempt.placed
                    if not attempt.claims.list_candidates():
                        raise
                    self.host_manager.state.forget(placed)
                    attempt = self._attempt(request, offer, record)
                    continue
                refused = attempt.claim()
                if refused:
                    self.host_manager.state.forget(refused)
            if attempt.claims.claiming:
                self.host_manager.state.claimed(attempt.placed,
                                                attempt.claims.writes)
            return attempt.selections()
        except BaseException:
            attempt.claims.release()
            self.host_manager.state.forget(attempt.placed)
            raise

    def _get_configuration_options(self):
        """Return the ``config_options`` of filters and weighers: dict."""
        return self._options.get_configuration()

    def _read_hosts(self, record, offer):
        """Refresh the host table, and the mirror's candidates."""
        with record.timed('state'), budget.not_charged():
            nodes = self.host_manager.refresh()
        # A third party's host manager may return None.
        if offer.nodes is not None and nodes not in (None, offer.nodes):
            offer.source.include(nodes, offer, record)

    def _look_up(self, request, record):
        """Return the hosts of instances that the decision depends on.

        It reads databases, so it runs before the decision lock is taken.
        Returns an Instances.
        """
        with record.timed('state'), budget.not_charged():
            instances = self.host_manager.instances(request.keys())
            with _without_database():
                self.host_manager.look_up(instances,
                                          request.named_instances())
        if self.ranker.needs_all_instances(request.spec_obj):
            with record.timed('instances'), _without_database():
                self.host_manager.list_all(instances)
        for name in self.ranker.instance_columns:
            with record.timed('instances'), _without_database():
                self.host_manager.list_each(instances, name)
        return instances

    def _attempt(self, request, offer, record, make=SchedulingAttempt):
        """Return a new SchedulingAttempt at a request."""
        return make(
            request, self.ranker, self._selector,
            Claims(offer, request.instance_uuids, record), record,
            self._default_zone)

    def _decide(self, attempt, instances, record):
        """Place instances and assume their hosts.

        Requests are decided one after the other, but a slow decision is
        overtaken.  If another request has then picked one of its hosts, or
        joined its server group, it is repeated once.  Other requests wait
        longer for the second decision, and it stands: compute nodes check the
        resources again.
        Raises the exceptions of SchedulingAttempt.place.
        """
        manager, request = self.host_manager, attempt.request
        assumes = manager.assumes(request)
        for is_last in (False, True):
            with contextlib.ExitStack() as stack:
                with record.timed('wait'):
                    stack.enter_context(manager.deciding_group(request))
                    hold = stack.enter_context(
                        manager.state.deciding(is_last))
                view, hosts = self._view(attempt, instances, record)
                placed = attempt.place(
                    hosts, manager.siblings(request), hold.slice_expired,
                    shows_picks=assumes, room=view.room)
                if not assumes or manager.state.assume(
                        view, placed, hosts, request.related(), is_last):
                    return
            attempt.undo()
            record.tries += 1

    def _view(self, attempt, instances, record):
        """Return the current hosts: a View and a HostSnapshot."""
        manager, request = self.host_manager, attempt.request
        instances.own = {*attempt.unplaced}
        view, hosts = self.hosts(
            instances, attempt.claims.candidates, record)
        # After the view, so that a pick assumed in between is a conflict.
        instances.start_over(manager.pending(instances, request))
        return view, hosts

    def _check_cell_lost(self, attempt, error, unresponsive):
        """Refresh the hosts if a cell stopped responding; else raise error.

        error: DatabaseUnavailable that ended an attempt.
        unresponsive: set of the cells that stopped responding during this
            request; updated.
        """
        lost = dict(self.host_manager.lost_cells())
        seen = () if attempt.hosts is None else attempt.hosts.cells.lost
        if lost.keys() <= dict(seen).keys() | unresponsive:
            raise error
        unresponsive |= lost.keys()
        LOG.info('Deciding again, without the hosts of a cell that stopped '
                 'responding: %s', error)
        self.host_manager.refresh()


@contextlib.contextmanager
def _without_database():
    """Continue a block's request when a database is unavailable.

    A rule that needs the data reads it again and raises the error.
    """
    try:
        yield
    except exception.DatabaseUnavailable as error:
        LOG.debug('Instances not looked up: %s', error)
