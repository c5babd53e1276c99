"""As ``nova.conf``: the process's global configuration, with our options.

Plug-ins register options of their own on it and read both kinds. It is
``oslo_config.cfg.CONF`` itself, because some plug-ins import that one. The
service reads nothing from it.
"""

from oslo_config import cfg
from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched.options import files

LOG = logging.getLogger(__name__)

CONF = cfg.CONF


def follow(conf):
    """Have ``CONF`` read the files that a service's configuration was read
    from, as they now are.

    In a program that has read a configuration of its own into ``CONF``,
    plug-ins see that one.
    """
    program = getattr(CONF, 'prog', None)
    if program not in (None, conf.prog):
        return
    CONF.contents = conf.contents
    paths = files.config_files(conf)
    try:
        if program is None:
            logging.register_options(CONF)
            config.register_opts(CONF)
        if program is None:
            CONF([], project=conf.project, prog=conf.prog,
                 default_config_files=paths, default_config_dirs=[])
        else:
            # Leaves no moment without values, unlike reading from scratch.
            CONF.default_config_files, CONF.default_config_dirs = paths, []
            CONF.reload_config_files()
        # Plug-ins expect a list; here it depends on whether Placement is
        # asked where it is not set.
        CONF.set_default('enabled_filters', list(config.enabled_filters(conf)),
                         'filter_scheduler')
    except (cfg.Error, OSError, UnicodeDecodeError) as error:
        LOG.warning('Plug-ins do not see what the configuration files hold: '
                    '%s', error)
