"""As ``nova.conf``: the process's global configuration, with our options.

Plug-ins register options of their own on it and read all options, by today's
names and by names before Ocata. It is ``oslo_config.cfg.CONF`` itself,
because some plug-ins import that one. The service reads nothing from it.
"""

import functools

from oslo_config import cfg
from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched.options import entry_points
from nova_sched.options import files
from nova_sched.options import names
from nova_sched.options import sections

LOG = logging.getLogger(__name__)

CONF = cfg.CONF

#: Options that were class paths before Ocata: (section, option) ->
#: {class path below nova.scheduler: name of its entry point}.
_CLASSES = {('scheduler', 'driver'): names.DRIVERS,
            ('scheduler', 'host_manager'): names.HOST_MANAGERS}


class _WithOldNames(cfg.ConfigOpts):
    """Has the options of [DEFAULT] before Ocata under their old names.

    oslo.config finds an option by its old name, but looks for its value under
    the old name only: a value by today's name is not found.
    """

    def __getattr__(self, name):
        today = _today().get(name)
        if today is None or (name in self and self._is_own(name, *today)):
            return super().__getattr__(name)
        section, name = today
        return _class_path(today, self[section][name])

    def _is_own(self, name, section, today):
        """Return whether to read the plug-in's own option by an old name.

        That is so if it is set, or if today's option is not.
        """
        return (self.get_location(name).location.is_user_controlled
                or self.get_location(today, section).location
                is cfg.Locations.opt_default)


@functools.cache
def _today():
    """Return where options of [DEFAULT] are now: name -> (section, name)."""
    return {(old.name or opt.name).replace('-', '_'): (section, dest)
            for (section, dest), opt in sections.known_opts().items()
            for old in opt.deprecated_opts or ()
            if section != 'DEFAULT' and (old.group or section) == 'DEFAULT'}


def _class_path(option, value):
    """Return the value of an option as before Ocata, when it named classes.

    option: (section, name).
    """
    if option not in _CLASSES:
        return value
    paths = {name: f'nova.scheduler.{path}'
             for path, name in _CLASSES[option].items()}
    for project in ('nova', 'nova_sched'):
        for point in entry_points.named(f'{project}.{".".join(option)}'):
            paths.setdefault(point.name, point.value.replace(':', '.'))
    return paths.get(value, value)


def follow(conf):
    """Read the configuration files of a service into ``CONF``.

    In a program that has read its own configuration into ``CONF``, nothing
    happens: plug-ins see that configuration.
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
            CONF.__class__ = _WithOldNames
            CONF([], project=conf.project, prog=conf.prog,
                 default_config_files=paths, default_config_dirs=[])
        else:
            # Leaves no moment without values, unlike reading from scratch.
            CONF.default_config_files, CONF.default_config_dirs = paths, []
            CONF.reload_config_files()
        # This service's default depends on whether Placement is used; plug-ins
        # expect the list that results.
        CONF.set_default('enabled_filters', list(config.enabled_filters(conf)),
                         'filter_scheduler')
    except (cfg.Error, OSError, UnicodeDecodeError) as error:
        LOG.warning('Plug-ins do not see values of the configuration files: '
                    '%s', error)


def given(args):
    """Return the configuration among arguments, or CONF without one."""
    return next((arg for arg in args if isinstance(arg, cfg.ConfigOpts)),
                CONF)
