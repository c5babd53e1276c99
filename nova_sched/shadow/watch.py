"""Requests that are decided here, until the live decision shows.

Each is looked for again and again, less and less often, and compared as soon
as it is seen: the later, the more will have changed besides.
"""

import collections
import dataclasses
import time

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.hosts import decision
from nova_sched.shadow import changes
from nova_sched.shadow import compare
from nova_sched.shadow import report

LOG = logging.getLogger(__name__)

#: Seconds until a live decision is looked for again: at first, how much
#: longer each time, and at most.
_FIRST, _GROWTH, _MOST = 0.1, 1.5, 2.0

#: Requests that are waited for; the oldest are given up beyond.
_REQUESTS = 500

_FAULTS = (exception.PlacementError, exception.DatabaseUnavailable)


@dataclasses.dataclass(eq=False)
class Waiting:
    """A request that is decided here.

    record: its Decision.  uuids: of its instances.  before: uuid -> what the
    instance had, as of LivePicks.held.  table: HostTable it was decided on,
    or None.  candidates: reading.Candidates, or None.
    places: uuid -> (host, node), as far as the live picks are seen.
    early: those that were when it was first seen, or None before: they may
    have been there when it was decided here.
    ran: the hosts on which its instances showed by then.
    asked, began, due, ended: when it was about to be decided, was decided, is
    looked for next, and was told.
    """

    record: decision.Decision
    uuids: list
    before: dict
    table: object
    candidates: object
    asked: float
    began: float
    due: float
    ended: float | None = None
    pause: float = _FIRST
    places: dict = dataclasses.field(default_factory=dict)
    early: dict | None = None
    ran: set = dataclasses.field(default_factory=set)

    @property
    def left(self):
        """The instances whose live picks are not seen: list."""
        return [uuid for uuid in self.uuids if uuid not in self.places]


class Watch:
    """Waits for live decisions, and reports what they come to.

    conf: ConfigOpts.  decider: decide.Decider.  live: live.LivePicks.
    placement: reading.ReadOnly, or None.  told: report.Report.
    clock: function that gives seconds.
    """

    def __init__(self, conf, decider, live, placement, told,
                 clock=time.monotonic):
        self._decider, self._live = decider, live
        self._placement, self._told, self._clock = placement, told, clock
        self._changes = changes.Changes(
            decider, live, placement, conf.scheduler.max_placement_results)
        self._patience = conf.nova_sched.shadow_patience
        self._subset = max(1, conf.filter_scheduler.host_subset_size)
        self._waiting = collections.deque()
        self._failing = False

    def __len__(self):
        return len(self._waiting)

    def take(self, call):
        """Decide a tap.Call that asks for hosts, and wait for the other."""
        before, reason = self._before(call)
        asked = self._clock()
        candidates = self._placement and self._placement.collect()
        record = self._decider.decide(call)
        now = self._clock()
        one = Waiting(
            record, record.asked_uuids(), before, self._decider.table(),
            candidates, asked, now, now)
        record.pack()
        record.forget_request()
        record.forget_offer()
        LOG.debug('Request for %(uuids)s is decided here: %(outcome)s',
                  {'uuids': ', '.join(one.uuids), 'outcome': record.outcome})
        reason = reason or _unseen(record, one.uuids, call)
        if reason:
            self._tell(one, compare.Live(unseen=reason))
            return
        self._waiting.append(one)
        # It is told at once if the live decision shows already.
        self._look(one)
        if len(self._waiting) > _REQUESTS:
            self._tell(self._waiting[0], compare.Live(
                unseen='too many requests were waited for'))

    def look(self):
        """Look for the live decisions that are due."""
        now = self._clock()
        for one in [one for one in self._waiting if one.due <= now]:
            try:
                self._look(one)
            except Exception:
                # One fault must not keep all others from being compared.
                LOG.exception('What was decided about request %s cannot be '
                              'compared', one.record.request_id)
                self._forget(one)
            if self._failing:
                # Who did not answer for one would be waited for by all.
                return

    def _before(self, call):
        """What the instance of a call has, before anybody decides.

        A dict, and why it is not known, or None.  The instances of a call for
        several are new ones.
        """
        uuids = call.args.get('instance_uuids') or _own(call)
        if not isinstance(uuids, list) or len(uuids) != 1:
            return {}, None
        try:
            return {uuids[0]: self._live.held(uuids[0])}, None
        except _FAULTS as error:
            return {}, f'what the instance had before is not known: {error}'

    def _look(self, one):
        """See whether the live decision shows, which is told then."""
        now = self._clock()
        refused, problem = False, None
        try:
            one.places |= self._live.places(one.left, one.before)
            if one.early is None:
                early = dict(one.places)
                one.ran = self._live.running(early) if early else set()
                one.early = early
            refused = bool(one.left) and bool(
                self._live.refused(one.left[:1]))
        except _FAULTS as exc:
            problem = exc
        self._note(problem)
        if not one.left:
            self._tell(one, compare.Live(tuple(
                one.places[uuid] for uuid in one.uuids)))
        elif refused:
            # What some of the instances had was given back.
            one.places = {}
            self._tell(one, compare.Live())
        elif now - one.began >= self._patience:
            self._tell(one, _overdue(one, problem))
        else:
            one.due, one.pause = (now + one.pause,
                                  min(_MOST, one.pause * _GROWTH))

    def _note(self, problem):
        """Log that live decisions cannot be seen, once until they can."""
        if problem is not None and not self._failing:
            LOG.warning('What the live scheduler decides cannot be seen: %s',
                        problem)
        self._failing = problem is not None

    def _forget(self, one):
        if one in self._waiting:
            self._waiting.remove(one)

    def _tell(self, one, live):
        """Compare, report and forget a request."""
        self._forget(one)
        one.ended = self._clock()
        found = ([] if live.unseen
                 else self._changes.between(one, live.places, self._waiting))
        self._changes.seen(one, bool(live.unseen))
        self._told.add(report.entry(
            one.record, one.uuids, live,
            compare.compare(one.record, live, found, self._subset),
            one.ended - one.began))


def _own(call):
    """The instance that a request bears itself, as before Pike: list."""
    for name, *path in (('spec_obj', 'nova_object.data', 'instance_uuid'),
                        ('request_spec', 'instance_properties', 'uuid')):
        found = call.args.get(name)
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, str):
            return [found]
    return []


def _unseen(record, uuids, call):
    """Why the live decision about a call cannot be seen; None if it can."""
    if record.instances > len(uuids) or not uuids:
        return 'the caller does not name the instances'
    spec = call.args.get('spec_obj')
    data = spec.get('nova_object.data') if isinstance(spec, dict) else None
    hints = (data or {}).get('scheduler_hints') or {}
    if '_nova_check_type' in hints:
        return 'a rebuild stays where it is, and takes nothing'
    return None


def _overdue(one, problem):
    """What is to be made of a live decision that does not show."""
    if problem is not None:
        return compare.Live(unseen=str(problem))
    if one.places:
        return compare.Live(unseen=f'{len(one.places)} of {len(one.uuids)} '
                                   f'instances have a host')
    if any(one.before.values()):
        return compare.Live(unseen='the instance has nothing but what it had '
                                   'when its request was read')
    return compare.Live()
