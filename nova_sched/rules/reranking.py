"""Ranking hosts once more after a pick, for the next instance of a request.

Of most rules a pick changes what they say of the host that was picked, and of
no other host.  So only its rows are judged and weighed anew; the others are
scaled anew where the least or greatest value of a weigher is another one.  The
result is that of ``Ranker.ranked``, and so is what stands on record.
"""

import numpy as np

from nova_sched import filters
from nova_sched import weights
from nova_sched.rules.picks import Reach
from nova_sched.rules.ranked import Ranked


class Reranker:
    """Filters and weighers at work on hosts that one request has picked.

    filters_: all that run.  judging: those of them whose verdict a pick may
        change.
    weighers: all that run.  weighing: numbers of those whose values a pick
        may change.
    """

    def __init__(self, spec_obj, filters_, judging, weighers, weighing):
        self._spec_obj = spec_obj
        self._filters, self._judging = filters_, judging
        self._weighers, self._weighing = weighers, weighing

    @classmethod
    def of(cls, filters_, weighers, spec_obj):
        """Return that of a request; None if rules look at other hosts, too.
        """
        reach = {id(rule): rule.reach_of_picks(spec_obj)
                 for rule in (*filters_, *weighers)}
        if Reach.ANY_HOST in reach.values():
            return None
        return cls(
            spec_obj, filters_,
            {id(filter_) for filter_ in filters_
             if reach[id(filter_)] is Reach.PICKED_HOST},
            weighers, [i for i, weigher in enumerate(weighers)
                       if reach[id(weigher)] is Reach.PICKED_HOST])

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
                self._weigh(weighed, passing)
        return Ranked(snapshot, weighed)

    def _passing(self, hosts, others, index, decision):
        """Return which hosts of a HostBlock pass once more: HostBlock.

        others: how many hosts pass besides, as they did before.
        """
        for filter_ in self._filters:
            if not filter_.run_filter_for_index(index):
                continue
            before, name = hosts, type(filter_).__name__
            if len(hosts) and id(filter_) in self._judging:
                hosts = hosts.where(
                    filters.FilterHandler.kept(filter_, hosts, self._spec_obj))
            decision.funnel.step(index, name, before.rows, hosts.rows, others)
        return hosts

    def _weigh(self, weighed, hosts):
        """Put what hosts of a HostBlock weigh now into a Weighed."""
        places = weighed.places(hosts.rows)
        weighed.put(places, {
            i: self._weighers[i].raw(hosts, self._spec_obj)
            for i in self._weighing}, self._weighers)
