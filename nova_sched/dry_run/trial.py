"""Trying a request on private hosts, by the attempt that serves.

Nothing is claimed: a host for which Placement offers an allocation request
counts as granted.
"""

from nova_sched import exception
from nova_sched.hosts.decision import Decision
from nova_sched.rules import rule_inputs
from nova_sched.rules.ranking import Ranker
from nova_sched.scheduler import attempt
from nova_sched.scheduler import claims
from nova_sched.scheduler.offer import Offer

#: No draw: the best host first.
_IN_ORDER = attempt.HostSelector(None, 1)


class Trial(attempt.SchedulingAttempt):
    """A SchedulingAttempt that has no effect.

    request: SchedulingRequest.  ranker: rules.ranking.Ranker.
    hosts: HostSnapshot that it works on a copy of.
    picked: rows of the hosts that the first instances get; it ends then.  By
        default each gets the best, until all have one.

    hosts, spec_obj: the copy and the RequestSpec, as the instances that have
        a host leave them.
    count: how many instances are placed.
    error: what it ended with, an exception; None if all are placed.
    """

    def __init__(self, request, ranker, hosts, picked=None):
        super().__init__(
            request, ranker, _IN_ORDER,
            _UnsentClaims(hosts.offer, request.instance_uuids, picked),
            Decision())
        self.error, hosts = None, hosts.copy()
        try:
            if picked is None or picked:
                self.place(hosts, is_over=lambda: picked is not None and (
                    self.count >= len(picked)))
        except Exception as error:
            if getattr(error, 'is_budget_spent', False):
                raise
            self.error = error
        self.hosts, self.spec_obj = hosts, self._spec_obj

    @property
    def count(self):
        return len(self._placed)

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


class _UnsentClaims(claims.Claims):
    """Claims that are not sent: the first host that could be claimed counts.

    picked: the rows to take instead, in turn, as far as they fit; or None.
    """

    def __init__(self, candidates, instance_uuids, picked):
        super().__init__(Offer(candidates), instance_uuids, None)
        self.together = True
        self._picked = None if picked is None else iter(picked)

    def choose(self, ranked, instance_uuid, refused=(), room=None):
        if self._picked is None:
            return super().choose(ranked, instance_uuid)
        row = next(self._picked)
        return (self.first_of(ranked.snapshot, row) if row in ranked.rows()
                else None)
