"""[placement]: where Placement is and how this service logs in to it."""

from nova_sched.conf import keystone
from nova_sched.options import files

GROUP = 'placement'
HELP = """
Where Placement is and how to log in to it, as the service's own user. Set
auth_type and the options that it needs, or leave out the whole section if
there is no Placement. The address is the endpoint of service_type in
Keystone's catalog, or endpoint_override. An unset timeout means 30 seconds.
Changing auth_type requires a restart.
"""

#: Placement is used if any of these options is set. auth_plugin is an older
#: name of auth_type.
TRIGGER_OPTIONS = ('auth_type', 'auth_plugin', 'auth_section', 'auth_url',
                   'endpoint_override')


OPTS = keystone.options('placement')


def placement_configured(conf):
    """Return whether the configuration names a Placement: bool."""
    return any(
        (name in conf.placement and conf.placement[name])
        or files.raw_values(conf, GROUP, name) for name in TRIGGER_OPTIONS)


def disable(conf):
    """Treat Placement as unconfigured, even if the files configure it.

    conf: loading.Options.
    """
    for name in TRIGGER_OPTIONS:
        if name in conf.placement:
            conf.set_override(name, None, GROUP)
    conf.contents = [
        (path, {section: values for section, values in contents.items()
                if section != GROUP}) for path, contents in conf.contents]


def check_tls_files(conf):
    """Raise ConfigurationError if a TLS file cannot be read.

    Skipped if Placement is not configured.  An unreadable file would make
    every request fail.
    """
    if not placement_configured(conf):
        return
    for name in ('cafile', 'certfile', 'keyfile'):
        if conf.placement[name]:
            files.check_readable(f'[{GROUP}] {name}', conf.placement[name])
