"""Trial of a request on private hosts, by the service's own attempt.

Nothing is claimed: a host with an allocation request from Placement counts as
claimed.
"""

from nova_sched import exception
from nova_sched.hosts.decision import Decision
from nova_sched.rules import rule_inputs
from nova_sched.scheduler import attempt
from nova_sched.scheduler import claims
from nova_sched.scheduler.offer import Offer
from nova_sched.scheduler.ranking import Ranker

#: The best host first, without a random draw.
_BEST_FIRST = attempt.HostSelector(None, 1)


class Trial(attempt.SchedulingAttempt):
    """A SchedulingAttempt without effect.

    request: SchedulingRequest.  ranker: scheduler.ranking.Ranker.
    hosts: HostSnapshot; the trial works on a copy.
    picked: rows of the hosts for the first instances; the trial ends after
        these. By default each instance gets the best host.

    hosts, spec_obj: the copy and the RequestSpec after the placed instances.
    error: the exception that ended the trial; None if all are placed.
    """

    def __init__(self, request, ranker, hosts, picked=None):
        super().__init__(
            request, ranker, _BEST_FIRST,
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
        """The number of placed instances."""
        return len(self._placed)

    def _refuse(self):
        # The reasons of a trial are not read.
        raise exception.NoValidHost(reason='')


def without(ranker, filters):
    """Return a Ranker without some filters."""
    excluded = {id(filter_) for filter_ in filters}
    return Ranker([filter_ for filter_ in ranker.filters
                   if id(filter_) not in excluded], ranker.weighers,
                  ranker.has_plug_ins)


def asking_nobody(ranker, spec_obj):
    """Return a Ranker without the filters that query other services."""
    return without(ranker, [filter_ for filter_ in ranker.filters
                            if rule_inputs.asks_others(filter_, spec_obj)])


class _UnsentClaims(claims.Claims):
    """Claims that are not sent: the first claimable host is chosen.

    picked: rows to choose instead, in order, if they fit; or None.
    """

    def __init__(self, candidates, instance_uuids, picked):
        super().__init__(Offer(candidates), instance_uuids, None)
        self.together = True
        self._picked = None if picked is None else iter(picked)

    def choose(self, ranked, instance_uuid, refused=(), room=None):
        """See Claims.choose."""
        if self._picked is None:
            return super().choose(ranked, instance_uuid)
        row = next(self._picked)
        return (self.first_of(ranked.snapshot, row) if row in ranked.rows()
                else None)
