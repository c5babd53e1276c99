"""Adapters of filters and weighers where any of them is a plug-in.

The service runs filters and weighers on a block of hosts and a RequestSpec.
The adapter of a plug-in is such a filter or weigher with the plug-in's name
(``PlugInFilter``, ``PlugInWeigher``).  It calls the plug-in with the arguments
of Nova, of any release: host states, a request that is also Kilo's dict; and
it sets the hosts for Nova's class methods.

A plug-in may write to that dict, and later rules must read its changes;
therefore built-in rules beside a plug-in have adapters as well.
"""

import copy
import functools

from oslo_log import log as logging

from nova_sched import exception
from nova_sched import filters as base_filters
from nova_sched import weights as base_weights
from nova_sched.compat import current_hosts
from nova_sched.compat import nova_methods
from nova_sched.compat import nova_names
from nova_sched.compat.legacy import kilo_mapping
from nova_sched.compat.legacy import rule_argument
from nova_sched.rules import rule_inputs

LOG = logging.getLogger(__name__)


def adapted_filters(filters):
    """Return adapters of filters: list; one for each filter."""
    for rule in {id(rule): rule for rule in filters}.values():
        _warn_of_asks(rule)
    return _adapted(filters, PlugInFilter)


def adapted_weighers(weighers):
    """Return adapters of weighers: list; one for each weigher."""
    return _adapted(weighers, PlugInWeigher)


def _adapted(rules, plug_in):
    made = {}
    for rule in rules:
        if id(rule) not in made:
            made[id(rule)] = _adapter(rule, plug_in)
    return [made[id(rule)] for rule in rules]


def _adapter(rule, plug_in):
    if isinstance(rule, (_PlugIn, _ReadsChanges)):
        return rule
    cls = type(rule)
    if not nova_methods.is_ours(cls):
        return _named(cls.__name__, plug_in)(rule)
    made = copy.copy(rule)
    made.__class__ = _named(cls.__name__, _ReadsChanges, cls)
    return made


@functools.cache
def _named(name, *bases):
    """Return a class of adapters that has the name of a rule's class."""
    return type(name, bases, {'__doc__': bases[0].__doc__})


def _warn_of_asks(rule):
    if not nova_methods.is_ours(type(rule)) and hasattr(rule, 'asks'):
        LOG.warning(
            'Filter %s has a method asks, which is no longer called: it '
            'queries another service while requests wait for its verdict. '
            'Query in a thread of its own, filter by the latest answer, and '
            'remove the method', type(rule).__name__)


class _PlugIn:
    """A mixin for adapters of plug-ins; ``rule`` is the plug-in."""

    def __init__(self, rule):
        self.rule = rule

    def _call(self, method, hosts, spec_obj):
        """Return a method's result for hosts and a request.

        An InvalidInput gets the name of the plug-in.
        """
        try:
            with current_hosts.using(hosts.snapshot):
                return method(hosts, kilo_mapping.with_mapping(spec_obj))
        except exception.InvalidInput as refusal:
            if not refusal.is_budget_spent:
                refusal.refused_by = type(self).__name__
            raise
        except Exception as error:
            nova_names.explain(error)
            raise


class PlugInFilter(_PlugIn, base_filters.BaseFilter):
    """The adapter of a filter plug-in."""

    def __init__(self, rule):
        super().__init__(rule)
        for name in ('RUN_ON_REBUILD', 'run_filter_once_per_request',
                     'logs_rejected', 'inputs', 'code'):
            setattr(self, name, getattr(rule, name))
        self.judges_by_hints = rule_inputs.judges_by_hints(rule)
        self.asks_others = rule.asks_others or hasattr(rule, 'asks')

    def run_filter_for_index(self, index):
        return self.rule.run_filter_for_index(index)

    def codes(self, hosts, spec_obj):
        return self.rule.codes(hosts, spec_obj)

    def keep(self, hosts, spec_obj):
        return self._call(self.rule.keep, hosts, spec_obj)

    def inputs_for(self, spec_obj):
        return self.rule.inputs_for(kilo_mapping.with_mapping(spec_obj))

    def limits(self, hosts, spec_obj):
        return self._call(self.rule.limits, hosts, spec_obj)

    def reason(self, hosts, spec_obj):
        # A text without public part: callers do not see a plug-in's words.
        return str(
            self._call(self.rule.reason, hosts, spec_obj) or '')

    def figures(self, hosts, spec_obj):
        return self._call(self.rule.figures, hosts, spec_obj)

    def why_not(self, host_state, spec_obj):
        why_not = getattr(self.rule, 'why_not', None)
        if why_not is None:
            return self.reason(host_state.block(), spec_obj)
        return self._call(
            lambda hosts, spec_obj: why_not(host_state, spec_obj),
            host_state.block(), spec_obj)


class PlugInWeigher(_PlugIn, base_weights.BaseWeigher):
    """The adapter of a weigher plug-in."""

    @property
    def minval(self):
        return self.rule.minval

    @property
    def maxval(self):
        return self.rule.maxval

    def raw(self, hosts, spec_obj):
        """See BaseWeigher.  Raises ValueError for a value that is no number.
        """
        return base_weights.numbers(
            self._call(self.rule.raw, hosts, spec_obj), type(self).__name__,
            lambda place: hosts.snapshot.state(hosts.rows.item(place)))

    def multipliers(self, hosts):
        return self._call(
            lambda hosts, spec_obj: self.rule.multipliers(hosts), hosts, None)


class _ReadsChanges:
    """The adapter of a built-in rule: it reads plug-ins' changes."""

    def keep(self, hosts, spec_obj):
        return super().keep(hosts, _as_written(spec_obj))

    def figures(self, hosts, spec_obj):
        return super().figures(hosts, _as_written(spec_obj))

    def raw(self, hosts, spec_obj):
        return super().raw(hosts, _as_written(spec_obj))


def _as_written(spec_obj):
    """Return a request with the changes of plug-ins: RequestSpec."""
    return rule_argument.request_of(kilo_mapping.with_mapping(spec_obj))
