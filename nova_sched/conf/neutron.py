"""[neutron]: where Neutron is and how this service logs in to it."""

from oslo_config import cfg

from nova_sched.conf import keystone

GROUP = 'neutron'
HELP = """
Where Neutron is and how to log in to it, as the service's own user. Ports are
read with the caller's token, without a log-in; subnets, for [scheduler]
query_placement_for_routed_network_aggregates, with this log-in. The address is
the endpoint of service_type in Keystone's catalog, or endpoint_override. An
unset timeout means 30 seconds for an answer; a request waits for Neutron for
at most 45 seconds in all. A change requires a restart.
"""

OPTS = [*keystone.options('network'), cfg.IntOpt(
    'http_retries', default=3, min=0, help="""
How often a query to Neutron is repeated if the connection fails or times out.
An error that Neutron returns is never retried.
"""), cfg.IntOpt(
    'extension_sync_interval', default=600, min=0, help="""
Seconds for which a request uses the list of Neutron's extensions that it has
read. 0: the list is read before each use. Every request reads its own list.
""")]
