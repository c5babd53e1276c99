"""Decision records: the request, the hosts it was decided on, and the result.

A ``Decision`` is a log.  It is filled while a request is decided and closed
exactly once, and no step of the decision depends on it.  Error texts, log
lines, explanations and repeated decisions are based on it.  It has plain data
and references to immutable values.

Data that grow with the cloud or the request are in arrays.
"""

import array
import collections.abc
import contextlib
import dataclasses
import json
import time

import numpy as np

from nova_sched.hosts import budget
from nova_sched.hosts.allocation_candidates import AllocationCandidates

#: Results of a request.
OUTCOMES = PLACED, REFUSED, FAILED = 'placed', 'refused', 'failed'

#: Number of top hosts in recorded weights.
BEST = 10

#: Number of first instances of a request with recorded weights.
MOST_WEIGHED = 100
#: Approximate maximum number of weights in a record, 8 MB, if the weights of
#: all hosts are recorded.
MOST_WEIGHTS = 1 << 19

#: Estimated bytes of a small record, and for each host (columns that assumed
#: picks change), instance with weights, and allocation request.
_SMALL, _PER_HOST, _PER_WEIGHED, _PER_OFFER = 8 << 10, 64, 1 << 10, 1500
#: Characters of a uuid, and number of uuids kept of a huge request.
_UUID = 36
#: Maximum number of characters of a request id.
_REQUEST_ID = 255


@dataclasses.dataclass(frozen=True, slots=True)
class FilterStep:
    """One run of a filter for one instance: number of hosts before and after.
    """

    index: int
    name: str
    before: int
    after: int


@dataclasses.dataclass(frozen=True, slots=True)
class WeigherPart:
    """One weigher's part of a host's weight: multiplier * normalized."""

    name: str
    raw: float
    normalized: float
    multiplier: float

    @property
    def score(self):
        return self.multiplier * self.normalized


@dataclasses.dataclass(frozen=True, slots=True)
class Pick:
    """The host that was picked for an instance, and its weight.

    instance_uuid: None from old callers.
    """

    index: int
    instance_uuid: str | None
    host: str
    nodename: str
    weight: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """Placement's response to one claim.

    taken: whether it was granted; None without a response in time.
    """

    instance_uuid: str
    host: str
    nodename: str
    taken: bool | None


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """The codes of a refusal, see rules.codes.

    code, kind: of the whole refusal; None if unknown.
    codes: pairs of a code and the number of hosts rejected by it, most hosts
        first.
    """

    code: str | None = None
    kind: str | None = None
    codes: tuple = ()


#: The Refusal of a request that is not refused.
NOT_REFUSED = Refusal()


@dataclasses.dataclass(frozen=True)
class State:
    """The hosts that a request was decided on.

    table: HostTable; None before the hosts were read.
    clock: time of the decision, in seconds since the epoch.
    hosts: number of hosts before any step.
    in_flight: number of assumed instances that hosts do not report yet.
    reads: pairs of a cell uuid and the time of its read, in seconds since the
        epoch.
    lost: pairs of a cell and the error of its read, texts.
    names: columns ``host`` and ``nodename`` of the table.
    instances: hosts.instances.Instances, or None.
    """

    table: object = dataclasses.field(default=None, repr=False, compare=False)
    clock: float = 0.0
    hosts: int = 0
    in_flight: int = 0
    reads: tuple = ()
    lost: tuple = ()
    names: tuple = dataclasses.field(default=(), repr=False)
    instances: object = dataclasses.field(
        default=None, repr=False, compare=False)

    @classmethod
    def of(cls, table, in_flight, clock, instances=None):
        """Return the state of a HostTable.

        The other arguments are as the attributes.
        """
        columns, cells = table.columns, table.cells
        return cls(table, clock, table.size, in_flight, cells.reads,
                   cells.lost, (columns['host'], columns['nodename']),
                   instances)

    def host_of(self, row):
        """Return the (host, node) of a row."""
        return tuple(column.values[column.codes.item(row)]
                     for column in self.names)


@dataclasses.dataclass
class Weights:
    """The recorded weights for one instance.

    rows: int (n,), rows of the best hosts, or of all hosts, best first.
    weights: float64 (n,), their weights.
    parts: float64 (weighers, 3), raw value, normalized value and multiplier of
        the picked host; None if not recorded.
    best_parts: float64 (n, weighers, 3), the same for at most BEST hosts; None
        or empty if not recorded.
    """

    rows: np.ndarray
    weights: np.ndarray
    parts: np.ndarray | None
    best_parts: np.ndarray | None = None


@dataclasses.dataclass
class Weighing:
    """The recorded weights of a request.

    keeps_all: whether to record the weights of all hosts; otherwise of the
        BEST hosts and the picked host.
    weighers: names of the weighers that ran.
    kept: list of Weights, one for each of the first instances.
    is_over: whether to record no more weights, because a row may be another
        host than on an earlier view.
    """

    keeps_all: bool = False
    weighers: tuple = ()
    kept: list = dataclasses.field(default_factory=list)
    is_over: bool = dataclasses.field(default=False, compare=False)

    def hosts_to_keep(self, count, index=None):
        """Return the number of hosts to record weights of.

        count: number of weighed hosts.
        index: number of the instance; by default the next instance.
        """
        recorded = len(self.kept) if index is None else min(
            index, len(self.kept))
        if self.is_over:
            return 0
        if self.keeps_all and recorded * count < MOST_WEIGHTS:
            return count
        return BEST if recorded < MOST_WEIGHED else 0

    def parts(self, index):
        """Return the parts of a pick's weight: list of WeigherPart.

        Empty if they are not recorded.  index: number of the instance.
        """
        parts = self.kept[index].parts if index < len(self.kept) else None
        if parts is None or len(parts) != len(self.weighers):
            return []
        return [WeigherPart(name, *numbers) for name, numbers
                in zip(self.weighers, parts.tolist(), strict=True)]


@dataclasses.dataclass
class Funnel:
    """The numbers of hosts before and after each rule, and rejected rows."""

    _steps: array.array = dataclasses.field(
        default_factory=lambda: array.array('q'), repr=False)
    _rules: list = dataclasses.field(default_factory=list, repr=False)
    _rejected: dict = dataclasses.field(default_factory=dict, repr=False)
    # Indexes of the instances that are placed on the present view.
    _instances: list = dataclasses.field(
        default_factory=list, repr=False, compare=False)

    @property
    def steps(self):
        """Every filter run, in order: list of FilterStep."""
        return [FilterStep(index, self._rules[rule], before, after)
                for index, rule, before, after in self.numbers().tolist()]

    @property
    def rules(self):
        """Names of the rules that ran, in order of first appearance: tuple."""
        return tuple(self._rules)

    def numbers(self):
        """Return every filter run as numbers: int64 (n, 4).

        Columns are the fields of FilterStep, with the index in ``rules``
        instead of the name.
        """
        return np.array(self._steps, np.int64).reshape(-1, 4)

    def hosts_by_rule(self):
        """Return the numbers of hosts before and after: name -> [int, int].

        Sums over all instances.
        """
        counts = {name: [0, 0] for name in self._rules}
        for step in self.steps:
            counts[step.name][0] += step.before
            counts[step.name][1] += step.after
        return counts

    def begin_view(self, instances):
        """Record that instances are placed on a new view of the hosts.

        instances: list of their indexes in the request.  The argument
            ``index`` of ``step`` is a position in this list.
        Rejections on earlier views are dropped.
        """
        self._instances = instances
        self._rejected.clear()
        if self._steps:
            steps = self.numbers()
            earlier = steps[~np.isin(steps[:, 0], instances)]
            self._steps = array.array('q', earlier.ravel().tolist())
        if not self._steps:
            self._rules.clear()

    def instance_at(self, index):
        """Convert an instance's number on the view to that in the request."""
        return self._instances[index] if self._instances else index

    def step(self, index, rule, before, after, others=0):
        """Record one run of a rule.

        index: number of the instance on the view.
        rule: name of a filter, or of another step.
        before, after: int arrays of table rows.
        others: number of other rows that were not judged, and pass.
        """
        if rule not in self._rules:
            self._rules.append(rule)
        self._steps.extend((self.instance_at(index), self._rules.index(rule),
                            len(before) + others, len(after) + others))
        if len(after) < len(before):
            passes = np.zeros(before.max() + 1, dtype=np.bool_)
            passes[after] = True
            self._rejected.setdefault(rule, []).append(
                before[~passes[before]].astype(np.int32))

    def rejected(self):
        """Yield (name, rejected rows) of each rule, in order.

        Each row is rejected by one rule only, because later instances are not
        tried on rejected hosts.
        """
        for rule, parts in self._rejected.items():
            yield rule, np.concatenate(parts)


class Packed(collections.abc.Mapping):
    """The arguments of a call as one JSON text, parsed at each access.

    Python objects would need many times the memory, and slow down the garbage
    collector.
    """

    __slots__ = ('_bytes',)

    def __init__(self, arguments):
        self._bytes = json.dumps(arguments).encode()

    def __getitem__(self, name):
        return json.loads(self._bytes)[name]

    def __iter__(self):
        return iter(json.loads(self._bytes))

    def __len__(self):
        return len(json.loads(self._bytes))

    def __bytes__(self):
        return self._bytes

    @property
    def nbytes(self):
        """The size in bytes."""
        return len(self._bytes)


@dataclasses.dataclass
class Decision:
    """The record of one request.

    request_id: id of the call.  arrived: time, in seconds since the epoch.
    instance_uuid: uuid in the request's RequestSpec, or None.
    instances: number of instances.
    request: the unchanged arguments of the call: a mapping.
    sent_uuids: uuids of the instances, if the caller sends them: list; None
        before they are read.
    generation: of the configuration: 1 at the start, plus 1 at each reload.
    seed: seed of the random generator.  The same state, request, clock and
        seed give the same result.
    state: State that the request was decided on.
    offer: Placement's candidates: a value of hosts.allocation_candidates.
    claims: all claims, in order, also of earlier tries.
    siblings: (uuid, host) of each member of the request's server group that
        other requests have assumed.
    spec_obj: RequestSpec, edited by request filters, if Placement was queried.
    funnel: Funnel of the filters.  weighing: Weighing.
    picks: Pick of each instance with a host.
    alternates: number of alternates of all instances.
    selections: the result: a list of Selection for each instance.
    tries: number of decisions; more than one after a conflict with another
        request, or if a cell was lost.
    milliseconds: step name -> time taken.
    took: seconds from arrival to closing.
    outcome: PLACED, REFUSED or FAILED; None while the record is open.
    reason: the full reason of a refusal or failure; None if placed.
    refusal: Refusal.
    """

    request_id: str | None = None
    instance_uuid: str | None = None
    instances: int = 0
    seed: int = 0
    arrived: float = dataclasses.field(default_factory=time.time)
    request: collections.abc.Mapping = dataclasses.field(
        default_factory=dict)
    sent_uuids: list | None = dataclasses.field(
        default=None, repr=False, compare=False)
    generation: int = 0
    state: State = State()
    offer: object = None
    claims: list = dataclasses.field(default_factory=list)
    siblings: list = dataclasses.field(default_factory=list, repr=False)
    spec_obj: object = dataclasses.field(
        default=None, repr=False, compare=False)
    funnel: Funnel = dataclasses.field(default_factory=Funnel)
    weighing: Weighing = dataclasses.field(default_factory=Weighing)
    picks: list = dataclasses.field(default_factory=list)
    alternates: int = 0
    selections: list = dataclasses.field(default_factory=list, repr=False)
    tries: int = 1
    milliseconds: dict = dataclasses.field(default_factory=dict)
    took: float = dataclasses.field(default=0.0, compare=False)
    outcome: str | None = None
    reason: str | None = None
    refusal: Refusal = NOT_REFUSED

    @property
    def size(self):
        """The estimated size in bytes, without shared columns of the table."""
        request = getattr(self.request, 'nbytes', 0)
        # The mirror's allocation requests are created at access only.
        offered = getattr(self.offer, 'by_provider', None)
        listed = (sum(map(len, offered.values()))
                  if isinstance(offered, dict) else 0)
        return (_SMALL + _PER_WEIGHED * len(self.weighing.kept) + 2 * request
                + _PER_HOST * self.state.hosts + _PER_OFFER * listed)

    def picked(self, pick, weighers=(), weights=None):
        """Record a pick.

        weighers: names of the weighers that ran.
        weights: Weights to record, or None.
        """
        _put(self.picks, pick.index, pick)
        if weights is None:
            return
        # No weigher runs for a single host.
        self.weighing.weighers = weighers or self.weighing.weighers
        _put(self.weighing.kept, pick.index, weights)

    def unpicked(self, instances):
        """Remove the picks of instances, by index."""
        for index in instances:
            self.picks[index] = None
        while self.picks and self.picks[-1] is None:
            self.picks.pop()
        del self.weighing.kept[len(self.picks):]

    def instance_uuids(self):
        """Return the uuids of the instances that the caller sent: list."""
        if self.sent_uuids is None:
            uuids = self.request.get('instance_uuids')
            self.sent_uuids = [
                uuid for uuid in (uuids if isinstance(uuids, list) else ())
                if isinstance(uuid, str)]
        if self.sent_uuids or self.instance_uuid is None:
            return self.sent_uuids
        return [self.instance_uuid]

    def restart(self):
        """Remove everything that was decided, before another decision."""
        self.tries += 1
        self.picks.clear()
        self.siblings.clear()
        self.funnel = Funnel()
        self.weighing = Weighing(self.weighing.keeps_all)
        self.alternates, self.refusal = 0, NOT_REFUSED
        self.reason = None

    def refuse(self, code, kind=None, codes=()):
        """Record the Refusal, unless one is recorded already.

        Arguments are the attributes of Refusal.
        """
        if self.refusal.code is None:
            self.refusal = Refusal(code, kind, tuple(codes))

    def note_state(self, state):
        """Record the State that the request is decided on."""
        if self.weighing.kept and not state.table.has_rows_of(
                self.state.table):
            self.weighing.kept.clear()
            self.weighing.is_over = True
        self.state = state

    def close(self, outcome, reason=None):
        """Record the outcome, unless one is recorded already."""
        if self.outcome is None:
            self.picks = [*filter(None, self.picks)]
            self.outcome, self.took = outcome, time.time() - self.arrived
            self.reason = None if reason is None else str(reason)
            if outcome == PLACED:
                # An earlier attempt of the driver may have recorded one.
                self.refusal = NOT_REFUSED

    def pack(self):
        """Convert the request to JSON; return it as ASCII bytes.

        Returns None for a request of a caller in this process, which has
        objects instead of plain JSON; it is not converted.
        """
        # Before packing: reading them later would parse the whole request.
        self.instance_uuids()
        # The sender may have sent a value of any type and length.
        self.request_id = (self.request_id[:_REQUEST_ID] if isinstance(
            self.request_id, str) else None)
        try:
            if not isinstance(self.request, Packed):
                self.request = Packed(self.request)
        except (TypeError, ValueError, RecursionError):
            return None
        return bytes(self.request)

    def forget_request(self):
        """Drop the call's arguments, except some uuids of instances."""
        self.sent_uuids = [uuid[:_UUID]
                           for uuid in self.instance_uuids()[:_UUID]]
        self.request = Packed({'instance_uuids': self.sent_uuids})
        self.instance_uuid = self.instance_uuid and self.instance_uuid[:_UUID]

    def bound_request(self, most_bytes):
        """Drop the packed arguments of a call with more bytes."""
        if getattr(self.request, 'nbytes', 0) > most_bytes:
            self.request, self.spec_obj = Packed(None), None

    def forget_state(self):
        """Drop the data that the request was decided on.

        Whether there were candidates remains.
        """
        self.state = dataclasses.replace(self.state, table=None,
                                         instances=None)
        self.spec_obj = None
        if isinstance(self.offer, AllocationCandidates):
            self.offer = None

    def spent(self, name, seconds):
        """Add seconds to the time of a step."""
        self.milliseconds[name] = round(
            self.milliseconds.get(name, 0.0) + seconds * 1000, 3)

    @contextlib.contextmanager
    def timed(self, name):
        """Measure the time of a block as a step.

        At the end of the block, raises InvalidInput if the request has spent
        its budget.
        """
        start = time.perf_counter()
        try:
            yield
        finally:
            self.spent(name, time.perf_counter() - start)
        budget.check(name)


def _put(items, index, item):
    """Set an item of a list by index, or append it."""
    if index < len(items):
        items[index] = item
    else:
        items.append(item)
