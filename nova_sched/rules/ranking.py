"""Which hosts can take an instance, best first.

The steps for one instance, in order (``Ranker.ranked``):

1. Narrowing by what the request names: a requested cell or destination, hosts
   to ignore, hosts and nodes to force (``narrowing``).
2. The filter chain, unless hosts are forced.
3. The weighers.

After a pick only the hosts that it may have changed are judged and weighed
anew (``Ranker.reranker``), where that comes to the same.
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
    """Filters and weighers, in the order they run, at work on hosts.

    has_plug_ins: whether any of them is of a third party.
    """

    def __init__(self, filters_, weighers, has_plug_ins=False):
        self.filters, self.weighers = filters_, weighers
        self.has_plug_ins = has_plug_ins
        #: Whether a rule may look at heartbeats of services that are up.
        self.reads_heartbeats = has_plug_ins or rule_inputs.read(
            filters_, rule_inputs.HEARTBEATS)
        #: The columns of instances that filters compare those of all hosts by.
        self.instance_columns = rule_inputs.instance_columns(filters_)
        self._may_need_instances = rule_inputs.read(
            filters_, rule_inputs.INSTANCES)
        self._filter_handler = filters.FilterHandler()
        self._weight_handler = weights.WeightHandler()

    def ranked(self, hosts, spec_obj, index, decision):
        """Return the hosts that can take an instance, best first: ``Ranked``.

        hosts: HostBlock; for the second and later instances of a request
            what the previous one's filters left.
        index: which instance of the request.
        """
        with decision.timed('filter'):
            hosts, is_forced = narrowing.narrowed(hosts, spec_obj, index,
                                                  decision)
            if not is_forced:
                hosts = self._filter_handler.run(
                    self.filters, hosts, spec_obj, index, decision)
        return Ranked(hosts.snapshot, self._weighed(hosts, spec_obj, index,
                                                    decision))

    def _weighed(self, hosts, spec_obj, index, decision):
        """Return what hosts that passed the filters weigh: weights.Weighed."""
        if LOG.isEnabledFor(logging.DEBUG):
            tell_filtered(_first(hosts).states(), len(hosts))
        with decision.timed('weigh'):
            weighed = self._weight_handler.weigh(
                self.weighers, hosts, spec_obj,
                functools.partial(budget.Step,
                                  index=decision.funnel.instance_at(index)))
        if LOG.isEnabledFor(logging.DEBUG):
            ranked = Ranked(hosts.snapshot, weighed)
            tell_weighed([
                weights.WeighedObject(state, weight) for state, weight
                in zip(_first(ranked.hosts).states(),
                       weighed.weights.tolist(), strict=False)], len(ranked))
        return weighed

    def reranker(self, spec_obj):
        """Return the Reranker of a request.

        None where a pick may change more than the host picked.  Lines about
        all hosts are written of all, and so are those about hosts that a
        request names.
        """
        wanted = spec_obj.requested_destination
        if (self.has_plug_ins or LOG.isEnabledFor(logging.DEBUG)
                or spec_obj.force_hosts or spec_obj.force_nodes
                or (wanted is not None and wanted.host is not None)):
            return None
        changed = rule_inputs.changed_by_picks(
            (*self.filters, *self.weighers), spec_obj)
        return None if changed is None else Reranker(
            spec_obj, self.filters, self.weighers, changed)

    def needs_all_instances(self, spec_obj):
        """Return whether a filter looks at all instances of all hosts."""
        return self._may_need_instances and rule_inputs.read(
            self.filters, rule_inputs.INSTANCES, spec_obj)


class Reranker:
    """Ranks the hosts of a request once more after a pick.

    Most rules say something else of the picked host after a pick, and of no
    other.  So only its rows are judged and weighed anew; the others are scaled
    anew where the least or greatest value of a weigher is another one.  The
    result is that of ``Ranker.ranked``, and so is what stands on record.

    filters_, weighers: all that run.  changed: ids of those whose verdicts or
        values a pick may change.
    """

    def __init__(self, spec_obj, filters_, weighers, changed):
        self._spec_obj, self._filters = spec_obj, filters_
        self._weighers, self._changed = weighers, changed

    def ranked(self, ranked, host, index, decision):
        """Return the hosts for an instance after the pick for the one before.

        ranked: the hosts for that one: Ranked, which is not to be used any
            more.
        host: name of the host that was picked.
        index: which instance of the request.
        None if there may be one host left, which is not weighed.
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
        """Return which hosts of a HostBlock pass once more: HostBlock.

        others: how many hosts pass besides, as they did before.
        """
        for filter_ in self._filters:
            if not filter_.run_filter_for_index(index):
                continue
            before, name = hosts, type(filter_).__name__
            if len(hosts) and id(filter_) in self._changed:
                hosts = hosts.where(
                    filters.FilterHandler.kept(filter_, hosts, self._spec_obj))
            decision.funnel.step(index, name, before.rows, hosts.rows, others)
        return hosts


class Ranked:
    """The hosts that can take an instance, best first.

    snapshot: HostSnapshot that they are of.  weighed: weights.Weighed.
    drawn: positions in the order of weight, in the order in which to try the
        hosts; None for the order of weight.
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
        """All of them: HostBlock."""
        return self.snapshot.block(self.weighed.given[self.order])

    @functools.cached_property
    def order(self):
        """Where each stands in what was weighed: int (n,)."""
        order = self.weighed.order
        return order if self._drawn is None else order[self._drawn]

    def nodes_of(self, host):
        """Return those that are nodes of one host: HostBlock."""
        names, rows = self.snapshot.column('host'), self.weighed.given
        return self.snapshot.block(
            rows[names.codes.take(rows) == names.code(host)])

    def __len__(self):
        return len(self.hosts if 'hosts' in self.__dict__
                   else self.weighed.given)

    def rows(self):
        """Yield the table rows, without sorting more than are asked for."""
        known = self._head
        yield from known
        if len(known) < len(self):
            yield from self.hosts.rows[len(known):].tolist()

    @functools.cached_property
    def _head(self):
        """The rows of the best hosts: list, empty where all are in order."""
        if self._drawn is not None or 'hosts' in self.__dict__:
            return []
        return self.weighed.given[self.weighed.head].tolist()


def tell_filtered(states, count):
    """Log the hosts that filters left: the first ones as HostStates."""
    LOG.debug('Filtered %(hosts)s%(more)s', {
        'hosts': states[:filters.NAMED], 'more': _more(count)})


def tell_weighed(weighed, count):
    """Log the hosts in their order: the first ones as WeighedObjects."""
    LOG.debug('Weighed %(hosts)s%(more)s', {
        'hosts': weighed[:filters.NAMED], 'more': _more(count)})


def _first(hosts):
    """Return those of the hosts that a line at DEBUG names: HostBlock."""
    return hosts.snapshot.block(hosts.rows[:filters.NAMED])


def _more(count):
    """Return how many hosts such a line leaves out, in words."""
    more = count - filters.NAMED
    return f' and {more} more' if more > 0 else ''
