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

from oslo_log import log as logging

from nova_sched import filters
from nova_sched import weights
from nova_sched.hosts import budget
from nova_sched.rules import narrowing
from nova_sched.rules import reranking
from nova_sched.rules.ranked import Ranked

LOG = logging.getLogger(__name__)


class Ranker:
    """Filters and weighers, in the order they run, at work on hosts.

    has_plug_ins: whether any of them is of a third party.
    """

    def __init__(self, filters_, weighers, has_plug_ins=False):
        self.filters, self.weighers = filters_, weighers
        self.has_plug_ins = has_plug_ins
        #: Whether a rule may look at heartbeats of services that are up.
        self.reads_heartbeats = has_plug_ins or any(
            filter_.reads_heartbeats for filter_ in filters_)
        self._listing = _overriding('needs_all_instances', filters_)
        #: The columns of instances that filters compare those of all hosts by.
        self.instance_columns = tuple(dict.fromkeys(
            name for filter_ in filters_ for name in filter_.instance_columns))
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
        return reranking.Reranker.of(self.filters, self.weighers, spec_obj)

    def needs_all_instances(self, spec_obj):
        """Return whether a filter looks at all instances of all hosts."""
        return any(filter_.needs_all_instances(spec_obj)
                   for filter_ in self._listing)


def tell_filtered(states, count):
    """Log the hosts that filters left: the first ones as HostStates."""
    LOG.debug('Filtered %(hosts)s%(more)s', {
        'hosts': states[:filters.NAMED], 'more': _more(count)})


def tell_weighed(weighed, count):
    """Log the hosts in their order: the first ones as WeighedObjects."""
    LOG.debug('Weighed %(hosts)s%(more)s', {
        'hosts': weighed[:filters.NAMED], 'more': _more(count)})


def _overriding(name, filters_):
    """Return those of the filters that have a method of their own: list."""
    inherited = getattr(filters.BaseFilter, name)
    return [filter_ for filter_ in filters_
            if getattr(type(filter_), name, inherited) is not inherited]


def _first(hosts):
    """Return those of the hosts that a line at DEBUG names: HostBlock."""
    return hosts.snapshot.block(hosts.rows[:filters.NAMED])


def _more(count):
    """Return how many hosts such a line leaves out, in words."""
    more = count - filters.NAMED
    return f' and {more} more' if more > 0 else ''
