"""Requests that are decided here, and wait for their live decisions.

The watcher looks for each live decision at growing intervals, and compares as
soon as it shows, because the state changes in the meantime.
"""

import dataclasses
import time

from oslo_log import log as logging

from nova_sched import context
from nova_sched import exception
from nova_sched import rpc
from nova_sched.dry_run.shadow import changes
from nova_sched.dry_run.shadow import compare
from nova_sched.dry_run.shadow import report
from nova_sched.hosts import decision
from nova_sched.observe import logs

LOG = logging.getLogger(__name__)

#: Seconds between two looks for a live decision: the first pause, the factor
#: by which it grows, and the longest one.
_FIRST_PAUSE, _GROWTH, _MAX_PAUSE = 0.1, 1.5, 2.0

#: Maximum number of pending requests. The oldest is reported as not seen when
#: there are more.
_MAX_PENDING = 500

_UNAVAILABLE = (exception.PlacementError, exception.DatabaseUnavailable)


@dataclasses.dataclass(eq=False)
class PendingRequest:
    """A request that is decided here and waits for its live decision.

    record: its Decision.  uuids: of its instances.
    held_before: uuid -> allocations before the request, see LivePicks.held.
    table: HostTable of the decision, or None.
    listing: read_only_placement.Listing; None where Placement is not used.
    started_at, decided_at: seconds, start and end of the decision here.
    due_at: seconds, time of the next check.
    decided_by: latest time of its live decision; None while it is pending.
    pause: seconds from the next check to the one after it.
    places: uuid -> (host, node), the live picks seen so far.
    seen_before: the live picks seen at the first check, which may be older
        than the decision here; None until then.
    ran_on: hosts of its instances at the first check.
    """

    record: decision.Decision
    uuids: list
    held_before: dict
    table: object
    listing: object
    started_at: float
    decided_at: float
    due_at: float
    decided_by: float | None = None
    pause: float = _FIRST_PAUSE
    places: dict = dataclasses.field(default_factory=dict)
    seen_before: dict | None = None
    ran_on: set = dataclasses.field(default_factory=set)

    @property
    def unplaced(self):
        """The instances without a live pick so far: list."""
        return [uuid for uuid in self.uuids if uuid not in self.places]

    @property
    def request_id(self):
        """The id of the request, for texts."""
        return logs.field(self.record.request_id)

    @property
    def may_be_hidden(self):
        """Whether it may have held hosts that are not in ``places``.

        True for several instances that do not all show; none shows if the
        caller does not name them.
        """
        several = max(self.record.instances, len(self.uuids)) > 1
        return several and bool(self.unplaced or not self.uuids)

    def undecided_at(self, time):
        """Return whether its live decision may be later than a time."""
        return self.decided_by is None or self.decided_by > time

    def instances_on(self, host):
        """Return the uuids of its instances on a host: set."""
        return {uuid for uuid, place in self.places.items()
                if place[0] == host}

    def forget_state(self):
        """Drop the state that the decision was made on."""
        self.table = self.listing = None
        self.record = decision.Decision(
            request_id=self.record.request_id,
            instances=self.record.instances)


class LiveDecisionWatcher:
    """Decides requests, waits for the live decisions, and reports both.

    conf: ConfigOpts.  decider: dry_run.decider.Decider.
    live_picks: live_picks.LivePicks.
    reporter: report.Report.  clock: function that returns seconds.
    """

    def __init__(self, conf, decider, live_picks, reporter,
                 clock=time.monotonic):
        self._decider, self._live_picks = decider, live_picks
        self._report, self._clock = reporter, clock
        self._changes = changes.ChangeFinder(
            decider, live_picks, conf.scheduler.max_placement_results)
        self._patience = conf.rpc_response_timeout
        self._subset_size = max(1, conf.filter_scheduler.host_subset_size)
        # Oldest first: a dict without values.
        self._pending, self._failing = {}, False

    def __len__(self):
        """Return the number of pending requests."""
        return len(self._pending)

    def add(self, call):
        """Decide a tap.Call, and wait for the live decision on it."""
        held_before, unseen = self._held_before(call)
        started_at = self._clock()
        dry_run = self._decide(call)
        record, now = dry_run.record, self._clock()
        request = PendingRequest(
            record, record.instance_uuids(), held_before, dry_run.table,
            self._decider.listing, started_at, now, now)
        unseen = unseen or _reason_unseen(dry_run, request.uuids)
        record.pack()
        record.forget_request()
        record.forget_state()
        if request.listing is not None:
            request.listing.pack()
        LOG.debug('Request for %s is decided here: %s',
                  ', '.join(request.uuids), record.outcome)
        if unseen:
            self._finish(request, compare.LiveDecision(unseen=unseen))
            return
        self._pending[request] = None
        # The live decision may show already.
        self._check(request)
        if len(self._pending) > _MAX_PENDING:
            self._finish(next(iter(self._pending)), compare.LiveDecision(
                unseen='too many requests were waited for'))

    def _decide(self, call):
        """Decide a tap.Call of select_destinations: DryRun."""
        caller = rpc.ContextSerializer().deserialize_context(call.context)
        dry_run = self._decider.decide(caller, call.args)
        request_id = dry_run.record.request_id
        if dry_run.error is not None and not dry_run.is_expected:
            LOG.error('Request %s cannot be decided here: %r', request_id,
                      dry_run.error, exc_info=dry_run.error)
        # Replaces the caller's context, and its token, in this thread.
        context.RequestContext(request_id=request_id)
        return dry_run

    def poll(self):
        """Look for the live decisions that are due."""
        now = self._clock()
        for request in [request for request in self._pending
                        if request.due_at <= now]:
            try:
                self._check(request)
            except Exception:
                # A fault must not affect the comparison of other requests.
                LOG.exception('Cannot compare the decisions on request %s',
                              request.record.request_id)
                self._pending.pop(request, None)
            if self._failing:
                # Each of the other requests would wait for a time-out too.
                return

    def _held_before(self, call):
        """Return the allocations of a call's instance before any decision.

        Returns PendingRequest.held_before, and None or the reason why it is
        not known. Several instances in one call are always new.
        """
        uuids = call.args.get('instance_uuids') or _uuid_in_request(call)
        if not isinstance(uuids, list) or len(uuids) != 1:
            return {}, None
        try:
            return {uuids[0]: self._live_picks.held(uuids[0])}, None
        except _UNAVAILABLE as error:
            return {}, ('the allocations of the instance before are not '
                        f'known: {error}')

    def _check(self, request):
        """Report a request if its live decision shows, or is overdue."""
        now = self._clock()
        refused, problem = False, None
        try:
            request.places |= self._live_picks.find_places(
                request.unplaced, request.held_before)
            if request.seen_before is None:
                seen = dict(request.places)
                request.ran_on = (self._live_picks.hosts_of(seen) if seen
                                  else set())
                request.seen_before = seen
            refused = bool(request.unplaced) and bool(
                self._live_picks.find_refused(request.unplaced[:1]))
        except _UNAVAILABLE as exc:
            problem = exc
        if problem is not None and not self._failing:
            # Logged at the beginning of an outage only.
            LOG.warning('Cannot read the decisions of the live scheduler: %s',
                        problem)
        self._failing = problem is not None
        if not request.unplaced:
            self._finish(request, compare.LiveDecision(tuple(
                request.places[uuid] for uuid in request.uuids)))
        elif refused:
            # The live scheduler has released the claims of the request's
            # other instances.
            request.places = {}
            self._finish(request, compare.LiveDecision())
        elif now - request.decided_at >= self._patience:
            self._finish(request, _overdue_decision(request, problem))
        else:
            request.due_at = now + request.pause
            request.pause = min(_MAX_PAUSE, request.pause * _GROWTH)

    def _finish(self, request, live):
        """Compare a request with a LiveDecision, report and remove it."""
        self._pending.pop(request, None)
        request.decided_by = self._clock()
        changed = ([] if live.unseen else self._changes.find(
            request, live.places, self._pending))
        entry = report.make_entry(
            request.record, request.uuids, live,
            compare.compare(request.record, live, changed,
                            self._subset_size),
            request.decided_by - request.decided_at,
            request.listing and request.listing.mirror)
        self._changes.remember(request, bool(live.unseen))
        self._report.add(entry)


def _uuid_in_request(call):
    """Return the instance in the request of a caller before Pike: list."""
    for name, *path in (('spec_obj', 'nova_object.data', 'instance_uuid'),
                        ('request_spec', 'instance_properties', 'uuid')):
        value = call.args.get(name)
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str):
            return [value]
    return []


def _reason_unseen(dry_run, uuids):
    """Return why the live decision on a call never shows; None if it does."""
    if dry_run.record.instances > len(uuids) or not uuids:
        return 'the caller does not name the instances'
    if dry_run.spec_obj is not None and dry_run.spec_obj.is_rebuild:
        return 'a rebuild stays on its host, and claims nothing'
    return None


def _overdue_decision(request, problem):
    """Return the LiveDecision of a request that has waited long enough."""
    if problem is None and request.record.outcome == decision.REFUSED and (
            not request.places and not any(request.held_before.values())):
        return compare.LiveDecision()
    if problem is not None:
        unseen = str(problem)
    elif request.places:
        unseen = (f'{len(request.places)} of {len(request.uuids)} instances '
                  'have a host')
    elif any(request.held_before.values()):
        unseen = ('the instance has only the allocations from before its '
                  'request was read')
    else:
        # "request call", for example, releases its claims at once.
        unseen = ('the instance shows neither on a host nor in cell0: its '
                  'claim was released, it was deleted, or the request was '
                  'not decided')
    return compare.LiveDecision(unseen=unseen)
