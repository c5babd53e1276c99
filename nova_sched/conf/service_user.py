"""[service_user]: what vouches for users' tokens at other services."""

from oslo_config import cfg

from nova_sched.conf import keystone

GROUP = 'service_user'
HELP = """
The user whose token is sent beside that of whoever asks, when ports are read
in Neutron. With it Neutron accepts a user's token that has expired while the
request was on its way. What is changed here takes a restart.
"""

OPTS = [*keystone.options(), cfg.BoolOpt(
    'send_service_user_token', default=False, help="""
Whether such a token is sent. Needs auth_type and the options that it needs,
and a user with a role that Neutron's service_token_roles names.
""")]


def listed():
    """Return the options above and the usual login options."""
    return keystone.with_log_in(OPTS)
