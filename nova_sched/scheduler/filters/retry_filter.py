"""RetryFilter: not where it has failed already."""

import numpy as np
from oslo_log import log as logging

from nova_sched.rules import phrases
from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)


class RetryFilter(filters.ColumnFilter):
    """Hosts on which this request was not tried before.

    A host and its node must both be named exactly in the request's ``retry``
    to be rejected.
    """

    code = 'retried'
    logs_rejected = True
    inputs = ('host', 'nodename')

    def mask(self, hosts, spec_obj):
        passes = np.ones(len(hosts), dtype=np.bool_)
        if spec_obj.retry is None:
            LOG.debug('Re-scheduling is disabled')
            return passes
        tried = [[node.host, node.hypervisor_hostname]
                 for node in spec_obj.retry.hosts or ()]
        # Of hosts and nodes each, few are named at all.
        there = np.flatnonzero(
            hosts.named('host', {host for host, _ in tried})
            & hosts.named('nodename', {node for _, node in tried}))
        if not len(there):
            return passes
        found = hosts.snapshot.block(hosts.rows[there])
        names = zip(found.objects('host'), found.objects('nodename'),
                    strict=True)
        pairs = set(map(tuple, tried))
        passes[there] = [pair not in pairs for pair in names]
        for state in hosts.where(~passes).states():
            # A request names no more hosts than it may have attempts.
            LOG.info('Host %(host)s fails.  Previously tried hosts: '
                     '%(hosts)s', {'host': [state.host, state.nodename],
                                   'hosts': tried})
        return passes

    def reason(self, hosts, spec_obj):
        tried = {host if node == host else f'{host} node {node}'
                 for host, node in zip(hosts.objects('host'),
                                       hosts.objects('nodename'),
                                       strict=True)}
        return phrases.Reason(hosts=f'tried before: {phrases.listed(tried)}')
