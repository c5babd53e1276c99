"""The filter scheduler: filter the hosts, weigh what is left, pick the best.

``FilterScheduler.select_destinations`` is the story of a request:

1. Read the hosts, after the request arrived (``_read_hosts``).
2. Look up the instances that the request names (``_look_up``).
3. View the hosts: a private snapshot as of this moment (``_view``).
4. Attempt to place the instances on it (``attempt.SchedulingAttempt``), with
   claims where Placement offers hosts.  Those of several instances are made in
   one request; where Placement refuses that, 3 and 4 are repeated with claims
   one by one.
5. Commit: what is not claimed is in flight from then on, for all requests to
   see (``HostManager.commit``).  Where another request has meanwhile taken
   part of it, 3 to 5 are repeated (``_decide``); the last try stands anyway.
6. Answer with selections.
"""

import contextlib

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.plugins import loading as plugins
from nova_sched.rules import codes
from nova_sched.scheduler import driver
from nova_sched.scheduler import scheduler_options
from nova_sched.scheduler.attempt import HostSelector
from nova_sched.scheduler.attempt import SchedulingAttempt
from nova_sched.scheduler.attempt import SchedulingRequest
from nova_sched.scheduler.claims import Claims

LOG = logging.getLogger(__name__)

#: The try from which on nobody else in this process commits while a request is
#: decided, and the number of tries.  The last one stands whatever others have
#: taken meanwhile, as each one does in Nova: the computes claim as well.
TRIES, MOST_TRIES = 3, 10


class FilterScheduler(driver.HostScheduler):
    """A driver that decides on state which it reads after a request arrives.
    """

    ONE_PROCESS = False
    NOTIFIES = True
    #: Whether the instances of a request are claimed in one request to
    #: Placement, and those of server groups once other requests see where
    #: they go; one by one if that is refused.
    CLAIMS_AT_ONCE = True

    def __init__(self, conf):
        super().__init__(conf)
        self.ranker = plugins.load_ranker(conf)
        self._options = scheduler_options.SchedulerOptions(
            conf.scheduler_json_config_location)
        #: The driver that has taken over, at a reload of the configuration.
        self.successor = None
        self._selector = HostSelector.of(conf)
        if not (self.PERIODIC or self.ranker.reads_heartbeats):
            self.skip_heartbeats()

    def take_over(self, predecessor):
        if isinstance(predecessor, FilterScheduler):
            predecessor.successor = self
            try:
                self.host_manager.take_over(predecessor.host_manager)
            except BaseException:
                predecessor.successor = None
                raise

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False,
                            offer=PLACEMENT_NOT_USED, record=None):
        request = SchedulingRequest(
            spec_obj, instance_uuids, self.count(spec_obj, instance_uuids),
            self._max_attempts - 1 if return_alternates else 0,
            context, self._get_configuration_options())
        record = self.opened(record, context, request, offer)
        self._read_hosts(record)
        instances, silent = self._look_up(request, record), set()
        for number in range(1, MOST_TRIES + 1):
            try:
                answer = self._decide(request, instances, record, number)
            except exception.DatabaseUnavailable as error:
                self._check_cell_lost(record, error, silent)
                instances, answer = self._look_up(request, record), None
            if answer is not None:
                return answer
            if number < MOST_TRIES or self.successor is not None:
                record.restart()
            if self.successor is not None:
                return self.successor.select_destinations(
                    context, spec_obj, instance_uuids, return_alternates,
                    offer, record)
        record.refuse('overtaken', codes.RACED)
        raise exception.InvalidInput(reason=(
            f'the request was decided {MOST_TRIES} times, and hosts came or '
            'went meanwhile; ask for fewer instances at a time, or once more'))

    def _get_configuration_options(self):
        """Return what filters and weighers get as ``config_options``: dict."""
        return self._options.get_configuration()

    def _read_hosts(self, record):
        """Bring the hosts up to date."""
        with record.timed('state'), record.budget.not_spent():
            self.host_manager.refresh()

    def _look_up(self, request, record):
        """Read where the instances run that a decision depends on: Instances.

        Nobody waits for it: it is not part of the attempt.
        """
        with record.timed('state'), record.budget.not_spent():
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

    def _attempt(self, request, record, make=SchedulingAttempt):
        """Return a new SchedulingAttempt at a request."""
        return make(
            request, self.ranker, self._selector,
            Claims(record.offer, request.instance_uuids, record), record,
            self._default_zone)

    def _decide(self, request, instances, record, number):
        """View, attempt and commit; return the lists of Selection.

        number: the number of the try, from 1.
        Returns None if other requests have meanwhile taken what the attempt
        depends on, if the hosts are other ones, or if Placement refuses to
        have all claimed at once.
        Raises what SchedulingAttempt does; nothing stays claimed, or in
        flight, then.
        """
        attempt = self._attempt(request, record)
        if number == 1 and self.CLAIMS_AT_ONCE and (
                request.count > 1 or self._is_remembered(attempt)):
            attempt.claims.claim_later(request.count)
        try:
            while self._place_some(attempt, instances, record, number):
                if attempt.unplaced:
                    continue
                if attempt.claim():
                    return attempt.selections()
                break
            else:
                # Others are in the way of what was claimed one by one.
                attempt.claims.release()
        except BaseException:
            attempt.claims.release()
            self.take_back(attempt.placed)
            raise
        self.take_back(attempt.placed)
        return None

    def _is_remembered(self, attempt):
        """Return whether what an attempt places is in flight."""
        return self.host_manager.is_remembered(attempt.request,
                                               attempt.claims.claiming)

    def _place_some(self, attempt, instances, record, number):
        """Place instances and commit them; return whether both worked.

        Requests whose placements only this service remembers are decided one
        after the other; one with many instances lets the others go first now
        and then.  They see what it holds, as they see claims.
        """
        manager, request = self.host_manager, attempt.request
        remembered = self._is_remembered(attempt)
        with self._lock(attempt, record, number) as turn:
            view, hosts = self._view(attempt, instances, record)
            if hosts is None:
                return False
            # Placements of an earlier call for the same instances stay
            # unless all of them have new ones.
            pausable, before = remembered and not view.own, len(attempt.placed)
            for _ in attempt.place(hosts, manager.siblings(request)):
                if pausable and turn.is_over():
                    break
            return not remembered or manager.commit(
                view, hosts, attempt.placed[before:], request,
                anyway=number == MOST_TRIES)

    @contextlib.contextmanager
    def _lock(self, attempt, record, number):
        """Decide while no other request does: a context with a Turn.

        Attempts that claim need none: Placement serializes them.  Those of a
        server group do, for Placement knows of none.
        """
        if attempt.claims.claiming and not self._is_remembered(attempt):
            yield None
            return
        with contextlib.ExitStack() as stack:
            with record.timed('wait'):
                turn = stack.enter_context(self.host_manager.lock(
                    exclusive=max(0, number - TRIES + 1)))
            yield turn

    def _view(self, attempt, instances, record):
        """Return the hosts as of this moment: a View and a HostSnapshot.

        The snapshot stays the same for all of an attempt; None in its place
        if hosts have come or gone since the attempt began.
        """
        manager = self.host_manager
        if attempt.hosts is None:
            view, hosts = self.hosts(attempt.request, instances, record)
            # After the view: what is placed in between is a conflict then.
            instances.start_over(manager.pending(instances, attempt.request))
            return view, hosts
        view = manager.view(attempt.unplaced)
        if not view.table.has_rows_of(attempt.hosts.table):
            return view, None
        instances.catch_up(manager.pending(instances, attempt.request))
        attempt.go_on(manager.snapshot(
            view.table, instances, record.clock, record.offer))
        return view, attempt.hosts

    def _check_cell_lost(self, record, error, silent):
        """Read the hosts anew if a cell fell silent; else raise the error.

        error: DatabaseUnavailable that ended an attempt.
        silent: cells that did so in this request already; it is added to.
        """
        lost = dict(self.host_manager.lost_cells())
        # What is given back late must not be what is claimed anew.
        if record.claims or lost.keys() <= dict(record.lost).keys() | silent:
            raise error
        silent |= lost.keys()
        LOG.info('Deciding once more, without the hosts of a cell that fell '
                 'silent meanwhile: %s', error)
        self.host_manager.refresh()

    def take_back(self, placed):
        """Take placements, a list of InFlight, out of flight.

        Here, and where a driver has taken over from this one.
        """
        self.host_manager.take_back(placed)
        if self.successor is not None:
            self.successor.take_back(placed)


@contextlib.contextmanager
def _without_database():
    """Go on without what a database does not answer.

    It matters only if a rule asks for it, which then fails with the error.
    """
    try:
        yield
    except exception.DatabaseUnavailable as error:
        LOG.debug('Not looked up: %s', error)
