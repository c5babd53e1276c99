"""Options of keystoneauth1: session, endpoint and log-in."""

from keystoneauth1 import loading
from oslo_config import cfg


def options(service_type=None):
    """Return the options of the session, the log-in and the endpoint.

    service_type: as in Keystone's catalog; None for a log-in alone.
    """
    opts = loading.get_session_conf_options()
    if service_type is not None:
        opts = opts + loading.get_adapter_conf_options()
    cfg.set_defaults(opts, service_type=service_type,
                     valid_interfaces=['internal', 'public'])
    return opts + loading.get_auth_common_conf_options()


def with_log_in(opts):
    """Return options of a section and the usual login options.

    keystoneauth1 registers the options of a login method when it loads the
    method: registering them here would clash with other methods'.
    """
    names = {opt.dest for opt in opts}
    return opts + [
        opt for opt in loading.get_auth_plugin_conf_options('password')
        if opt.dest not in names]
