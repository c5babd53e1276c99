"""Weighing hosts: which of the hosts that can take an instance is best.

``WeightHandler.weigh``, for one instance of a request:

1. One host or none: no weigher runs, the weight is 0.0.
2. Each weigher, in order, gives every host a raw value; values beyond its
   fixed bounds are clamped to them.
3. ``normalize`` scales the raw values to 0..1 over the hosts of this request.
4. weight = sum over weighers of multiplier * normalized value.
5. Hosts are sorted by weight, best first; equal weights keep table order.
"""

import contextlib
import dataclasses
import functools
import inspect
import math
import typing

import numpy as np
from oslo_log import log as logging

from nova_sched.hosts import budget
from nova_sched.rules import loadables

LOG = logging.getLogger(__name__)

#: Hosts that a line at DEBUG names: the best ones.
NAMED = 10
#: Of how many hosts it is known without sorting all which are the best.
HEAD = 32


def normalize(weights, minval=None, maxval=None):
    """Scale one weigher's raw weights to 0..1, so that multipliers compare.

    weights: numbers (n,), any one unit; larger is better.
    minval, maxval: bounds in that unit; None means the column's own.
    Returns a new float64 (n,); all 0.0 when the bounds are equal or n is 0.
    """
    raw = np.array(weights, dtype=np.float64)
    if not raw.size:
        return raw
    with unbounded():
        return _scaled(raw, _Scale.of(raw.min().item(), raw.max().item(),
                                      minval, maxval))


def numbers(values, name, host_at):
    """Return the raw values of a weigher: float64 (n,).

    values: of somebody else's weigher.  name: of it.
    host_at: function that returns the host of a place among them.
    Raises ValueError if one is None or NaN, of which no order can be made.
    """
    found = np.asarray(values, dtype=np.float64)
    missing = np.flatnonzero(np.isnan(found))
    if len(missing):
        raise ValueError(
            f'{name} gives {len(missing)} of {found.size} hosts None or NaN '
            'as their weight, which must be a number; the first one is '
            f'{host_at(missing.item(0))!r}')
    return found


class _Scale(typing.NamedTuple):
    """What a weigher's raw weights are scaled from to 0..1.

    least, greatest: of the raw weights.  low, high: the ends of the scale.
    """

    least: float
    greatest: float
    low: float
    high: float

    @classmethod
    def of(cls, least, greatest, minval, maxval):
        """Return the scale of raw weights between two numbers.

        minval, maxval: fixed ends of it, or None.
        """
        return cls(least, greatest, least if minval is None else minval,
                   greatest if maxval is None else maxval)

    @property
    def varies(self):
        """Whether there is something to scale; else all are 0.0."""
        return self.low != self.high

    def is_within(self, values):
        """Return whether values may come or go without moving the ends."""
        return all(self.least < value < self.greatest for value in values)


def _scaled(raw, scale):
    """Return a raw weight, or as float64 (n,), on a scale of 0..1."""
    if not scale.varies:
        return np.zeros(np.shape(raw))
    return (raw - scale.low) / (scale.high - scale.low)


def unbounded():
    """Let values be inf or nan in a block, as aggregates may say.

    Hosts without a weight go last.
    """
    return np.errstate(invalid='ignore', over='ignore', divide='ignore')


def _is_finite(multiplier):
    """Return whether it is a number that makes nothing of 0.0 but 0.0."""
    return isinstance(multiplier, float) and math.isfinite(multiplier)


@dataclasses.dataclass
class WeighedObject:
    """A host and its weight, as row-wise weighers are given it."""

    obj: object
    weight: float

    def __repr__(self):
        return f'WeighedHost [host: {self.obj!r}, weight: {self.weight}]'

    def to_dict(self):
        return {'weight': self.weight, 'host': self.obj.host}


class BaseWeigher:
    """Base class of all weighers.

    Weighers are created once, without arguments, and shared by all requests
    and threads: they must keep nothing of a request.
    """

    #: Fixed ends of the range that raw values are scaled from.
    minval = None
    maxval = None

    #: What the raw values depend on, see rules.rule_inputs; None for anything.
    inputs = None

    def configure(self, conf):
        """Take what the weigher needs from the configuration, once."""

    def inputs_for(self, spec_obj):
        """Return what the raw values for a request depend on: as ``inputs``.
        """
        return self.inputs

    def weight_multiplier(self, host_state):
        """Return how much this weigher counts for a host."""
        return 1.0

    def _weigh_object(self, obj, weight_properties):
        """Return the raw value of one host; higher is better."""
        raise NotImplementedError(
            f'{type(self).__name__} has no _weigh_object method')

    def weigh_objects(self, weighed_obj_list, weight_properties):
        """Return the raw values of all hosts, in their order.

        May be overridden to look at all hosts together; the values of an
        overriding method are not clamped.
        """
        return self.clamp(np.array(
            [self._weigh_object(weighed.obj, weight_properties)
             for weighed in budget.checked(weighed_obj_list)],
            dtype=np.float64))

    def clamp(self, raw):
        """Return raw values within the fixed bounds."""
        if self.minval is None and self.maxval is None:
            return raw
        # Of one bound np.clip makes this, by detours.
        if self.maxval is None:
            return np.maximum(raw, self.minval)
        if self.minval is None:
            return np.minimum(raw, self.maxval)
        return np.clip(raw, self.minval, self.maxval)

    def raw(self, hosts, spec_obj):
        """Return the raw values of a HostBlock: float64 (n,)."""
        # A plug-in may have a loop of its own.
        weighed = budget.CheckedList(
            WeighedObject(state, 0.0) for state in hosts.states())
        return np.array(list(self.weigh_objects(weighed, spec_obj)),
                        dtype=np.float64)

    def multipliers(self, hosts):
        """Return the multiplier of each host of a HostBlock: number or (n,).
        """
        return self.multipliers_of(hosts.states)

    def multipliers_of(self, states):
        """As ``multipliers``, of what a function returns: host states."""
        # Before Stein the method took no host.
        if not _takes_one(self.weight_multiplier):
            return self._number(self.weight_multiplier())
        return np.array([self._number(self.weight_multiplier(state), state)
                         for state in budget.checked(states())],
                        dtype=np.float64)

    def _number(self, multiplier, state=None):
        """Return a multiplier; raises ValueError for None."""
        if multiplier is None:
            where = '' if state is None else f' for host {state!r}'
            raise ValueError(
                f'weight_multiplier of {type(self).__name__} returns None'
                f'{where}, and must return a number')
        return multiplier


def _takes_one(method):
    """Return whether a bound method can be called with one argument."""
    try:
        inspect.signature(method).bind(None)
    except TypeError:
        return False
    return True


class BaseWeightHandler(loadables.BaseLoader):
    """Weighs host states, for plug-ins that do so themselves."""

    object_class = WeighedObject

    def get_weighed_objects(self, weighers, obj_list, weighing_properties,
                            context=None):
        """Return the objects with their weights, best first: list of
        object_class.

        weighers: weighers, or their classes.  One object alone has 0.0.
        """
        objects = list(obj_list)
        weighed = [self.object_class(obj, 0.0) for obj in objects]
        for weigher in map(loadables.made, weighers if weighed[1:] else ()):
            values = numbers(
                list(weigher.weigh_objects(weighed, weighing_properties)),
                type(weigher).__name__, objects.__getitem__)
            scaled = normalize(values, weigher.minval, weigher.maxval)
            products = weigher.multipliers_of(lambda: objects) * scaled
            for each, product in zip(weighed, products.tolist(), strict=True):
                each.weight += product
        return sorted(weighed, key=lambda each: -each.weight)


@dataclasses.dataclass(eq=False)
class Weighed:
    """Weighed hosts.

    given: int (n,), table rows in the order in which they were given.
    values: float64 (n,) beside it, the weights.
    names: of the weighers that ran: tuple.
    raw, normalized: of each weigher, float64 (weighers, n).
    multipliers: of each weigher, a number or float64 (n,).
    scales: of each weigher, where its raw weights stand between 0 and 1.
    ties: in which order those of equal weight stand: places in ``given``, int
        (n,); None for as they were given.
    """

    given: np.ndarray
    values: np.ndarray
    names: tuple
    raw: np.ndarray
    normalized: np.ndarray
    multipliers: list
    scales: list = dataclasses.field(default_factory=list)
    ties: np.ndarray | None = None

    @functools.cached_property
    def order(self):
        """Where each host stands in ``given``, best first: int (n,)."""
        if self.ties is None:
            return np.argsort(-self.values, kind='stable')
        return self.ties[np.argsort(-self.values[self.ties], kind='stable')]

    @property
    def rows(self):
        """Table rows, best first: int (n,)."""
        return self.given[self.order]

    @property
    def weights(self):
        """The weights, best first: float64 (n,)."""
        return self.values[self.order]

    @functools.cached_property
    def head(self):
        """Where the best hosts stand in ``given``, best first: int (n,).

        HEAD of them, or more: the beginning of ``order``.
        """
        return (_best(self.values) if self.ties is None
                else self.order[:HEAD])

    def weight(self, row):
        """Return the weight of a table row."""
        return self.values.item(self.position(row))

    def position(self, row):
        """Return where a table row stands in ``given``."""
        return (self.given == row).argmax().item()

    def parts(self, places):
        """Return what each weigher gave some hosts: float64 (n, weighers, 3).

        places: where they stand in ``given``, a sequence.
        Raw value, normalized value and multiplier.
        """
        places = np.array(places)
        found = np.empty((len(places), len(self.raw), 3))
        found[:, :, 0] = self.raw[:, places].T
        found[:, :, 1] = self.normalized[:, places].T
        for i, multiplier in enumerate(self.multipliers):
            found[:, i, 2] = (multiplier[places] if getattr(
                multiplier, 'ndim', 0) else multiplier)
        return found

    def scale(self, weighers):
        """Scale all raw values, of these weighers, and add them up."""
        self.scales = [
            _Scale.of(*ends, weigher.minval, weigher.maxval)
            for weigher, *ends in zip(
                weighers, self.raw.min(axis=1).tolist(),
                self.raw.max(axis=1).tolist(), strict=True)]
        for i, scale in enumerate(self.scales):
            # Most weighers have nothing to say about most requests.
            if scale.varies:
                self.normalized[i] = _scaled(self.raw[i], scale)
        self.values = self.added_up()

    def added_up(self):
        """Return the weights of all hosts: float64 (n,)."""
        total = np.zeros(len(self.given))
        for i in self._counting():
            total += self.multipliers[i] * self.normalized[i]
        return total

    def _added_up_at(self, place):
        """Return the weight of one host by its place in ``given``."""
        total = 0.0
        for i in self._counting():
            multiplier = self.multipliers[i]
            total += self.normalized[i].item(place) * (
                multiplier.item(place) if getattr(multiplier, 'ndim', 0)
                else multiplier)
        return total

    def _counting(self):
        """Return numbers of the weighers that make a difference: list."""
        return [i for i, (multiplier, scale) in enumerate(
            zip(self.multipliers, self.scales, strict=True))
            if scale.varies or not _is_finite(multiplier)]

    def places(self, rows):
        """Return where a few table rows stand in ``given``: int array."""
        if len(rows) == 1:
            return np.flatnonzero(self.given == rows)
        return np.flatnonzero(np.isin(self.given, rows))

    def put(self, places, raw, weighers):
        """Have some hosts other raw values.

        places: where they stand in ``given``: int array.
        raw: number of a weigher -> float64 beside ``places``.
        weighers: those that weighed.
        """
        moved, places = False, places.tolist()
        for i, values in raw.items():
            was = [self.raw[i].item(place) for place in places]
            values = values.tolist()
            if was == values:
                continue
            for place, value in zip(places, values, strict=True):
                self.raw[i][place] = value
            if self._rescale(i, weighers[i], (*was, *values)):
                moved = True
                continue
            for place, value in zip(places, values, strict=True):
                self.normalized[i][place] = _scaled(value, self.scales[i])
        # Whoever has the weights of before keeps them.
        if moved:
            self.values = self.added_up()
        else:
            self.values = self.values.copy()
            for place in places:
                self.values[place] = self._added_up_at(place)
        for name in ('order', 'head'):
            self.__dict__.pop(name, None)

    def without(self, places, weighers):
        """Return the same without some hosts: Weighed.

        places: where these stand in ``given``, ascending: int array.
        weighers: those that weighed.
        """
        ties = self.ties
        if ties is not None:
            ties = ties[~np.isin(ties, places)]
            ties -= np.searchsorted(places, ties)
        left = Weighed(
            *(np.delete(column, places) for column
              in (self.given, self.values)), self.names,
            *(np.delete(rows, places, axis=1)
              for rows in (self.raw, self.normalized)),
            [np.delete(multiplier, places)
             if getattr(multiplier, 'ndim', 0) else multiplier
             for multiplier in self.multipliers], [*self.scales], ties)
        moved = False
        for i, weigher in enumerate(weighers):
            moved |= left._rescale(i, weigher, self.raw[i][places].tolist())
        if moved:
            left.values = left.added_up()
        return left

    def _rescale(self, i, weigher, values):
        """Scale all raw values of a weigher anew if its ends have moved.

        i: its number.  values: those that are new, or are no more.
        Returns whether it was so.
        """
        before = self.scales[i]
        if before.is_within(values):
            return False
        raw = self.raw[i]
        scale = _Scale.of(raw.min().item(), raw.max().item(), weigher.minval,
                          weigher.maxval)
        self.scales[i] = scale
        # Ends that are no numbers are equal to none.
        if (before.low, before.high) == (scale.low, scale.high):
            return False
        self.normalized[i] = _scaled(raw, scale)
        return True


def _best(values):
    """Return where the HEAD greatest of values, float64 (n,), stand, or more:
    int array, the greatest first.

    Those of equal values stand as they do in ``values``.
    """
    if len(values) > 8 * HEAD:
        least = np.partition(values, -HEAD)[-HEAD]
        found = np.flatnonzero(values >= least)
        # What is no number is sorted as the greatest, and greater than none.
        if len(found) >= HEAD:
            return found[np.argsort(-values[found], kind='stable')]
    return np.argsort(-values, kind='stable')


class WeightHandler:
    """Weighs a block of hosts with a list of weighers."""

    def weigh(self, weighers, hosts, spec_obj, step=contextlib.nullcontext):
        """Return the hosts of a block sorted by weight, best first:
        ``Weighed``.

        step: function of a weigher's name that returns the context manager
            that it is to run in.
        An exception in a weigher fails the request, with the weigher named
        in the log.
        """
        if len(hosts) < 2:
            weighers = ()
        shape = len(weighers), len(hosts)
        weighed = Weighed(
            hosts.rows, np.zeros(len(hosts)),
            tuple(type(weigher).__name__ for weigher in weighers),
            np.empty(shape), np.zeros(shape), [])
        with unbounded():
            for i, weigher in enumerate(weighers):
                with step(type(weigher).__name__):
                    raw, multiplier = self._one(weigher, hosts, spec_obj)
                weighed.raw[i] = np.asarray(raw, dtype=np.float64)
                weighed.multipliers.append(
                    multiplier if np.isscalar(multiplier)
                    else np.asarray(multiplier, dtype=np.float64))
            if weighers:
                weighed.scale(weighers)
        if LOG.isEnabledFor(logging.DEBUG):
            _log_weights(weighed, hosts)
        return weighed

    @staticmethod
    def _one(weigher, hosts, spec_obj):
        """Return a weigher's raw values, float64 (n,), and its multipliers."""
        try:
            raw = weigher.raw(hosts, spec_obj)
            if np.shape(raw) != hosts.rows.shape:
                raise ValueError(
                    f'{np.size(raw)} weights for {len(hosts)} hosts')
            return raw, weigher.multipliers(hosts)
        except Exception as exc:
            LOG.error('Weigher %(name)s failed on %(count)d host(s): %(exc)r',
                      {'name': type(weigher).__name__, 'count': len(hosts),
                       'exc': exc})
            raise


def _log_weights(weighed, hosts):
    best = weighed.order[:NAMED]
    keys = [(state.host, state.nodename) for state
            in hosts.snapshot.block(hosts.rows[best]).states()]
    for name, raw, normalized, multiplier in zip(
            weighed.names, [column[best].tolist() for column in weighed.raw],
            [column[best].tolist() for column in weighed.normalized],
            weighed.multipliers, strict=True):
        factors = np.broadcast_to(multiplier, len(hosts))[best].tolist()
        LOG.debug('%s: raw | normalized | score (multiplier * weight) %s',
                  name, {key: f'{value} | {share} | {factor} * {share}'
                         for key, value, share, factor
                         in zip(keys, raw, normalized, factors, strict=True)})
