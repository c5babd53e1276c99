"""TrustedFilter: hosts with a trust level of an attestation server."""

import numpy as np
from oslo_log import log as logging

from nova_sched.rules import attestation
from nova_sched.rules import phrases
from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)

_KEY = 'trust:trusted_host'


class TrustedFilter(filters.ColumnFilter):
    """Hosts with the flavor's trust level; all if the flavor has none.

    The flavor's level is the extra spec ``trust:trusted_host``, such as
    ``trusted`` or ``untrusted``.  Nodes' levels are queried in the background
    from the server of [trusted_computing]; a node without a level yet is
    ``unknown``.
    """

    code = 'trust'
    run_filter_once_per_request = asks_others = True
    inputs = ('nodename',)

    def configure(self, conf):
        LOG.warning('TrustedFilter is experimental: Nova had it up to 16.0 '
                    'and never tested it with a real attestation server.')
        self.levels = attestation.TrustLevels(
            attestation.AttestationServer(conf).poll,
            conf.trusted_computing.attestation_auth_timeout)

    def inputs_for(self, spec_obj):
        return self.inputs if _required(spec_obj) else ()

    def mask(self, hosts, spec_obj):
        required = _required(spec_obj)
        if not required or not len(hosts):
            return np.ones(len(hosts), dtype=np.bool_)
        levels = self.levels.of(
            [*hosts.distinct('nodename')],
            [*hosts.snapshot.block().distinct('nodename')])
        return hosts.evaluate(
            'nodename', lambda node: levels[node] == required)

    def reason(self, hosts, spec_obj):
        levels = self.levels.known(hosts.distinct('nodename')).values()
        return phrases.Reason(
            f"trust level '{phrases.shortened(_required(spec_obj))}' needed",
            f'hosts are {phrases.listed(levels)}')


def _required(spec_obj):
    return (spec_obj.flavor.extra_specs or {}).get(_KEY)
