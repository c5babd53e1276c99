"""TrustedFilter: hosts that an attestation server vouches for."""

import numpy as np
from oslo_log import log as logging

from nova_sched.rules import attestation
from nova_sched.rules import phrases
from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)

_KEY = 'trust:trusted_host'


class TrustedFilter(filters.ColumnFilter):
    """Hosts whose node has the trust level of the flavor; all without one.

    The level is the extra spec ``trust:trusted_host``, such as ``trusted``
    or ``untrusted``; the server of [trusted_computing] says which a node has.
    It is asked in the background; a node of which nothing is known yet is
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
        return self.inputs if _wanted(spec_obj) else ()

    def mask(self, hosts, spec_obj):
        wanted = _wanted(spec_obj)
        if not wanted or not len(hosts):
            return np.ones(len(hosts), dtype=np.bool_)
        levels = self.levels.of(_nodes(hosts), _nodes(hosts.snapshot.block()))
        return hosts.judge('nodename', lambda node: levels[node] == wanted)

    def reason(self, hosts, spec_obj):
        levels = self.levels.known(_nodes(hosts)).values()
        return phrases.Reason(
            f"trust level '{phrases.shortened(_wanted(spec_obj))}' needed",
            f'hosts are {phrases.listed(levels)}')


def _wanted(spec_obj):
    return (spec_obj.flavor.extra_specs or {}).get(_KEY)


def _nodes(hosts):
    """Return the names of the nodes of a block: list."""
    _codes, in_use, names = hosts.labels('nodename')
    return [names[code] for code in in_use]
