"""Host weighers: base classes for plug-ins and for built-in weighers.

A plug-in weighs one host at a time::

    class YoungestHostWeigher(weights.BaseHostWeigher):
        def _weigh_object(self, host_state, weight_properties):
            return -host_state.num_instances

A built-in weigher weighs all hosts at once (``ColumnWeigher.column``).
"""

import inspect
import itertools

import numpy as np
from oslo_config import cfg

from nova_sched import nova_compat
from nova_sched import weights
from nova_sched.rules import aggregates as aggregate_values
from nova_sched.rules import loadables
from nova_sched.rules import nova_classes

#: Nova's name, for plug-ins.
WeighedHost = weights.WeighedObject


class BaseHostWeigher(weights.BaseWeigher):
    """Base class of weighers that weigh one host at a time."""


class ColumnWeigher(BaseHostWeigher):
    """Base class of built-in weighers, which weigh all hosts by columns."""

    #: Name of the multiplier's option in [filter_scheduler], and key of
    #: aggregate metadata that overrides the option.
    multiplier_name = None
    #: Default of the option, if ``conf/weighers.py`` does not declare it.
    multiplier_default = 1.0
    #: -1 if a positive multiplier prefers hosts with small values.
    sign = 1.0

    def configure(self, conf):
        name = self.multiplier_name
        if not hasattr(conf.filter_scheduler, name):
            conf.register_opt(cfg.FloatOpt(
                name, default=self.multiplier_default,
                help=inspect.getdoc(type(self))), 'filter_scheduler')
        self.multiplier = getattr(conf.filter_scheduler, name)

    def column(self, hosts, spec_obj):
        """Return the raw values of a HostBlock of n rows: numbers (n,)."""
        raise NotImplementedError(
            f'{type(self).__name__} has no column method')

    def _weigh_object(self, host_state, weight_properties):
        request = nova_compat.loaded().request_of(weight_properties)
        return float(self.column(host_state.block(), request)[0])

    def raw(self, hosts, spec_obj):
        if not self._is_column:
            return super().raw(hosts, spec_obj)
        return self.clamp(np.asarray(self.column(hosts, spec_obj),
                                     dtype=np.float64))

    def weight_multiplier(self, host_state):
        return float(np.ravel(self._by_aggregate(host_state.block()))[0])

    def multipliers(self, hosts):
        if type(self).weight_multiplier is not ColumnWeigher.weight_multiplier:
            return super().multipliers(hosts)
        return self._by_aggregate(hosts)

    def _by_aggregate(self, hosts):
        return self.sign * aggregate_values.numbers(
            hosts, self.multiplier_name, self.multiplier, float,
            "Could not decode '%(key)s' weight multiplier: %(error)s")

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        # A plug-in may override a method for one host of a built-in weigher.
        cls._is_column = (
            cls._weigh_object is ColumnWeigher._weigh_object
            and cls.weigh_objects is weights.BaseWeigher.weigh_objects)


class BaseInputWeigher(ColumnWeigher):
    """Base class of weighers of one host column, the first of ``inputs``."""

    def column(self, hosts, spec_obj):
        return getattr(hosts, self.inputs[0])


#: Nova's order of the built-in weighers; other weighers follow by name.
_ORDER = tuple(itertools.chain.from_iterable(
    nova_classes.WEIGHER_MODULES.values()))


class HostWeightHandler(weights.BaseWeightHandler):
    """Finds the built-in weighers, and runs weighers on host states."""

    def __init__(self):
        super().__init__(BaseHostWeigher)


def all_weighers():
    """Return the classes of all built-in weighers, in the order they run."""
    return loadables.find_classes(__name__, BaseHostWeigher, _ORDER)
