"""[service_user]: the service token beside users' tokens."""

from oslo_config import cfg

from nova_sched.conf import keystone

GROUP = 'service_user'
HELP = """
The user whose token is sent beside the caller's token when ports are read in
Neutron. With it Neutron accepts a caller's token that expired during the
request. A change requires a restart.
"""

OPTS = [*keystone.options(), cfg.BoolOpt(
    'send_service_user_token', default=False, help="""
Whether the service token is sent. It needs auth_type and the options of that
log-in, and a user with a role that Neutron's service_token_roles names.
""")]
