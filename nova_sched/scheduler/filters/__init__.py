"""Host filters: base classes for plug-ins and for built-in filters.

A plug-in judges one host at a time::

    class SpecifiedHostFilter(filters.BaseHostFilter):
        def host_passes(self, host_state, spec_obj):
            requested = spec_obj.get_scheduler_hint('requested_host')
            return requested is None or requested == host_state.host

A built-in filter judges all hosts at once (``ColumnFilter.mask``).
"""

import numpy as np
from oslo_log import log as logging

from nova_sched import filters
from nova_sched import nova_compat
from nova_sched.hosts.state import HostState
from nova_sched.rules import limits
from nova_sched.rules import loadables
from nova_sched.rules import offered
from nova_sched.rules import phrases

#: Nova's name, for plug-ins.
CandidateFilterMixin = offered.CandidateFilterMixin

#: Maximum number of rejected hosts that ``reason`` calls ``why_not`` for.
_EXPLAINED = 100


class BaseHostFilter(filters.BaseFilter):
    """Base class of filters that judge one host at a time.

    A filter may define one of two methods to explain a rejection: ``why_not``
    for one host, or ``reason`` for all rejected hosts together.
    """

    #: Whether to run also when an instance is rebuilt on its own host.
    RUN_ON_REBUILD = False

    def _filter_one(self, obj, spec_obj):
        if not self.RUN_ON_REBUILD and _is_rebuild(spec_obj):
            return True
        return self.host_passes(obj, spec_obj)

    def host_passes(self, host_state, filter_properties):
        """Return whether the host can take the instance.

        host_state: HostState.
        filter_properties: the RequestSpec, which can also be read as the dict
            that Nova passed to filters until Liberty.
        """
        raise NotImplementedError(
            f'{type(self).__name__} has no host_passes method')

    def why_not(self, host_state, spec_obj):
        """Return a few words on why the filter rejected one host, or ''."""
        return self._reason(host_state.block(), spec_obj)

    def reason(self, hosts, spec_obj):
        """Return a few words on why the filter rejected these hosts, or ''.

        hosts: a HostBlock.
        If the filter defines ``why_not``, the text counts the results for the
        first hosts.
        """
        if type(self).why_not is BaseHostFilter.why_not:
            return ''
        first = hosts.snapshot.block(hosts.rows[:_EXPLAINED])
        text = phrases.tallied([self.why_not(state, spec_obj)
                                for state in first.states()])
        if text and len(first) < len(hosts):
            text = f'of {len(first)} looked at: {text}'
        return text

    def _reason(self, hosts, spec_obj):
        """Return the text of the nearest class that defines ``reason``."""
        return ''

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        # The most derived of the two methods counts.
        if 'reason' in vars(cls):
            cls._reason = cls.reason
        elif 'why_not' in vars(cls):
            cls.reason = BaseHostFilter.reason


class ColumnFilter(BaseHostFilter):
    """Base class of built-in filters, which judge all hosts by columns."""

    def mask(self, hosts, spec_obj):
        """Return which hosts pass: bool (n,) for a HostBlock of n rows.

        It must not change its arguments, and must not depend on the time or on
        random numbers.
        """
        raise NotImplementedError(
            f'{type(self).__name__} has no mask method')

    def host_passes(self, host_state, filter_properties):
        """Return ``mask`` for one host, for plug-ins that call the filter."""
        request = nova_compat.loaded().request_of(filter_properties)
        return bool(self.mask(host_state.block(), request)[0])

    def keep(self, hosts, spec_obj):
        if not self._is_column:
            return super().keep(hosts, spec_obj)
        if spec_obj.is_rebuild and not self.RUN_ON_REBUILD:
            return np.ones(len(hosts), dtype=np.bool_)
        return self.mask(hosts, spec_obj)

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        # A plug-in may override a method for one host of a built-in filter.
        cls._is_column = (
            cls.host_passes is ColumnFilter.host_passes
            and cls._filter_one is BaseHostFilter._filter_one
            and cls.filter_all is filters.BaseFilter.filter_all)
        # Only ``mask`` of a built-in filter logs the rejected hosts.
        cls.logs_rejected = cls.logs_rejected and cls._is_column


def rejected(log, hosts, passes):
    """Return the HostStates of rejected hosts, if DEBUG lines are logged."""
    return (hosts.where(~passes).states()
            if log.isEnabledFor(logging.DEBUG) else ())


def _is_rebuild(request):
    """Return ``is_rebuild`` of a RequestSpec, or of a filter_properties dict.
    """
    return getattr(request, 'is_rebuild', None) or (
        isinstance(request, dict)
        and nova_compat.loaded().request_of(request).is_rebuild)


class HostFilterHandler(filters.BaseFilterHandler):
    """Finds the built-in filters, and runs filters on host states."""

    def __init__(self):
        super().__init__(BaseHostFilter)

    def get_filtered_objects(self, filters, objs, spec_obj, index=0,
                             context=None):
        chosen = [*map(loadables.made, filters)]
        passing = super().get_filtered_objects(chosen, objs, spec_obj, index)
        if passing:
            _write_limits(passing, chosen, nova_compat.loaded().request_of(
                spec_obj), index)
        return passing


def _write_limits(states, chosen, spec_obj, index):
    """Add the filters' limits to the ``limits`` of host states, for plug-ins.

    Limits that are set already take precedence.
    """
    ran = [rule for rule in chosen if rule.run_filter_for_index(index)]
    for state in states:
        if not isinstance(state, HostState):
            continue    # such as a fake in a plug-in author's test
        hosts = state.block()
        for rule in ran:
            filters.note_filter_with_limits(hosts.snapshot, rule, spec_obj)
        [row] = hosts.rows.tolist()
        state.limits.update(limits.of_row(hosts.snapshot, row))


def all_filters():
    """Return the classes of all built-in filters."""
    return loadables.find_classes(__name__, BaseHostFilter)
