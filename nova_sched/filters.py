"""The filter base class, and running the filters of a request.

For one instance of a request (``run``):

1. Each filter, in the configured order, gets the hosts that passed the
   filters before it.
2. A built-in filter returns a boolean column.  A plug-in filter judges one
   host state after the other (``BaseFilter.keep``).
3. Filters with ``run_filter_once_per_request`` are skipped for the second and
   later instances.  On a rebuild most filters pass every host unseen.
4. The run ends when no host is left.

Log texts are Nova's, because operators search for them.
"""

import numpy as np
from oslo_log import log as logging

from nova_sched import exception
from nova_sched.hosts import budget
from nova_sched.rules import codes
from nova_sched.rules import loadables
from nova_sched.rules import rule_inputs

LOG = logging.getLogger(__name__)

#: Maximum number of hosts that a DEBUG line names.
NAMED = 100


class BaseFilter:
    """Base class of all filters.

    The service creates one object of each filter, without arguments, for all
    requests and threads, so a filter must not store data of a request.

    Plug-ins need at most the first eight attributes and methods, and usually
    define ``host_passes`` of BaseHostFilter instead of ``_filter_one``.  The
    second part has defaults for plug-ins; mostly built-in filters override
    them.
    """

    #: Whether to run for the first instance of a request only.  The verdict
    #: then holds for all instances.
    run_filter_once_per_request = False

    #: Whether to run also when an instance is rebuilt on its own host.
    RUN_ON_REBUILD = True

    #: Code of the filter in refusals (rules.codes): lower case with
    #: underscores.  Default: the class name without "Filter".
    code = ''

    def configure(self, conf):
        """Read options from the configuration; called once."""

    def run_filter_for_index(self, index):
        """Return whether to run for the ``index``-th instance of a request."""
        return not (self.run_filter_once_per_request and index > 0)

    def _filter_one(self, obj, spec_obj):
        return True

    def filter_all(self, filter_obj_list, spec_obj):
        """Yield the objects that pass.

        A filter may override it to judge all hosts together.  Returning None
        ends filtering with no host left.
        """
        for obj in filter_obj_list:
            budget.check()
            try:
                passes = self._filter_one(obj, spec_obj)
            except Exception as exc:
                exc.add_note(f'on host {obj!r}')
                raise
            if passes:
                yield obj

    def reason(self, hosts, spec_obj):
        """Return a few words on why the filter rejected these hosts, or ''.

        The text is for operators and has the needed and available amounts.
        Called only when a request fails or is explained.  A built-in filter
        returns a phrases.Reason.
        """
        return ''

    # Defaults for plug-ins.

    #: Names of the data that the verdict depends on (rules.rule_inputs).  None
    #: means any data.
    inputs = None

    #: Whether the filter itself logs each host that it rejects, at DEBUG or
    #: above.
    logs_rejected = False

    #: Whether the filter queries other services over the network, directly or
    #: in a thread.
    asks_others = False

    def inputs_for(self, spec_obj):
        """Return the ``inputs`` that count for one request."""
        return self.inputs

    def keep(self, hosts, spec_obj):
        """Return which rows of a HostBlock pass: bool (n,); None to stop."""
        states = hosts.states()
        # An overriding filter_all may have its own loop over the hosts.
        passing = self.filter_all(budget.CheckedList(states), spec_obj)
        if passing is None:
            return None
        passed = {id(state) for state in passing}
        return np.fromiter((id(state) in passed for state in states),
                           dtype=np.bool_, count=len(states))

    def limits(self, hosts, spec_obj):
        """Return the limits that the compute node checks for the instance.

        hosts: a one-row HostBlock.  Returns a dict with any of memory_mb,
        vcpu, disk_gb (integers) and numa_topology.
        """
        return {}

    def figures(self, hosts, spec_obj):
        """Return the amounts that the filter compares: list of Figure.

        Each rules.figures.Figure has the amount that each row of a HostBlock
        has.  A host is rejected if any of its amounts is too small.
        """
        return []

    def codes(self, hosts, spec_obj):
        """Return the number of these rejected hosts by code: {code: int}."""
        return {codes.of_rule(type(self).__name__, self): len(hosts)}


class BaseFilterHandler(loadables.BaseLoader):
    """Runs filters on host states, for plug-ins that run filters."""

    def get_filtered_objects(self, filters, objs, spec_obj, index=0,
                             context=None):
        """Return the objects that pass every filter: list.

        filters: filters, or their classes.  index: number of the instance in
        the request.  Returns None if a filter stops filtering.
        """
        passing = list(objs)
        for filter_ in map(loadables.made, filters):
            if passing and filter_.run_filter_for_index(index):
                passing = filter_.filter_all(passing, spec_obj)
                if passing is None:
                    return None
                passing = list(passing)
        return passing


def run(filters, hosts, spec_obj, index, decision, request=None):
    """Return the hosts that pass every filter, as a HostBlock.

    spec_obj: the argument of the filters.
    index: number of the instance in the request, from 0.
    decision: Decision that records each step.
    request: the RequestSpec, where ``spec_obj`` is not one.
    An exception in a filter fails the request.  The log names the filter,
    and the host if it is known.
    """
    LOG.debug('Starting with %d host(s)', len(hosts))
    request = request or spec_obj
    ran, is_behind_hints = [], False
    has_hints = bool(request.scheduler_hints)
    for filter_ in filters:
        if not filter_.run_filter_for_index(index):
            continue
        before, name = hosts, type(filter_).__name__
        try:
            with budget.Step(name, decision.funnel.instance_at(index)):
                hosts, stop = _passing(filter_, name, before, spec_obj)
        except exception.InvalidInput as refusal:
            refusal.is_behind_hints = is_behind_hints
            raise
        is_behind_hints |= has_hints and (
            rule_inputs.judges_by_hints(filter_) is not False)
        note_filter_with_limits(hosts.snapshot, filter_, request)
        decision.funnel.step(index, name, before.rows, hosts.rows)
        ran.append((name, before, hosts))
        if stop:
            LOG.debug('Filter %s says to stop filtering', name)
            return hosts
        if not len(hosts):
            LOG.info('Filter %s returned 0 hosts', name)
            break
        LOG.debug('Filter %(name)s returned %(count)d host(s)',
                  {'name': name, 'count': len(hosts)})
    if not len(hosts):
        _log_empty(ran, request)
    return hosts


def kept(filter_, hosts, spec_obj):
    """Return which hosts pass one filter, see BaseFilter.keep.

    Logs an exception with the filter and the host, and raises it again.
    """
    try:
        return filter_.keep(hosts, spec_obj)
    except Exception as exc:
        is_refusal = isinstance(exc, exception.InvalidInput)
        # Where a plug-in calls a built-in filter, both note the host.
        notes = dict.fromkeys(getattr(exc, '__notes__', ()))
        # An invalid request is the caller's error, not the service's.
        level = logging.INFO if is_refusal else logging.ERROR
        LOG.log(level, 'Filter %(name)s failed %(where)s: %(exc)r', {
            'name': type(filter_).__name__, 'exc': exc,
            'where': ', '.join(notes) or f'on {len(hosts)} host(s)'})
        raise


def _passing(filter_, name, hosts, spec_obj):
    """Return the hosts that pass one filter, and whether to stop."""
    writes = hosts.snapshot.writes
    passes = kept(filter_, hosts, spec_obj)
    if hosts.snapshot.writes != writes:
        # The block lacks values that the filter has set on host states.
        hosts = hosts.snapshot.block(hosts.rows)
    stop = passes is None
    if stop:
        passes = np.zeros(len(hosts), dtype=np.bool_)
    if LOG.isEnabledFor(logging.DEBUG) and not filter_.logs_rejected:
        _log_rejected(
            filter_, name, hosts.where(~np.asarray(passes, np.bool_)),
            spec_obj)
    return hosts.where(passes), stop


def why_not(filter_, host_state, spec_obj):
    """Return the filter's reason for rejecting one host, or ''.

    Raises any exception of the filter.
    """
    if hasattr(filter_, 'why_not'):
        return filter_.why_not(host_state, spec_obj)
    return filter_.reason(host_state.block(), spec_obj)


def _log_rejected(filter_, name, hosts, spec_obj):
    for state in hosts.states():
        try:
            why = why_not(filter_, state, spec_obj)
        except Exception as error:
            # A failing reason must not fail the request.
            why = f'no reason available: {error!r}'
        LOG.debug('%(host)s is rejected by %(name)s%(why)s', {
            'host': state, 'name': name, 'why': f': {why}' if why else ''})


def _log_empty(ran, spec_obj):
    text = ("Filtering removed all hosts for the request with instance ID "
            "'%(uuid)s'. Filter results: %(results)s")
    uuid = spec_obj.instance_uuid
    if LOG.isEnabledFor(logging.DEBUG):
        LOG.debug(text, {'uuid': uuid, 'results': [
            (name, _some(after) or None) for name, before, after in ran]})
    LOG.info(text, {'uuid': uuid, 'results': [
        f'{name}: (start: {len(before)}, end: {len(after)})'
        for name, before, after in ran]})


def _some(hosts):
    """Return the first hosts as (host, node), and the number of others."""
    first = [(state.host, state.nodename) for state
             in hosts.snapshot.block(hosts.rows[:NAMED]).states()]
    more = len(hosts) - len(first)
    return [*first, f'and {more} more'] if more else first


def note_filter_with_limits(snapshot, filter_, spec_obj):
    """Record on a HostSnapshot a filter with limits that judged its hosts.

    A filter that is skipped on a rebuild sets no limits.
    """
    has_limits = getattr(
        filter_.limits, '__func__', None) is not BaseFilter.limits
    if has_limits and (filter_.RUN_ON_REBUILD or not spec_obj.is_rebuild):
        snapshot.filters_with_limits[id(filter_)] = filter_, spec_obj
