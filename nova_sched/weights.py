"""The weigher base class, and weighing the hosts that can take an instance.

``weigh``, for one instance of a request:

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

#: Maximum number of hosts, best first, that a DEBUG line names.
NAMED = 10
#: Number of best hosts that are found without sorting all hosts.
HEAD = 32


def normalize(weights, minval=None, maxval=None):
    """Scale one weigher's raw weights to 0..1, so that multipliers compare.

    weights: numbers (n,) of one unit; larger is better.
    minval, maxval: bounds in that unit; None means the minimum and the maximum
        of the weights.
    Returns a new float64 (n,), all 0.0 when the bounds are equal.
    """
    raw = np.array(weights, dtype=np.float64)
    if not raw.size:
        return raw
    with unbounded():
        return _scaled(raw, _Scale.of(raw.min().item(), raw.max().item(),
                                      minval, maxval))


def numbers(values, name, host_at):
    """Return the raw values of a plug-in weigher: float64 (n,).

    values: the values.  name: the weigher's class name.
    host_at: function that returns the host at a position in ``values``.
    Raises ValueError for None and NaN, which cannot be ordered.
    """
    raw = np.asarray(values, dtype=np.float64)
    missing = np.flatnonzero(np.isnan(raw))
    if len(missing):
        raise ValueError(
            f'{name} gives {len(missing)} of {raw.size} hosts None or NaN '
            'as their weight, which must be a number; the first one is '
            f'{host_at(missing.item(0))!r}')
    return raw


class _Scale(typing.NamedTuple):
    """The range of raw weights that is scaled to 0..1.

    least, greatest: minimum and maximum of the raw weights.
    low, high: ends of the range: least and greatest, unless the weigher fixes
        them.
    """

    least: float
    greatest: float
    low: float
    high: float

    @classmethod
    def of(cls, least, greatest, minval, maxval):
        """Return the scale of raw weights with this minimum and maximum.

        minval, maxval: ends that the weigher fixes, or None.
        """
        return cls(least, greatest, least if minval is None else minval,
                   greatest if maxval is None else maxval)

    @property
    def varies(self):
        """Whether the range is not empty; otherwise all weights are 0.0."""
        return self.low != self.high

    def is_within(self, values):
        """Return whether values can change without moving the ends."""
        return all(self.least < value < self.greatest for value in values)


def _scaled(raw, scale):
    """Return one raw weight, or float64 (n,) of them, scaled to 0..1."""
    if not scale.varies:
        return np.zeros(np.shape(raw))
    return (raw - scale.low) / (scale.high - scale.low)


def unbounded():
    """Silence NumPy's warnings about inf and nan, which aggregates may set.

    Hosts with a weight of nan are sorted last.
    """
    return np.errstate(invalid='ignore', over='ignore', divide='ignore')


def _is_finite(multiplier):
    """Return whether a multiplier times 0.0 is 0.0: neither inf nor nan."""
    return isinstance(multiplier, float) and math.isfinite(multiplier)


@dataclasses.dataclass
class WeighedObject:
    """A host state and its weight: the argument of plug-in weighers."""

    obj: object
    weight: float

    def __repr__(self):
        return f'WeighedHost [host: {self.obj!r}, weight: {self.weight}]'

    def to_dict(self):
        return {'weight': self.weight, 'host': self.obj.host}


class BaseWeigher:
    """Base class of all weighers.

    The service creates one object of each weigher, without arguments, for all
    requests and threads, so a weigher must not store data of a request.
    """

    #: Fixed ends of the range of raw values; None for their own.
    minval = None
    maxval = None

    #: Names of the data that the raw values depend on (rules.rule_inputs).
    #: None means any data.
    inputs = None

    def configure(self, conf):
        """Read options from the configuration; called once."""

    def inputs_for(self, spec_obj):
        """Return the ``inputs`` that count for one request."""
        return self.inputs

    def weight_multiplier(self, host_state):
        """Return the factor of this weigher's weight on a host."""
        return 1.0

    def _weigh_object(self, obj, weight_properties):
        """Return the raw value of one host; higher is better."""
        raise NotImplementedError(
            f'{type(self).__name__} has no _weigh_object method')

    def weigh_objects(self, weighed_obj_list, weight_properties):
        """Return the raw values of all hosts, in their order.

        A weigher may override it to weigh all hosts together.  Values of an
        overriding method are not clamped.
        """
        return self.clamp(np.array(
            [self._weigh_object(weighed.obj, weight_properties)
             for weighed in budget.checked(weighed_obj_list)],
            dtype=np.float64))

    def clamp(self, raw):
        """Return raw values within the fixed bounds."""
        # Faster than np.clip, which most weighers need for one bound only.
        if self.minval is not None:
            raw = np.maximum(raw, self.minval)
        if self.maxval is not None:
            raw = np.minimum(raw, self.maxval)
        return raw

    def raw(self, hosts, spec_obj):
        """Return the raw values of a HostBlock: float64 (n,)."""
        # An overriding weigh_objects may have its own loop over the hosts.
        weighed = budget.CheckedList(
            WeighedObject(state, 0.0) for state in hosts.states())
        return np.array(list(self.weigh_objects(weighed, spec_obj)),
                        dtype=np.float64)

    def multipliers(self, hosts):
        """Return the multiplier of each host of a HostBlock: number or (n,).
        """
        return self.multipliers_of(hosts.states)

    def multipliers_of(self, states):
        """Return ``multipliers`` of the host states that a function returns.
        """
        # Before Stein the method had no argument.
        if not _takes_one(self.weight_multiplier):
            return self._number(self.weight_multiplier())
        return np.array([self._number(self.weight_multiplier(state), state)
                         for state in budget.checked(states())],
                        dtype=np.float64)

    def _number(self, multiplier, state=None):
        """Return a multiplier.  Raises ValueError for None."""
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
    """Weighs host states, for plug-ins that run weighers."""

    object_class = WeighedObject

    def get_weighed_objects(self, weighers, obj_list, weighing_properties,
                            context=None):
        """Return the objects with their weights, best first: list.

        weighers: weighers, or their classes.  A single object is not weighed
        and has 0.0.  Items are ``object_class``.
        """
        objects = list(obj_list)
        weighed = [self.object_class(obj, 0.0) for obj in objects]
        for weigher in map(loadables.made, weighers if weighed[1:] else ()):
            values = numbers(
                list(weigher.weigh_objects(weighed, weighing_properties)),
                type(weigher).__name__, objects.__getitem__)
            scaled = normalize(values, weigher.minval, weigher.maxval)
            products = weigher.multipliers_of(lambda: objects) * scaled
            for item, product in zip(weighed, products.tolist(), strict=True):
                item.weight += product
        return sorted(weighed, key=lambda item: -item.weight)


@dataclasses.dataclass(eq=False)
class Weighed:
    """The weighed hosts of one instance.

    table_rows: int (n,), rows of the hosts, in the order of the block.  A
        host's position in it is its position in all arrays below.
    values: float64 (n,), total weights.
    names: class names of the weighers that ran: tuple.
    raw, normalized: float64 (weighers, n), raw and scaled weights.
    multipliers: list, a number or float64 (n,) for each weigher.
    scales: list, the _Scale of each weigher.
    ties: order of hosts of equal weight: positions, int (n,).  None for the
        order of ``table_rows``.
    """

    table_rows: np.ndarray
    values: np.ndarray
    names: tuple
    raw: np.ndarray
    normalized: np.ndarray
    multipliers: list
    scales: list = dataclasses.field(default_factory=list)
    ties: np.ndarray | None = None

    @functools.cached_property
    def order(self):
        """Positions of all hosts, best first: int (n,)."""
        if self.ties is None:
            return np.argsort(-self.values, kind='stable')
        return self.ties[np.argsort(-self.values[self.ties], kind='stable')]

    @property
    def rows(self):
        """Table rows, best first: int (n,)."""
        return self.table_rows[self.order]

    @property
    def weights(self):
        """The weights, best first: float64 (n,)."""
        return self.values[self.order]

    @functools.cached_property
    def head(self):
        """The first HEAD positions of ``order``, or more: int (n,)."""
        return (_best(self.values) if self.ties is None
                else self.order[:HEAD])

    def weight(self, row):
        """Return the weight of a table row."""
        return self.values.item(self.position(row))

    def position(self, row):
        """Return the position of a table row."""
        return (self.table_rows == row).argmax().item()

    def parts(self, places):
        """Return the parts of some hosts' weights: float64 (n, weighers, 3).

        places: sequence of positions.
        The parts are the raw value, the normalized value and the multiplier.
        """
        places = np.array(places)
        parts = np.empty((len(places), len(self.raw), 3))
        parts[:, :, 0] = self.raw[:, places].T
        parts[:, :, 1] = self.normalized[:, places].T
        for i, multiplier in enumerate(self.multipliers):
            parts[:, i, 2] = (multiplier[places] if getattr(
                multiplier, 'ndim', 0) else multiplier)
        return parts

    def scale(self, weighers):
        """Scale the raw values of all weighers and set the total weights."""
        self.scales = [
            _Scale.of(*ends, weigher.minval, weigher.maxval)
            for weigher, *ends in zip(
                weighers, self.raw.min(axis=1).tolist(),
                self.raw.max(axis=1).tolist(), strict=True)]
        for i, scale in enumerate(self.scales):
            # Most weighers give all hosts the same value for most requests.
            if scale.varies:
                self.normalized[i] = _scaled(self.raw[i], scale)
        self.values = self.added_up()

    def added_up(self):
        """Return the total weights of all hosts: float64 (n,)."""
        total = np.zeros(len(self.table_rows))
        for i in self._counting():
            total += self.multipliers[i] * self.normalized[i]
        return total

    def _added_up_at(self, place):
        """Return the total weight of the host at a position."""
        total = 0.0
        for i in self._counting():
            multiplier = self.multipliers[i]
            total += self.normalized[i].item(place) * (
                multiplier.item(place) if getattr(multiplier, 'ndim', 0)
                else multiplier)
        return total

    def _counting(self):
        """Return the indexes of weighers that may contribute: list."""
        return [i for i, (multiplier, scale) in enumerate(
            zip(self.multipliers, self.scales, strict=True))
            if scale.varies or not _is_finite(multiplier)]

    def places(self, rows):
        """Return the positions of a few table rows: int array."""
        if len(rows) == 1:
            return np.flatnonzero(self.table_rows == rows)
        return np.flatnonzero(np.isin(self.table_rows, rows))

    def put(self, places, raw, weighers):
        """Replace the raw values of some hosts.

        places: int array of positions.
        raw: index of a weigher -> float64, a raw value for each position.
        weighers: all weighers that ran.
        """
        moved, places = False, places.tolist()
        for i, values in raw.items():
            old = [self.raw[i].item(place) for place in places]
            values = values.tolist()
            if old == values:
                continue
            for place, value in zip(places, values, strict=True):
                self.raw[i][place] = value
            if self._rescale(i, weighers[i], (*old, *values)):
                moved = True
                continue
            for place, value in zip(places, values, strict=True):
                self.normalized[i][place] = _scaled(value, self.scales[i])
        # The decision record keeps the previous array of weights.
        if moved:
            self.values = self.added_up()
        else:
            self.values = self.values.copy()
            for place in places:
                self.values[place] = self._added_up_at(place)
        for name in ('order', 'head'):
            self.__dict__.pop(name, None)

    def without(self, places, weighers):
        """Return a Weighed without the hosts at these positions.

        places: ascending int array of positions.
        weighers: all weighers that ran.
        """
        ties = self.ties
        if ties is not None:
            ties = ties[~np.isin(ties, places)]
            ties -= np.searchsorted(places, ties)
        smaller = Weighed(
            *(np.delete(column, places) for column
              in (self.table_rows, self.values)), self.names,
            *(np.delete(rows, places, axis=1)
              for rows in (self.raw, self.normalized)),
            [np.delete(multiplier, places)
             if getattr(multiplier, 'ndim', 0) else multiplier
             for multiplier in self.multipliers], [*self.scales], ties)
        moved = False
        for i, weigher in enumerate(weighers):
            moved |= smaller._rescale(i, weigher,
                                      self.raw[i][places].tolist())
        if moved:
            smaller.values = smaller.added_up()
        return smaller

    def _rescale(self, i, weigher, values):
        """Scale a weigher's raw values again if the ends of its range moved.

        i: index of the weigher.  values: raw values that were added or
        removed.  Returns whether the ends moved.
        """
        before = self.scales[i]
        if before.is_within(values):
            return False
        raw = self.raw[i]
        scale = _Scale.of(raw.min().item(), raw.max().item(), weigher.minval,
                          weigher.maxval)
        self.scales[i] = scale
        # An end that is nan differs from itself, so these are scaled again.
        if (before.low, before.high) == (scale.low, scale.high):
            return False
        self.normalized[i] = _scaled(raw, scale)
        return True


def _best(values):
    """Return the positions of the HEAD greatest values, or more: int array.

    values: float64 (n,).  The greatest comes first; equal values keep their
    order.
    """
    if len(values) > 8 * HEAD:
        least = np.partition(values, -HEAD)[-HEAD]
        best = np.flatnonzero(values >= least)
        # np.partition puts nan last, and no value is >= nan.
        if len(best) >= HEAD:
            return best[np.argsort(-values[best], kind='stable')]
    return np.argsort(-values, kind='stable')


def weigh(weighers, hosts, spec_obj, step=contextlib.nullcontext):
    """Return the weights of the hosts of a block: Weighed.

    step: function of a weigher's name that returns the context manager to
        run the weigher in.
    An exception in a weigher fails the request.  The log names the
    weigher.
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
                raw, multiplier = _values(weigher, hosts, spec_obj)
            weighed.raw[i] = np.asarray(raw, dtype=np.float64)
            weighed.multipliers.append(
                multiplier if np.isscalar(multiplier)
                else np.asarray(multiplier, dtype=np.float64))
        if weighers:
            weighed.scale(weighers)
    if LOG.isEnabledFor(logging.DEBUG):
        _log_weights(weighed, hosts)
    return weighed


def _values(weigher, hosts, spec_obj):
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
