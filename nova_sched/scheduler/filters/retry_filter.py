"""RetryFilter: hosts that were not tried before."""

import numpy as np
from oslo_log import log as logging

from nova_sched.rules import phrases
from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)


class RetryFilter(filters.ColumnFilter):
    """Hosts on which the request has not failed before.

    A row is rejected if both its host and its node are in an entry of the
    request's ``retry``.
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
        # The few rows with a named host and a named node, to compare pairs.
        positions = np.flatnonzero(
            hosts.named('host', {host for host, _ in tried})
            & hosts.named('nodename', {node for _, node in tried}))
        if not len(positions):
            return passes
        named = hosts.snapshot.block(hosts.rows[positions])
        names = zip(named.objects('host'), named.objects('nodename'),
                    strict=True)
        pairs = set(map(tuple, tried))
        passes[positions] = [pair not in pairs for pair in names]
        for state in hosts.where(~passes).states():
            # At most as many lines as the request has attempts.
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
