"""As ``nova.compute.rpcapi``: a client of compute services that asks none.

Drivers make one in their constructors, and cast nothing when they decide.
"""

from oslo_config import cfg

from nova_sched.compat.nova import compute_api
from nova_sched.compat.nova.conf import CONF

RPC_TOPIC = 'compute'

CONF.register_opt(cfg.StrOpt(
    'compute_topic', default=RPC_TOPIC, help='For plug-ins that read it.'))


class ComputeAPI(compute_api.Telling):
    """It has no methods: what they do is for conductors to do."""

    MODULE = 'nova.compute.rpcapi'
    INSTEAD = 'answer with the hosts, and the caller casts to them'
