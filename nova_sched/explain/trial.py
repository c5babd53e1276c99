"""Trying a request on private hosts, by the attempt that serves.

Nothing is claimed: a host for which Placement offers an allocation request
counts as granted.
"""

from nova_sched import exception
from nova_sched.explain import matrix
from nova_sched.hosts.decision import Decision
from nova_sched.scheduler import attempt
from nova_sched.scheduler import claims

#: No draw: the best host first.
_IN_ORDER = attempt.HostSelector(None, 1)


class Trial(attempt.SchedulingAttempt):
    """A SchedulingAttempt that has no effect.

    request: SchedulingRequest.  ranker: rules.ranking.Ranker.
    hosts: HostSnapshot that it works on a copy of.
    budget: hosts.budget.Budget that it is charged to.

    count: how many instances are placed.
    error: what it ended with, an exception; None if all are placed.
    """

    def __init__(self, request, ranker, hosts, budget):
        hosts = hosts.copy()
        super().__init__(request, ranker, _IN_ORDER, _Unclaimed(
            hosts.offer, bool(request.instance_uuids)),
            Decision(offer=hosts.offer, budget=budget))
        self.error = None
        try:
            for _ in self.place(hosts):
                pass
        except Exception as error:
            if getattr(error, 'is_budget_spent', False):
                raise
            self.error = error

    @property
    def count(self):
        return len(self.placed)

    def judged(self, ranker, ask_others=False):
        """Return why the first instance without a host got none: Matrix.

        Of the hosts as the instances before it leave them; every filter is
        asked, also one that is asked once a request.
        Arguments are those of ``matrix.judge``.
        """
        return matrix.judge(self.hosts, self._spec_obj, ranker,
                            ask_others=ask_others)

    def _refuse(self):
        # Nobody reads the reasons of a trial.
        raise exception.NoValidHost(reason='')


class _Unclaimed:
    """In the place of Claims: the first host that could be claimed."""

    def __init__(self, offer, has_uuids):
        self.claiming = offer.asked and has_uuids

    def take(self, ranked, instance_uuid, spec_obj):
        for row in ranked.rows():
            if not self.claiming:
                return claims.ClaimedHost(row)
            taken = claims.first_of(ranked.snapshot, row)
            if taken is not None:
                return taken
        return None
