"""Which hosts can take an instance, best first.

The steps for one instance, in order (``Ranker.ranked``):

1. Narrowing by what the request names: a requested cell or destination, hosts
   to ignore, hosts and nodes to force (``_NARROWING``).
2. The filter chain, unless hosts are forced.
3. The weighers.

Narrowing rules and log texts are those of Nova's host manager.
"""

import dataclasses

from oslo_log import log as logging

from nova_sched import filters
from nova_sched import weights

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Ranked:
    """The hosts that can take an instance, best first.

    hosts: HostBlock in the order of weight.  weighed: weights.Weighed.
    filtered: whether the filter chain ran (False when hosts are forced).
    """

    hosts: object
    weighed: weights.Weighed
    filtered: bool


class Ranker:
    """Filters and weighers, in the order they run, at work on hosts."""

    def __init__(self, filters_, weighers):
        self.filters, self.weighers = filters_, weighers
        self._filter_handler = filters.FilterHandler()
        self._weight_handler = weights.WeightHandler()

    def ranked(self, hosts, spec, index, decision):
        """The hosts that can take an instance, best first: ``Ranked``.

        hosts: HostBlock; for the second and later instances of a request
            what the previous one's filters left.
        index: which instance of the request.
        """
        with decision.timed('filter'):
            hosts, filtered = self._filtered(hosts, spec, index, decision)
        if LOG.isEnabledFor(logging.DEBUG):
            LOG.debug('Filtered %(hosts)s', {'hosts': hosts.states()})
        with decision.timed('weigh'):
            weighed = self._weight_handler.weigh(self.weighers, hosts, spec)
        ordered = hosts.snapshot.block(weighed.rows)
        if LOG.isEnabledFor(logging.DEBUG):
            LOG.debug('Weighed %(hosts)s', {'hosts': [
                weights.WeighedObject(state, weight) for state, weight
                in zip(ordered.states(), weighed.weights.tolist(),
                       strict=True)]})
        return Ranked(ordered, weighed, filtered)

    def _filtered(self, hosts, spec, index, decision):
        for name, narrow in _NARROWING:
            before = hosts
            hosts = narrow(hosts, spec)
            if hosts is not before:
                decision.step(index, name, before.rows, hosts.rows)
            if narrow is _ignored and spec.ignore_hosts and not len(hosts):
                return hosts, False
        forced = spec.force_hosts or spec.force_nodes
        if forced and not spec.get_scheduler_hint('_nova_check_type'):
            return hosts, False
        return self._filter_handler.run(self.filters, hosts, spec, index,
                                        decision), True


def _cell(hosts, spec):
    wanted = spec.requested_destination
    cell = wanted.cell if wanted is not None else None
    if cell is None or wanted.allow_cross_cell_move:
        return hosts
    return hosts.where(hosts.named('cell_uuid', [cell.uuid]))


def _requested(hosts, spec):
    wanted = spec.requested_destination
    if wanted is None or wanted.host is None:
        return hosts
    mask = hosts.named('host', [wanted.host])
    if wanted.node:
        mask &= hosts.named('nodename', [wanted.node])
    names = {'host': wanted.host, 'node': wanted.node}
    if mask.any():
        LOG.info('Host filter only checking host %(host)s and node %(node)s',
                 names)
    else:
        LOG.info('No hosts matched due to not matching requested destination '
                 '(%(host)s, %(node)s)', names)
    return hosts.where(mask)


def _ignored(hosts, spec):
    if not spec.ignore_hosts:
        return hosts
    wanted = {name.lower() for name in spec.ignore_hosts}
    mask = hosts.judge('host', lambda name: name.lower() in wanted)
    if mask.any():
        LOG.info('Host filter ignoring hosts: %s', ', '.join(
            sorted(set(hosts.where(mask).objects('host')))))
    return hosts.where(~mask)


def _forced_hosts(hosts, spec):
    if not spec.force_hosts:
        return hosts
    wanted = {name.lower() for name in spec.force_hosts}
    return _forced(hosts, hosts.judge('host', lambda n: n.lower() in wanted),
                   'hosts', spec.force_hosts)


def _forced_nodes(hosts, spec):
    if not spec.force_nodes:
        return hosts
    return _forced(hosts, hosts.named('nodename', spec.force_nodes), 'nodes',
                   spec.force_nodes)


def _forced(hosts, mask, kind, names):
    if mask.any():
        LOG.info('Host filter forcing available %(kind)s to %(names)s',
                 {'kind': kind, 'names': ', '.join(names)})
    else:
        LOG.info("No %(kind)s matched due to not matching 'force_%(kind)s' "
                 "value of '%(names)s'",
                 {'kind': kind, 'names': ', '.join(names)})
    return hosts.where(mask)


#: What a request may name, in the order in which it is looked at.
_NARROWING = (('requested cell', _cell),
              ('requested destination', _requested),
              ('ignore_hosts', _ignored),
              ('force_hosts', _forced_hosts),
              ('force_nodes', _forced_nodes))
