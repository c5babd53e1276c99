"""Ranking: filtering and weighing the hosts for an instance.

The steps for one instance, in order (``Ranker.ranked``):

1. ``narrowing``: exclude hosts by the cell, destination, ignored hosts and
   forced hosts and nodes that the request names.
2. The filters, unless hosts are forced.
3. The weighers.

After a pick, a ``Reranker`` judges and weighs only the picked host again, if
the result is the same as for all hosts.
"""

import functools

import numpy as np
from oslo_log import log as logging

from nova_sched import filters
from nova_sched import weights
from nova_sched.hosts import budget
from nova_sched.rules import narrowing
from nova_sched.rules import rule_inputs

LOG = logging.getLogger(__name__)


class Ranker:
    """Runs filters and weighers, in their order.

    has_plug_ins: whether any of them is a plug-in.
    """

    def __init__(self, filters_, weighers, has_plug_ins=False):
        self.filters, self.weighers = filters_, weighers
        self.has_plug_ins = has_plug_ins
        #: Whether a rule may need heartbeats of services that are up.
        self.reads_heartbeats = has_plug_ins or rule_inputs.read(
            filters_, rule_inputs.HEARTBEATS)
        #: Columns of instances that filters read for all hosts.
        self.instance_columns = rule_inputs.instance_columns(filters_)
        self._may_need_instances = rule_inputs.read(
            filters_, rule_inputs.INSTANCES)

    def ranked(self, hosts, spec_obj, index, decision):
        """Return the hosts that can take an instance, best first: ``Ranked``.

        hosts: HostBlock; for later instances of a request, the hosts that
            passed for the previous instance.
        index: number of the instance.  decision: Decision to record steps in.
        """
        with decision.timed('filter'):
            hosts, is_forced = narrowing.narrowed(hosts, spec_obj, index,
                                                  decision)
            if not is_forced:
                hosts = filters.run(
                    self.filters, hosts, spec_obj, index, decision)
        return Ranked(hosts.snapshot, self._weighed(hosts, spec_obj, index,
                                                    decision))

    def _weighed(self, hosts, spec_obj, index, decision):
        """Return the weights of hosts that passed: weights.Weighed."""
        if LOG.isEnabledFor(logging.DEBUG):
            log_filtered(_first(hosts).states(), len(hosts))
        with decision.timed('weigh'):
            weighed = weights.weigh(
                self.weighers, hosts, spec_obj,
                functools.partial(budget.Step,
                                  index=decision.funnel.instance_at(index)))
        if LOG.isEnabledFor(logging.DEBUG):
            ranked = Ranked(hosts.snapshot, weighed)
            log_weighed([
                weights.WeighedObject(state, weight) for state, weight
                in zip(_first(ranked.hosts).states(),
                       weighed.weights.tolist(), strict=False)], len(ranked))
        return weighed

    def reranker(self, spec_obj):
        """Return the Reranker of a request, or None.

        None if there are plug-ins, if a pick may change the verdict on other
        hosts, and if all rankings must be logged: at DEBUG, and for requests
        that name hosts.
        """
        target = spec_obj.requested_destination
        if (self.has_plug_ins or LOG.isEnabledFor(logging.DEBUG)
                or spec_obj.force_hosts or spec_obj.force_nodes
                or (target is not None and target.host is not None)):
            return None
        changed = rule_inputs.changed_by_picks(
            (*self.filters, *self.weighers), spec_obj)
        return None if changed is None else Reranker(
            spec_obj, self.filters, self.weighers, changed)

    def needs_all_instances(self, spec_obj):
        """Return whether a filter needs all instances of all hosts."""
        return self._may_need_instances and rule_inputs.read(
            self.filters, rule_inputs.INSTANCES, spec_obj)


class Reranker:
    """Ranks the hosts of a request again after a pick.

    A pick changes the verdicts of most rules on the picked host only.  So only
    its rows are judged and weighed again.  Weights of other hosts are scaled
    again if the minimum or maximum of a weigher has changed.  Result and
    records are the same as those of ``Ranker.ranked``.

    filters_, weighers: all rules that run.
    changed: ids of the rules with a result that a pick may change.
    """

    def __init__(self, spec_obj, filters_, weighers, changed):
        self._spec_obj, self._filters = spec_obj, filters_
        self._weighers, self._changed = weighers, changed

    def ranked(self, ranked, host, index, decision):
        """Return the hosts for the next instance after a pick: Ranked.

        ranked: Ranked for the previous instance; must not be used afterwards.
        host: name of the picked host.
        index: number of the next instance.
        None if fewer than two other hosts remain, because a single host is not
        weighed.
        """
        picked = ranked.nodes_of(host)
        others = len(ranked) - len(picked)
        if others < 2:
            return None
        weighed, snapshot = ranked.weighed, ranked.snapshot
        weighed.ties = ranked.order
        with decision.timed('filter'):
            passing = self._passing(picked, others, index, decision)
        with decision.timed('weigh'), weights.unbounded():
            if passing is not picked:
                passes = np.isin(picked.rows, passing.rows)
                weighed = weighed.without(
                    weighed.places(picked.rows[~passes]), self._weighers)
            if len(passing):
                weighed.put(weighed.places(passing.rows), {
                    i: weigher.raw(passing, self._spec_obj)
                    for i, weigher in enumerate(self._weighers)
                    if id(weigher) in self._changed}, self._weighers)
        return Ranked(snapshot, weighed)

    def _passing(self, hosts, others, index, decision):
        """Return the hosts of a HostBlock that still pass: HostBlock.

        others: number of other hosts, which pass as before.
        """
        for filter_ in self._filters:
            if not filter_.run_filter_for_index(index):
                continue
            before, name = hosts, type(filter_).__name__
            if len(hosts) and id(filter_) in self._changed:
                hosts = hosts.where(
                    filters.kept(filter_, hosts, self._spec_obj))
            decision.funnel.step(index, name, before.rows, hosts.rows, others)
        return hosts


class Ranked:
    """The hosts that can take an instance, best first.

    snapshot: HostSnapshot that has the hosts.  weighed: weights.Weighed.
    drawn: positions in the order of weight, in the order to try the hosts;
        None for the order of weight.
    """

    def __init__(self, snapshot, weighed, drawn=None):
        self.snapshot, self.weighed = snapshot, weighed
        self._drawn = drawn

    @classmethod
    def of(cls, hosts, weighed):
        """Return the hosts of a HostBlock in its own order."""
        ranked = cls(hosts.snapshot, weighed)
        ranked.hosts = hosts
        return ranked

    @functools.cached_property
    def hosts(self):
        """The hosts in order: HostBlock."""
        return self.snapshot.block(self.weighed.table_rows[self.order])

    @functools.cached_property
    def order(self):
        """Positions in ``weighed``, in order: int (n,)."""
        order = self.weighed.order
        return order if self._drawn is None else order[self._drawn]

    def nodes_of(self, host):
        """Return the nodes of one host: HostBlock."""
        names, rows = self.snapshot.column('host'), self.weighed.table_rows
        return self.snapshot.block(
            rows[names.codes.take(rows) == names.code(host)])

    def __len__(self):
        return len(self.hosts if 'hosts' in self.__dict__
                   else self.weighed.table_rows)

    def rows(self):
        """Yield the table rows; sort all only if the first do not suffice."""
        known = self._head
        yield from known
        if len(known) < len(self):
            yield from self.hosts.rows[len(known):].tolist()

    @functools.cached_property
    def _head(self):
        """The rows of the best hosts: list, empty if all are sorted."""
        if self._drawn is not None or 'hosts' in self.__dict__:
            return []
        return self.weighed.table_rows[self.weighed.head].tolist()


def log_filtered(states, count):
    """Log the hosts that passed the filters.

    states: first HostStates.  count: number of all hosts.
    """
    LOG.debug('Filtered %(hosts)s%(more)s', {
        'hosts': states[:filters.NAMED], 'more': _more(count)})


def log_weighed(weighed, count):
    """Log the weighed hosts.

    weighed: first WeighedObjects.  count: number of all hosts.
    """
    LOG.debug('Weighed %(hosts)s%(more)s', {
        'hosts': weighed[:filters.NAMED], 'more': _more(count)})


def _first(hosts):
    """Return the hosts that a DEBUG line names: HostBlock."""
    return hosts.snapshot.block(hosts.rows[:filters.NAMED])


def _more(count):
    """Return a text with the number of hosts that the line leaves out."""
    more = count - filters.NAMED
    return f' and {more} more' if more > 0 else ''
