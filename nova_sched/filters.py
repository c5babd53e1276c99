"""Running filters: which hosts can take an instance.

For one instance of a request (``FilterHandler.run``):

1. Each filter, in the configured order, gets the rows still alive.
2. A built-in answers with a boolean column; a filter written one host at a
   time is asked host by host through row views (``BaseFilter.keep``).
3. Filters that need only run once a request are left out for the second and
   later instances; on a rebuild most filters pass every host unseen.
4. The first filter that leaves no host ends the run.

Log texts are those that Nova's operators search for.
"""

import numpy as np
from oslo_log import log as logging

from nova_sched import exception
from nova_sched.hosts import budget
from nova_sched.rules import codes
from nova_sched.rules import loadables
from nova_sched.rules import rule_inputs

LOG = logging.getLogger(__name__)

#: Hosts that a line at DEBUG names.
NAMED = 100


class BaseFilter:
    """Base class of all filters.

    Filters are created once, without arguments, and shared by all requests
    and threads: they must keep nothing of a request.
    """

    #: True: run for the first instance of a request only; its verdict holds
    #: for the others.
    run_filter_once_per_request = False

    #: True: also run when an instance is rebuilt on its own host.
    RUN_ON_REBUILD = True

    #: True: the filter writes a line about each host that it rejects itself,
    #: at DEBUG or above.
    logs_rejected = False

    #: By what a refusal names it to programs: lower case and underscores, see
    #: rules.codes; by default its class's name, without "Filter".
    code = ''

    #: Whether it asks other services over the network, or has them asked.
    asks_others = False

    #: What the verdict depends on, see rules.rule_inputs; None for anything.
    inputs = None

    def configure(self, conf):
        """Take what the filter needs from the configuration, once."""

    def run_filter_for_index(self, index):
        """Return whether to run for the ``index``-th instance of a request."""
        return not (self.run_filter_once_per_request and index > 0)

    def inputs_for(self, spec_obj):
        """Return what the verdict on a request depends on: as ``inputs``."""
        return self.inputs

    def _filter_one(self, obj, spec_obj):
        return True

    def filter_all(self, filter_obj_list, spec_obj):
        """Yield the objects that pass.

        May be overridden to judge all hosts together; returning None ends
        filtering with no host left.
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

    def keep(self, hosts, spec_obj):
        """Return which rows of a HostBlock pass: bool (n,); None to stop."""
        states = hosts.states()
        # A plug-in may have a loop of its own.
        passing = self.filter_all(budget.CheckedList(states), spec_obj)
        if passing is None:
            return None
        passed = {id(state) for state in passing}
        return np.fromiter((id(state) in passed for state in states),
                           dtype=np.bool_, count=len(states))

    def limits(self, hosts, spec_obj):
        """Return what the compute node must hold a placed instance to.

        hosts: a one-row HostBlock.  Returns a dict with any of memory_mb,
        vcpu, disk_gb (integers) and numa_topology.
        """
        return {}

    def reason(self, hosts, spec_obj):
        """Return why these rejected hosts were rejected, in a few words, or
        ''; of built-in filters a phrases.Reason.

        Written for operators, with needed and available figures; made only
        when a request fails or somebody asks.
        """
        return ''

    def figures(self, hosts, spec_obj):
        """Return the amounts that the verdict rests on: list of
        rules.figures.Figure, each with what every row of a HostBlock has.

        A host that has too little, by any of them, is rejected.
        """
        return []

    def codes(self, hosts, spec_obj):
        """Return by which code it rejects how many of these rejected hosts:
        {code: number}.
        """
        return {codes.of_rule(type(self).__name__, self): len(hosts)}


class BaseFilterHandler(loadables.BaseLoader):
    """Runs filters on host states, for plug-ins that do so themselves."""

    def get_filtered_objects(self, filters, objs, spec_obj, index=0,
                             context=None):
        """Return the objects that pass every filter: list, None if one says to
        stop.

        filters: filters, or their classes.  index: which instance of the
        request it is about.
        """
        left = list(objs)
        for filter_ in map(loadables.made, filters):
            if left and filter_.run_filter_for_index(index):
                left = filter_.filter_all(left, spec_obj)
                if left is None:
                    return None
                left = list(left)
        return left


class FilterHandler:
    """Runs a list of filters over a block of hosts."""

    def run(self, filters, hosts, spec_obj, index, decision, request=None):
        """Return the hosts that pass every filter, as a HostBlock.

        index: which instance of the request (0 is the first).
        decision: the Decision that records each step.
        request: the RequestSpec, if filters are to be given something else.
        An exception in a filter fails the request, with the filter, and the
        host where that is known, named in the log.
        """
        LOG.debug('Starting with %d host(s)', len(hosts))
        request = request or spec_obj
        ran, is_behind_hints = [], False
        for filter_ in filters:
            if not filter_.run_filter_for_index(index):
                continue
            before, name = hosts, type(filter_).__name__
            try:
                with budget.Step(name, decision.funnel.instance_at(index)):
                    hosts, stop = self._one(filter_, name, before, spec_obj)
            except exception.InvalidInput as refusal:
                refusal.is_behind_hints = is_behind_hints
                raise
            is_behind_hints |= may_look_at_hints(filter_, request)
            note_judge(hosts.snapshot, filter_, request)
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

    @staticmethod
    def kept(filter_, hosts, spec_obj):
        """Return what one filter says of hosts, see BaseFilter.keep.

        Log an exception, which goes on, with the filter and the host.
        """
        try:
            return filter_.keep(hosts, spec_obj)
        except Exception as exc:
            is_refusal = isinstance(exc, exception.InvalidInput)
            # A plug-in that asks a built-in has the host noted twice.
            notes = dict.fromkeys(getattr(exc, '__notes__', ()))
            # What is wrong with a request its caller is to mend.
            level = logging.INFO if is_refusal else logging.ERROR
            LOG.log(level, 'Filter %(name)s failed %(where)s: %(exc)r', {
                'name': type(filter_).__name__, 'exc': exc,
                'where': ', '.join(notes) or f'on {len(hosts)} host(s)'})
            raise

    def _one(self, filter_, name, hosts, spec_obj):
        """Return the hosts one filter leaves, and whether it says to stop."""
        writes = hosts.snapshot.writes
        kept = self.kept(filter_, hosts, spec_obj)
        if hosts.snapshot.writes != writes:
            # What it has set on host states is not in the block yet.
            hosts = hosts.snapshot.block(hosts.rows)
        stop = kept is None
        if stop:
            kept = np.zeros(len(hosts), dtype=np.bool_)
        if LOG.isEnabledFor(logging.DEBUG) and not filter_.logs_rejected:
            _log_rejected(
                filter_, name, hosts.where(~np.asarray(kept, np.bool_)),
                spec_obj)
        return hosts.where(kept), stop


def may_look_at_hints(filter_, spec_obj):
    """Return whether a filter may have looked at hints of a request."""
    return (bool(spec_obj.scheduler_hints)
            and rule_inputs.judges_by_hints(filter_) is not False)


def why_not(filter_, host_state, spec_obj):
    """Return why a filter has rejected one host, in words, or ''.

    Raises what the filter does.
    """
    if hasattr(filter_, 'why_not'):
        return filter_.why_not(host_state, spec_obj)
    return filter_.reason(host_state.block(), spec_obj)


def _log_rejected(filter_, name, hosts, spec_obj):
    for state in hosts.states():
        try:
            why = why_not(filter_, state, spec_obj)
        except Exception as error:
            # No request fails over the words for its hosts.
            why = f'it cannot say why: {error!r}'
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
    """Return some hosts and their nodes as a list, and how many there are
    more.
    """
    some = [(state.host, state.nodename) for state
            in hosts.snapshot.block(hosts.rows[:NAMED]).states()]
    more = len(hosts) - len(some)
    return [*some, f'and {more} more'] if more else some


def limits_of(snapshot, row):
    """Return what a compute node is to hold an instance to: a dict.

    snapshot: HostSnapshot.  row: of the host.
    Returns limit name -> amount, from the filters that have judged hosts of
    the snapshot.  What a plug-in wrote into a host state's own ``limits``
    wins.
    """
    found, host = {}, snapshot.block(np.array([row]))
    for filter_, spec_obj in snapshot.judges.values():
        found |= filter_.limits(host, spec_obj)
    return found | snapshot.own_limits(row)


def note_judge(snapshot, filter_, spec_obj):
    """Note on a HostSnapshot that a filter has judged hosts of it, if it
    leaves limits.

    A filter that did not look, as on a rebuild, leaves nothing to the compute
    node.
    """
    leaves_limits = getattr(
        filter_.limits, '__func__', None) is not BaseFilter.limits
    if leaves_limits and (filter_.RUN_ON_REBUILD or not spec_obj.is_rebuild):
        snapshot.judges[id(filter_)] = filter_, spec_obj
