"""Trying a request on private hosts, by the attempt that serves.

Nothing is claimed: a host for which Placement offers an allocation request
counts as granted.
"""

from nova_sched import exception
from nova_sched.explain import matrix
from nova_sched.hosts.decision import Decision
from nova_sched.rules import rule_inputs
from nova_sched.rules.ranking import Ranker
from nova_sched.scheduler import attempt
from nova_sched.scheduler import claims

#: No draw: the best host first.
_IN_ORDER = attempt.HostSelector(None, 1)


class Trial(attempt.SchedulingAttempt):
    """A SchedulingAttempt that has no effect.

    request: SchedulingRequest.  ranker: rules.ranking.Ranker.
    hosts: HostSnapshot that it works on a copy of.
    budget: hosts.budget.Budget that it is charged to.
    picked: rows of the hosts that the first instances get; it ends then.  By
        default each gets the best, until all have one.

    count: how many instances are placed.
    error: what it ended with, an exception; None if all are placed.
    """

    def __init__(self, request, ranker, hosts, budget, picked=None):
        hosts = hosts.copy()
        super().__init__(request, ranker, _IN_ORDER, _Unclaimed(
            hosts.offer, bool(request.instance_uuids), picked),
            Decision(offer=hosts.offer, budget=budget))
        self.error, self._given = None, hosts
        try:
            if picked is None or picked:
                self.place(hosts, is_over=lambda: picked is not None and (
                    self.count >= len(picked)))
        except Exception as error:
            if getattr(error, 'is_budget_spent', False):
                raise
            self.error = error

    @property
    def count(self):
        return len(self._placed)

    def judged(self, ranker, ask_others=False, placement=(), refused=()):
        """Return who judges what for the first instance without a host:
        Matrix.

        Of the hosts as the instances before it leave them; every filter is
        asked, also one that is asked once a request.
        Arguments are those of ``matrix.judge``.
        """
        return matrix.judge(self._given, self._spec_obj, ranker,
                            ask_others=ask_others, placement=placement,
                            refused=refused)

    def _refuse(self):
        # Nobody reads the reasons of a trial.
        raise exception.NoValidHost(reason='')


def without(ranker, filters):
    """Return a Ranker without some filters."""
    gone = {id(filter_) for filter_ in filters}
    return Ranker([filter_ for filter_ in ranker.filters
                   if id(filter_) not in gone], ranker.weighers,
                  ranker.has_plug_ins)


def asking_nobody(ranker, spec_obj):
    """Return a Ranker without the filters that ask other services."""
    return without(ranker, [filter_ for filter_ in ranker.filters
                            if rule_inputs.asks_others(filter_, spec_obj)])


class _Unclaimed:
    """In the place of Claims: the first host that could be claimed.

    picked: the rows to take instead, in turn, as far as they fit; or None.
    """

    def __init__(self, offer, has_uuids, picked):
        self.claiming, self.together = offer.asked and has_uuids, True
        self._picked = None if picked is None else iter(picked)

    def choose(self, ranked, instance_uuid, refused=(), room=None):
        rows = ranked.rows()
        if self._picked is not None:
            wanted = next(self._picked)
            # Most often it is the first one.
            rows = (row for row in rows if row == wanted)
        for row in rows:
            if not self.claiming:
                return claims.ClaimedHost(row)
            taken = claims.first_of(ranked.snapshot, row)
            if taken is not None:
                return taken
        return None
