"""Which hosts can take an instance, best first.

The steps for one instance, in order (``Ranker.ranked``):

1. Narrowing by what the request names: a requested cell or destination, hosts
   to ignore, hosts and nodes to force (``narrowing``).
2. The filter chain, unless hosts are forced.
3. The weighers.
"""

import dataclasses

from oslo_log import log as logging

from nova_sched import filters
from nova_sched import weights
from nova_sched.rules import narrowing

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Ranked:
    """The hosts that can take an instance, best first.

    hosts: HostBlock in the order of weight.  weighed: weights.Weighed.
    """

    hosts: object
    weighed: weights.Weighed


class Ranker:
    """Filters and weighers, in the order they run, at work on hosts."""

    def __init__(self, filters_, weighers):
        self.filters, self.weighers = filters_, weighers
        self._filter_handler = filters.FilterHandler()
        self._weight_handler = weights.WeightHandler()

    def ranked(self, hosts, spec_obj, index, decision):
        """The hosts that can take an instance, best first: ``Ranked``.

        hosts: HostBlock; for the second and later instances of a request
            what the previous one's filters left.
        index: which instance of the request.
        """
        with decision.timed('filter'):
            hosts = self._filtered(hosts, spec_obj, index, decision)
        if LOG.isEnabledFor(logging.DEBUG):
            LOG.debug('Filtered %(hosts)s', {'hosts': hosts.states()})
        with decision.timed('weigh'):
            weighed = self._weight_handler.weigh(self.weighers, hosts,
                                                 spec_obj)
        ordered = hosts.snapshot.block(weighed.rows)
        if LOG.isEnabledFor(logging.DEBUG):
            LOG.debug('Weighed %(hosts)s', {'hosts': [
                weights.WeighedObject(state, weight) for state, weight
                in zip(ordered.states(), weighed.weights.tolist(),
                       strict=True)]})
        return Ranked(ordered, weighed)

    def _filtered(self, hosts, spec_obj, index, decision):
        left, is_forced = narrowing.narrowed(hosts, spec_obj, index, decision)
        if is_forced:
            return left
        return self._filter_handler.run(self.filters, left, spec_obj, index,
                                        decision)
