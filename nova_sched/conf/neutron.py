"""[neutron]: where Neutron is and how this service logs in to it."""

from oslo_config import cfg

from nova_sched.conf import keystone

GROUP = 'neutron'
HELP = """
Where Neutron is and how to log in to it, as the service's own user. Ports are
read with the token of whoever asks, for which no log-in is needed; subnets,
with [scheduler] query_placement_for_routed_network_aggregates, by this
log-in. The address is that of the endpoint of service_type in Keystone's
catalog, or endpoint_override. An answer is waited for for 30 seconds where
timeout is unset, and no request longer than 45 seconds for all of them. What
is changed here takes a restart.
"""

OPTS = [*keystone.options('network'), cfg.IntOpt(
    'http_retries', default=3, min=0, help="""
How often a request to Neutron is sent again when there is no connection, or
no answer in time. An error that Neutron answers is never sent again.
"""), cfg.IntOpt(
    'extension_sync_interval', default=600, min=0, help="""
Seconds for which a request relies on the list of Neutron's extensions that it
has read. 0: it is read before each use. Every request reads a list of its
own.
""")]


def listed():
    """Return the options above and the usual login options."""
    return keystone.with_log_in(OPTS)
