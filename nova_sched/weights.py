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
import inspect
import math

import numpy as np
from oslo_log import log as logging

from nova_sched.hosts import budget
from nova_sched.rules import loadables

LOG = logging.getLogger(__name__)

#: Hosts that a line at DEBUG names: the best ones.
NAMED = 10


def normalize(weights, minval=None, maxval=None):
    """Scale one weigher's raw weights to 0..1, so that multipliers compare.

    weights: numbers (n,), any one unit; larger is better.
    minval, maxval: bounds in that unit; None means the column's own.
    Returns a new float64 (n,); all 0.0 when the bounds are equal or n is 0.
    """
    scaled, _ = _normalized(np.array([weights], dtype=np.float64),
                            [(minval, maxval)])
    return scaled[0]


def _normalized(raw, bounds):
    """Return ``normalize`` of several weighers' raw weights at once.

    raw: float64 (weighers, n).  bounds: of each weigher, (minval, maxval).
    Returns float64 (weighers, n), and of each row of it whether there was
    something to scale: list of bool.  The other rows are 0.0 throughout.
    """
    scaled = np.zeros(raw.shape)
    if not raw.size:
        return scaled, [False] * len(raw)
    low, high = raw.min(axis=1), raw.max(axis=1)
    for i, (minval, maxval) in enumerate(bounds):
        if minval is not None:
            low[i] = minval
        if maxval is not None:
            high[i] = maxval
    ends = list(zip(low.tolist(), high.tolist(), strict=True))
    with np.errstate(invalid='ignore', over='ignore', divide='ignore'):
        for i, (bottom, top) in enumerate(ends):
            # Most weighers have nothing to say about most requests.
            if bottom != top:
                scaled[i] = (raw[i] - bottom) / (top - bottom)
    return scaled, [bottom != top for bottom, top in ends]


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

    def configure(self, conf):
        """Take what the weigher needs from the configuration, once."""

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
            return self.weight_multiplier()
        return np.array([self.weight_multiplier(state)
                         for state in budget.checked(states())],
                        dtype=np.float64)


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

    def get_weighed_objects(self, weighers, obj_list, weighing_properties):
        """Return the objects with their weights, best first: list of
        object_class.

        weighers: weighers, or their classes.  One object alone has 0.0.
        """
        objects = list(obj_list)
        weighed = [self.object_class(obj, 0.0) for obj in objects]
        for weigher in map(loadables.made, weighers if weighed[1:] else ()):
            values = weigher.weigh_objects(weighed, weighing_properties)
            scaled = normalize(list(values), weigher.minval, weigher.maxval)
            products = weigher.multipliers_of(lambda: objects) * scaled
            for each, product in zip(weighed, products.tolist(), strict=True):
                each.weight += product
        return sorted(weighed, key=lambda each: -each.weight)


@dataclasses.dataclass(frozen=True)
class Weighed:
    """Weighed hosts.

    rows: int (n,), table rows, best first.  weights: float64 (n,) beside it.
    names: of the weighers that ran: tuple.
    raw, normalized: float64 (weighers, n), in the hosts' first order.
    multipliers: of each weigher, a number or float64 (n,).
    order: int (n,), where each of ``rows`` stands in the first order.
    """

    rows: np.ndarray
    weights: np.ndarray
    names: tuple
    raw: np.ndarray
    normalized: np.ndarray
    multipliers: list
    order: np.ndarray

    def weight(self, row):
        """Return the weight of a table row."""
        return self.weights.item(self.position(row))

    def position(self, row):
        """Return where a table row stands among ``rows``."""
        return (self.rows == row).nonzero()[0].item(0)

    def parts(self, row):
        """Return what each weigher gave a host: float64 (weighers, 3).

        Raw value, normalized value and multiplier.
        """
        i = self.order.item(self.position(row))
        parts = np.empty((len(self.names), 3))
        parts[:, 0], parts[:, 1] = self.raw[:, i], self.normalized[:, i]
        parts[:, 2] = [multiplier[i] if getattr(multiplier, 'ndim', 0)
                       else multiplier for multiplier in self.multipliers]
        return parts


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
        weights, multipliers = np.zeros(len(hosts)), []
        raw = np.empty((len(weighers), len(hosts)))
        # An aggregate may say inf or nan: hosts without a weight go last.
        with np.errstate(invalid='ignore', over='ignore'):
            for i, weigher in enumerate(weighers):
                with step(type(weigher).__name__):
                    raw[i], multiplier = self._one(weigher, hosts, spec_obj)
                multipliers.append(
                    multiplier if np.isscalar(multiplier)
                    else np.asarray(multiplier, dtype=np.float64))
            normalized, varies = _normalized(raw, [
                (weigher.minval, weigher.maxval) for weigher in weighers])
            for multiplier, values, counts in zip(
                    multipliers, normalized, varies, strict=True):
                if counts or not _is_finite(multiplier):
                    weights += multiplier * values
        order = np.argsort(-weights, kind='stable')
        weighed = Weighed(
            hosts.rows[order], weights[order],
            tuple(type(weigher).__name__ for weigher in weighers),
            raw, normalized, multipliers, order)
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
            weighed.names, weighed.raw[:, best].tolist(),
            weighed.normalized[:, best].tolist(), weighed.multipliers,
            strict=True):
        factors = np.broadcast_to(multiplier, len(hosts))[best].tolist()
        LOG.debug('%s: raw | normalized | score (multiplier * weight) %s',
                  name, {key: f'{value} | {share} | {factor} * {share}'
                         for key, value, share, factor
                         in zip(keys, raw, normalized, factors, strict=True)})
