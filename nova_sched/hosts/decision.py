"""The record of one request: what was asked, on which state, and what came.

A ``Decision`` is a log: it is filled while a request is decided and closed
exactly once, and no step of the decision depends on it.  The error text, the
log line and whatever explains or repeats a choice are made from it.  It holds
plain data, and references to values that nobody changes.

What grows with the cloud or the request is kept in arrays.
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

#: How a request may end.
OUTCOMES = PLACED, REFUSED, FAILED = 'placed', 'refused', 'failed'

#: Hosts whose weights are kept for good, best first.
BEST = 10

#: Instances of a request of which weights are kept: the first ones.
MOST_WEIGHED = 100
#: Weights of one record where those of all hosts are kept, about: 8 MB.
MOST_WEIGHTS = 1 << 19

#: Bytes of a small record, for each host, for each instance's weights, and
#: for each request that Placement has listed: in flight, a placement changes
#: some columns of the table.
_SMALL, _PER_HOST, _PER_WEIGHED, _PER_OFFER = 8 << 10, 64, 1 << 10, 1500
#: Characters of a uuid, and about as many as are kept of a huge request.
_UUID = 36
#: Characters of a request id that are kept.
_REQUEST_ID = 255


@dataclasses.dataclass(frozen=True, slots=True)
class FilterStep:
    """One filter run: hosts before and after, for one instance."""

    index: int
    name: str
    before: int
    after: int


@dataclasses.dataclass(frozen=True, slots=True)
class WeigherPart:
    """What one weigher gave a host: multiplier * normalized."""

    name: str
    raw: float
    normalized: float
    multiplier: float

    @property
    def score(self):
        return self.multiplier * self.normalized


@dataclasses.dataclass(frozen=True, slots=True)
class Pick:
    """One instance's host and its weight.

    instance_uuid: None from callers that send none.
    """

    index: int
    instance_uuid: str | None
    host: str
    nodename: str
    weight: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """What Placement said to one claim.

    taken: None if it did not say in time.
    """

    instance_uuid: str
    host: str
    nodename: str
    taken: bool | None


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing was placed, as codes.

    code, kind: of rules.codes; the kind is None where it is not known.
    codes: (code, hosts that are out by it), most hosts first.
    """

    code: str | None = None
    kind: str | None = None
    codes: tuple = ()


#: Of a request that is not refused.
NOT_REFUSED = Refusal()


@dataclasses.dataclass(frozen=True)
class State:
    """The hosts that a request was decided on.

    table: HostTable; None before there was one.
    clock: the time of the decision, seconds since the epoch.
    hosts: how many there were to begin with.
    in_flight: how many instances counted that no host reported yet.
    reads: (cell uuid, when its state was read, in seconds since the epoch).
    lost: (cell, why it could not be read), texts.
    names: columns ``host`` and ``nodename`` of the table that rows are of.
    instances: hosts.instances.Instances of where they run, or None.
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
        """Return (host, node) that a row is of."""
        return tuple(column.values[column.codes.item(row)]
                     for column in self.names)


@dataclasses.dataclass
class Weights:
    """What was weighed for one instance: the best hosts, and the picked one.

    rows: int (n,), of the best hosts, or of all, best first.
    weights: float64 (n,), beside it.
    parts: float64 (weighers, 3): raw, normalized and multiplier of the picked
        host; None when it is not kept.
    best_parts: float64 (n, weighers, 3), the same of the BEST hosts at most;
        None, or none of them, when it is not kept.
    """

    rows: np.ndarray
    weights: np.ndarray
    parts: np.ndarray | None
    best_parts: np.ndarray | None = None


@dataclasses.dataclass
class Weighing:
    """The weights that a record keeps.

    keeps_all: whether what all hosts weigh is kept, for each instance; else
        the BEST ones and the picked one.
    weighers: names of those that ran.
    kept: Weights, one an instance, as far as they are kept.
    is_over: whether no more are kept: rows of earlier views may be of other
        hosts.
    """

    keeps_all: bool = False
    weighers: tuple = ()
    kept: list = dataclasses.field(default_factory=list)
    is_over: bool = dataclasses.field(default=False, compare=False)

    def hosts_to_keep(self, count, index=None):
        """Return of how many of ``count`` weighed hosts the weights are kept.

        index: of the instance; by default the next one.
        """
        kept = len(self.kept) if index is None else min(
            index, len(self.kept))
        if self.is_over:
            return 0
        if self.keeps_all and kept * count < MOST_WEIGHTS:
            return count
        return BEST if kept < MOST_WEIGHED else 0

    def parts(self, index):
        """Return what the weight of an instance's host is made of: list.

        Of WeigherPart; empty when it is not kept.
        """
        kept = self.kept[index].parts if index < len(self.kept) else None
        if kept is None or len(kept) != len(self.weighers):
            return []
        return [WeigherPart(name, *numbers) for name, numbers
                in zip(self.weighers, kept.tolist(), strict=True)]


@dataclasses.dataclass
class Funnel:
    """How many hosts each rule saw and left, and which it rejected."""

    _steps: array.array = dataclasses.field(
        default_factory=lambda: array.array('q'), repr=False)
    _rules: list = dataclasses.field(default_factory=list, repr=False)
    _rejected: dict = dataclasses.field(default_factory=dict, repr=False)
    # The indexes of the instances that are decided on the present view.
    _instances: list = dataclasses.field(
        default_factory=list, repr=False, compare=False)

    @property
    def steps(self):
        """Every filter run, in order: list of FilterStep."""
        return [FilterStep(index, self._rules[rule], before, after)
                for index, rule, before, after in self.numbers().tolist()]

    @property
    def rules(self):
        """Names of the rules that ran, in the order met: tuple."""
        return tuple(self._rules)

    def numbers(self):
        """Return every filter run as numbers: int64 (n, 4).

        As FilterStep, but for the place in ``rules`` instead of the name.
        """
        return np.array(self._steps, np.int64).reshape(-1, 4)

    def hosts_by_rule(self):
        """Return how many hosts each rule saw and left: name -> [int, int].

        Summed over the instances.
        """
        found = {name: [0, 0] for name in self._rules}
        for step in self.steps:
            found[step.name][0] += step.before
            found[step.name][1] += step.after
        return found

    def begin_view(self, instances):
        """Begin to decide instances on a view of the hosts.

        instances: their indexes, list; ``step`` counts within it.
        Hosts that earlier views rejected count as rejected no more.
        """
        self._instances = instances
        self._rejected.clear()
        if self._steps:
            steps = self.numbers()
            kept = steps[~np.isin(steps[:, 0], instances)]
            self._steps = array.array('q', kept.ravel().tolist())
        if not self._steps:
            self._rules.clear()

    def instance_at(self, index):
        """Return which instance of the request one of the view is."""
        return self._instances[index] if self._instances else index

    def step(self, index, rule, before, after, others=0):
        """Record that a rule left ``after`` of the rows in ``before``.

        index: of the instance, as in ``begin_view``.
        rule: name of a filter, or of a step that is none.
        before, after: int arrays of table rows.
        others: how many rows it left besides.
        """
        if rule not in self._rules:
            self._rules.append(rule)
        self._steps.extend((self.instance_at(index), self._rules.index(rule),
                            len(before) + others, len(after) + others))
        if len(after) < len(before):
            left = np.zeros(before.max() + 1, dtype=np.bool_)
            left[after] = True
            self._rejected.setdefault(rule, []).append(
                before[~left[before]].astype(np.int32))

    def rejected(self):
        """Yield (name, rejected rows) per rule, in the order met.

        A host rejected for one instance stays out for the later ones, so each
        row stands at one rule only and the counts add up.
        """
        for rule, parts in self._rejected.items():
            yield rule, np.concatenate(parts)


class Packed(collections.abc.Mapping):
    """The arguments of a call in one piece, unpacked whenever they are read.

    As plain objects they would take many times the memory, and make each of
    the garbage collector's rounds longer.
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
        """How many bytes they take."""
        return len(self._bytes)


@dataclasses.dataclass
class Decision:
    """The record of one request.

    request_id: of the caller.  arrived: seconds since the epoch.
    instance_uuid: that the request itself bears, or None.
    instances: how many are wanted.
    request: the arguments of the call as they came: a mapping.
    asked: uuids of its instances, as far as the caller names them: list;
        None before they were looked for.
    generation: of the configuration: 1 at the start, one more each reload.
    seed: what the request's random generator was seeded with; the same state,
        request, clock and seed give the same answer.
    state: State that it was decided on.
    offer: what Placement offered: a value of hosts.allocation_candidates.
    claims: in order, those of earlier tries as well.
    siblings: (uuid, host) of each member of the request's server group that
        others have in flight.
    spec_obj: RequestSpec as request filters left it, where Placement was
        asked; else that of the call counts.
    funnel: Funnel of the filters.  weighing: Weighing.
    picks: one an instance that got a host.  alternates: how many in all.
    selections: what is answered: a list of Selection an instance.
    tries: how often it was decided; more than once when another request took
        meanwhile what this one had chosen, or a cell was lost.
    milliseconds: step name -> time taken.
    took: seconds from the arrival until it was closed.
    outcome: PLACED, REFUSED or FAILED; None while it is open.
    reason: why nothing was placed, in full; None for what was.
    refusal: Refusal.
    """

    request_id: str | None = None
    instance_uuid: str | None = None
    instances: int = 0
    seed: int = 0
    arrived: float = dataclasses.field(default_factory=time.time)
    request: collections.abc.Mapping = dataclasses.field(
        default_factory=dict)
    asked: list | None = dataclasses.field(default=None, repr=False,
                                           compare=False)
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
        """About how many bytes it takes, of the table what is its own."""
        request = getattr(self.request, 'nbytes', 0)
        # What a copy of Placement has is made when somebody asks.
        offered = getattr(self.offer, 'by_provider', None)
        listed = (sum(map(len, offered.values()))
                  if isinstance(offered, dict) else 0)
        return (_SMALL + _PER_WEIGHED * len(self.weighing.kept) + 2 * request
                + _PER_HOST * self.state.hosts + _PER_OFFER * listed)

    def picked(self, pick, weighers=(), weights=None):
        """Record an instance's host.

        weighers: names of those that ran, and weights: Weights; if hosts were
            weighed, and these are to be kept.
        """
        _put(self.picks, pick.index, pick)
        if weights is None:
            return
        # A last host that is left is not weighed.
        self.weighing.weighers = weighers or self.weighing.weighers
        _put(self.weighing.kept, pick.index, weights)

    def unpicked(self, instances):
        """Record that instances, by index, have lost their hosts again."""
        for index in instances:
            self.picks[index] = None
        while self.picks and self.picks[-1] is None:
            self.picks.pop()
        del self.weighing.kept[len(self.picks):]

    def asked_uuids(self):
        """Return the uuids of the instances, as far as the caller told: list.
        """
        if self.asked is None:
            uuids = self.request.get('instance_uuids')
            self.asked = ([uuid for uuid in uuids if isinstance(uuid, str)]
                          if isinstance(uuids, list) else [])
        if self.asked or self.instance_uuid is None:
            return self.asked
        return [self.instance_uuid]

    def restart(self):
        """Forget what was decided so far, to decide once more."""
        self.tries += 1
        self.picks.clear()
        self.siblings.clear()
        self.funnel = Funnel()
        self.weighing = Weighing(self.weighing.keeps_all)
        self.alternates, self.refusal = 0, NOT_REFUSED
        self.reason = None

    def refuse(self, code, kind=None, codes=()):
        """Note by which code a request is refused; what was noted first stays.

        The arguments are as the attributes of Refusal.
        """
        if self.refusal.code is None:
            self.refusal = Refusal(code, kind, tuple(codes))

    def note_state(self, state):
        """Note the State that it is decided on."""
        if self.weighing.kept and not state.table.has_rows_of(
                self.state.table):
            self.weighing.kept.clear()
            self.weighing.is_over = True
        self.state = state

    def close(self, outcome, reason=None):
        """Note how the request ended; what was noted first stays."""
        if self.outcome is None:
            self.picks = [*filter(None, self.picks)]
            self.outcome, self.took = outcome, time.time() - self.arrived
            self.reason = None if reason is None else str(reason)
            if outcome == PLACED:
                # Of an attempt that a driver has made before.
                self.refusal = NOT_REFUSED

    def pack(self):
        """Keep the request in one piece; return it as JSON, ASCII bytes.

        A request with objects instead of plain JSON, from a caller in this
        process, stays as it is; None then.
        """
        # In one piece, it is all read to find them.
        self.asked_uuids()
        # Whatever its sender has in this place.
        self.request_id = (self.request_id[:_REQUEST_ID] if isinstance(
            self.request_id, str) else None)
        try:
            if not isinstance(self.request, Packed):
                self.request = Packed(self.request)
        except (TypeError, ValueError, RecursionError):
            return None
        return bytes(self.request)

    def forget_request(self):
        """Keep of the call only whose instances it was about."""
        self.asked = [uuid[:_UUID] for uuid in self.asked_uuids()[:_UUID]]
        self.request = Packed({'instance_uuids': self.asked})
        self.instance_uuid = self.instance_uuid and self.instance_uuid[:_UUID]

    def bound_request(self, most_bytes):
        """Keep nothing of a call of more bytes, once it is packed."""
        if getattr(self.request, 'nbytes', 0) > most_bytes:
            self.request, self.spec_obj = Packed(None), None

    def forget_state(self):
        """Keep nothing of what was decided on, but whether hosts were offered.
        """
        self.state = dataclasses.replace(self.state, table=None,
                                         instances=None)
        self.spec_obj = None
        if isinstance(self.offer, AllocationCandidates):
            self.offer = None

    def spent(self, name, seconds):
        """Add a time under ``name``."""
        self.milliseconds[name] = round(
            self.milliseconds.get(name, 0.0) + seconds * 1000, 3)

    @contextlib.contextmanager
    def timed(self, name):
        """Add a block's time under ``name``.

        Raises InvalidInput if the request has spent its budget at its end.
        """
        start = time.perf_counter()
        try:
            yield
        finally:
            self.spent(name, time.perf_counter() - start)
        budget.check(name)


def _put(items, index, item):
    """Put an item into a list, at its end or in place of an earlier one."""
    if index < len(items):
        items[index] = item
    else:
        items.append(item)
