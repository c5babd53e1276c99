"""[placement]: where Placement is and how this service logs in to it."""

from keystoneauth1 import loading
from oslo_config import cfg

from nova_sched.options import files

GROUP = 'placement'
HELP = """
Where Placement is and how to log in to it, as the service's own user. Set
auth_type and the options that it needs, or leave out the whole section where
there is no Placement. Its address is that of the endpoint of service_type in
Keystone's catalog, or endpoint_override. An answer is waited for for 30
seconds where timeout is unset. What is changed here takes a restart.
"""

#: Any of these, set, says that there is a Placement to ask. auth_plugin is
#: what auth_type was called first.
SIGNS = ('auth_type', 'auth_plugin', 'auth_section', 'auth_url',
         'endpoint_override')


def _opts():
    old = {'region-name': [cfg.DeprecatedOpt('os_region_name', GROUP)],
           'valid-interfaces': [cfg.DeprecatedOpt('os_interface', GROUP)]}
    opts = (loading.get_session_conf_options() +
            loading.get_adapter_conf_options(deprecated_opts=old) +
            loading.get_auth_common_conf_options())
    defaults = {'service_type': 'placement',
                'valid_interfaces': ['internal', 'public']}
    for opt in opts:
        if opt.dest in defaults:
            opt.default = defaults[opt.dest]
    return opts


OPTS = _opts()


def listed():
    """The options above and the usual login options.

    The login options belong to the login method, which registers them when it
    is loaded: registering them here would clash with other methods'.
    """
    names = {opt.dest for opt in OPTS}
    return OPTS + [
        opt for opt in loading.get_auth_plugin_conf_options('password')
        if opt.dest not in names]


def placement_configured(conf):
    """Whether the configuration names a Placement to ask: bool."""
    if any(conf.placement[name] for name in SIGNS
           if name in conf.placement):
        return True
    return any(files.raw_values(conf, GROUP, name) for name in SIGNS)
