"""Options of keystoneauth1: the way to a service, and the log-in."""

from keystoneauth1 import loading


def options(service_type=None, deprecated=None):
    """Options of the session, of the log-in and of the way to a service.

    service_type: as in Keystone's catalog; None for a log-in alone.
    deprecated: old names of the way's options: name -> DeprecatedOpt list.
    """
    opts = loading.get_session_conf_options()
    if service_type is not None:
        opts = opts + loading.get_adapter_conf_options(
            deprecated_opts=deprecated)
    defaults = {'service_type': service_type,
                'valid_interfaces': ['internal', 'public']}
    for opt in opts:
        if opt.dest in defaults:
            opt.default = defaults[opt.dest]
    return opts + loading.get_auth_common_conf_options()


def with_log_in(opts):
    """Options of a section and the usual login options.

    The login options belong to the login method, which registers them when it
    is loaded: registering them here would clash with other methods'.
    """
    names = {opt.dest for opt in opts}
    return opts + [
        opt for opt in loading.get_auth_plugin_conf_options('password')
        if opt.dest not in names]
