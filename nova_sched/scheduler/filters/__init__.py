"""Host filters: the base classes plug-in authors and built-ins derive from.

A filter written one host at a time::

    class SpecifiedHostFilter(filters.BaseHostFilter):
        def host_passes(self, host_state, spec_obj):
            wanted = spec_obj.get_scheduler_hint('requested_host')
            return wanted is None or wanted == host_state.host

A built-in answers for all hosts at once (``ColumnFilter.mask``).
"""

import numpy as np
from oslo_log import log as logging

from nova_sched import filters
from nova_sched import nova_compat
from nova_sched.hosts.state import HostState
from nova_sched.rules import loadables
from nova_sched.rules import offered
from nova_sched.rules import phrases

#: The name plug-ins know.
CandidateFilterMixin = offered.CandidateFilterMixin

#: How many rejected hosts ``why_not`` is asked about.
_ASKED = 100


class BaseHostFilter(filters.BaseFilter):
    """Base class of filters that judge one host at a time.

    Why hosts were rejected is worded by ``why_not`` for one host or by
    ``reason`` for all of them; a filter that has a text defines one of them.
    """

    #: True: also run when an instance is rebuilt on its own host.
    RUN_ON_REBUILD = False

    def _filter_one(self, obj, spec_obj):
        if not self.RUN_ON_REBUILD and _is_rebuild(spec_obj):
            return True
        return self.host_passes(obj, spec_obj)

    def host_passes(self, host_state, filter_properties):
        """Return whether the host can take the instance.

        host_state: HostState.  filter_properties: the RequestSpec, which also
        answers as the dict that filters of Kilo's time were given.
        """
        raise NotImplementedError(
            f'{type(self).__name__} has no host_passes method')

    def why_not(self, host_state, spec_obj):
        """Return why this one host was rejected, in words, or ''."""
        return self._reason(host_state.block(), spec_obj)

    def reason(self, hosts, spec_obj):
        """Return why these rejected hosts were rejected, in a few words, or
        ''.

        hosts: a HostBlock.  The text is what ``why_not`` says, if the filter
        has one, of the first hundred of them.
        """
        if type(self).why_not is BaseHostFilter.why_not:
            return BaseHostFilter._reason(self, hosts, spec_obj)
        asked = hosts.snapshot.block(hosts.rows[:_ASKED])
        text = phrases.tallied([self.why_not(state, spec_obj)
                                for state in asked.states()])
        if text and len(asked) < len(hosts):
            text = f'of {len(asked)} looked at: {text}'
        return text

    def _reason(self, hosts, spec_obj):
        """Return the reason that is not made of ``why_not``."""
        return ''

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        # Of a filter and its base class, the filter's own words count.
        if 'reason' in vars(cls):
            cls._reason = cls.reason
        elif 'why_not' in vars(cls):
            cls.reason = BaseHostFilter.reason


class ColumnFilter(BaseHostFilter):
    """Base class of filters that judge all hosts at once, by columns."""

    def mask(self, hosts, spec_obj):
        """Return which hosts pass: bool (n,) for a HostBlock of n rows.

        Must not change its input, read a clock or use random numbers.
        """
        raise NotImplementedError(
            f'{type(self).__name__} has no mask method')

    def host_passes(self, host_state, filter_properties):
        """As ``mask`` for one host, by the request as it was given."""
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
        # A plug-in may derive from a built-in and override a row-wise method.
        cls._is_column = (
            cls.host_passes is ColumnFilter.host_passes
            and cls._filter_one is BaseHostFilter._filter_one
            and cls.filter_all is filters.BaseFilter.filter_all)
        # The built-in writes its lines where it judges by columns.
        cls.logs_rejected = cls.logs_rejected and cls._is_column


def rejected(log, hosts, passes):
    """Return the HostStates of the hosts that do not pass, if a logger writes
    lines at DEBUG about them; else nothing.
    """
    return (hosts.where(~passes).states()
            if log.isEnabledFor(logging.DEBUG) else ())


def _is_rebuild(asked):
    """Return ``is_rebuild`` of a RequestSpec or of Kilo's filter_properties.
    """
    return getattr(asked, 'is_rebuild', None) or (
        isinstance(asked, dict)
        and nova_compat.loaded().request_of(asked).is_rebuild)


class HostFilterHandler(filters.BaseFilterHandler):
    """Finds the built-in filters, and runs filters on host states."""

    def __init__(self):
        super().__init__(BaseHostFilter)

    def get_filtered_objects(self, filters, objs, spec_obj, index=0,
                             context=None):
        chosen = [*map(loadables.made, filters)]
        left = super().get_filtered_objects(chosen, objs, spec_obj, index)
        if left:
            _write_limits(left, chosen, nova_compat.loaded().request_of(
                spec_obj), index)
        return left


def _write_limits(states, chosen, spec_obj, index):
    """Write what filters leave into the ``limits`` of host states, in which
    plug-ins look for it; what is there already stays.
    """
    ran = [each for each in chosen if each.run_filter_for_index(index)]
    for state in states:
        if not isinstance(state, HostState):
            continue    # of an author's test, say
        hosts = state.block()
        for each in ran:
            filters.note_judge(hosts.snapshot, each, spec_obj)
        [row] = hosts.rows.tolist()
        state.limits.update(filters.limits_of(hosts.snapshot, row))


def all_filters():
    """Return the classes of all built-in filters."""
    return loadables.find_classes(__name__, BaseHostFilter)
