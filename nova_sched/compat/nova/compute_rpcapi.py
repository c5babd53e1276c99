"""As ``nova.compute.rpcapi``: a client of compute services without methods.

Drivers construct it, and cast nothing while they decide.
"""

from oslo_config import cfg

from nova_sched.compat.nova import compute_api
from nova_sched.compat.nova.conf import CONF

RPC_TOPIC = 'compute'

CONF.register_opt(cfg.StrOpt(
    'compute_topic', default=RPC_TOPIC, help='For plug-ins that read it.'))


class ComputeAPI(compute_api.LookupsOnly):
    """Has no methods: only conductors call compute services."""

    MODULE = 'nova.compute.rpcapi'
    INSTEAD = 'return the hosts; the caller casts to them'
