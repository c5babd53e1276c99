"""As ``nova.service_auth``: tokens for calls of other services."""

import functools

from keystoneauth1 import loading
from keystoneauth1 import service_token

from nova_sched.compat.nova.conf import CONF
from nova_sched.network.user_token import UserToken

_GROUP = 'service_user'


def get_auth_plugin(context, user_auth=None):
    """Return a plug-in of keystoneauth1 with the token of a context.

    user_auth: plug-in to use instead of the context's token.
    With [service_user] send_service_user_token, calls carry a token of that
    user as well.
    """
    auth = user_auth or UserToken(context.auth_token,
                                  context.service_catalog)
    if not CONF.service_user.send_service_user_token:
        return auth
    return service_token.ServiceTokenAuthWrapper(auth, _service_auth())


get_service_user_token_auth_plugin = get_auth_plugin


@functools.cache
def _service_auth():
    """Return the plug-in of [service_user]; cached, as it has the token."""
    found = loading.load_auth_from_conf_options(CONF, _GROUP)
    if found is None:
        raise RuntimeError('[service_user] send_service_user_token needs '
                           'credentials; no auth_type is set there')
    return found
