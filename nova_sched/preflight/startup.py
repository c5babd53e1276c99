"""Whether the service can start with a configuration, and its components.

Checks by loading them, without connections.
"""

import dataclasses
import functools
import os

from nova_sched import conf as config
from nova_sched import exception
from nova_sched import rpc
from nova_sched.options import checking
from nova_sched.options import known_options
from nova_sched.options import releases
from nova_sched.options import sections
from nova_sched.options import spelling
from nova_sched.plugins import loading as plugins
from nova_sched.preflight import differences
from nova_sched.preflight.rows import OK
from nova_sched.preflight.rows import Row
from nova_sched.scheduler import loading

#: Exit status of the service for a configuration that it cannot run with.
EXIT_CONFIGURATION = 2

#: Options that must be valid before plug-ins are loaded: oslo.config ends the
#: process on a wrong value of a switch when it reads the files for plug-ins,
#: and without their directory all plug-ins would be reported as missing.
_BEFORE_LOADING = {'[nova_sched] plugin_path',
                   *(f'[DEFAULT] {name}' for name in sections.SWITCHES)}


def problems(conf):
    """Return the errors that stop the service: list of ConfigurationError.

    Reads every option, and loads the driver with its filters and weighers and
    the driver for the message broker.
    """
    return config.check(conf) or spelling.errors_as_in_files(_unloadable)(conf)


def all_problems(conf):
    """Return all errors that ``problems`` would return in several calls.

    A list of errors, and a set of the wrong options by their current names.
    These get their defaults, so the ConfigOpts can be inspected afterwards,
    but not used for a service.
    """
    errors, wrong = [], set()
    for stage in (checking.errors, _unloadable):
        if wrong & _BEFORE_LOADING:
            break
        while new := [error for error in stage(conf)
                      if error.option not in wrong]:
            errors += map(spelling.Spelling(conf).in_error, new)
            for error in new:
                wrong.add(error.option)
                _use_default(conf, error.option)
    return errors, wrong


def _use_default(conf, option):
    """Set an option, ``[section] name``, to its default."""
    section, name = known_options.place(option)
    opt = sections.known_opts().get((section, name))
    if opt is not None:
        conf.set_override(opt.dest, opt.default,
                          None if section == 'DEFAULT' else section)


def _unloadable(conf):
    """Return the errors of loading the drivers: list."""
    try:
        loading.load_driver(conf)
        # After the driver: this may change defaults that plug-ins read.
        rpc.get_transport(conf).cleanup()
    except exception.ConfigurationError as error:
        # A driver stops at the first wrong filter or weigher.
        if error.option in plugins.OPTIONS:
            return plugins.problems(conf) or [error]
        return [error]
    return []


def worker_count(conf):
    """Return how many worker processes to run: int.

    ``[scheduler] workers``; unset or 0 means one per usable CPU for the
    filter scheduler and classes that derive from it, and one for drivers whose
    state is per process.  Raises ConfigurationError for an unknown driver.
    """
    if conf.scheduler.workers:
        return conf.scheduler.workers
    if loading.driver_class(config.driver_name(conf)).ONE_PROCESS:
        return 1
    return len(os.sched_getaffinity(0))


@dataclasses.dataclass(frozen=True)
class Setup:
    """A configuration, and the components that it results in.

    conf: ConfigOpts without ``problems``, or with the defaults that
        ``all_problems`` has set.
    """

    conf: object

    @functools.cached_property
    def driver(self):
        """Name or class path of the driver."""
        return config.driver_name(self.conf)

    @functools.cached_property
    def driver_class(self):
        """The class of the driver."""
        return loading.driver_class(self.driver)

    @property
    def ranks(self):
        """Whether filters and weighers choose the host."""
        return self.driver != 'chance_scheduler'

    @functools.cached_property
    def filters(self):
        """Names of the filters that run, in order."""
        if not self.ranks:
            return []
        return config.enabled_filters(self.conf)

    @functools.cached_property
    def weigher_objects(self):
        """Name -> the weigher that runs, in order."""
        if not self.ranks:
            return {}
        return {type(weigher).__name__: weigher
                for weigher in plugins.load_weighers(self.conf)}

    @functools.cached_property
    def weighers(self):
        """Name -> its multiplier, None if it has no such option."""
        return {name: getattr(weigher, 'multiplier', None)
                for name, weigher in self.weigher_objects.items()}

    @functools.cached_property
    def given(self):
        """The options that the files set: list of releases.Written."""
        return releases.written(self.conf)

    @functools.cached_property
    def written(self):
        """The same options by their current names: set of (section, name)."""
        return {(option.section, option.opt.dest) for option in self.given}

    @functools.cached_property
    def workers(self):
        """The number of worker processes."""
        return worker_count(self.conf)

    @property
    def placement(self):
        """Whether Placement is used."""
        return bool(config.placement_configured(self.conf)
                    and self.driver_class.USES_ALLOCATION_CANDIDATES)

    @property
    def request_filters(self):
        """Names of the request filters that are on: list, in order."""
        return [name for name, option in differences.request_filters().items()
                if self.placement
                and (option is None or self.conf.scheduler[option])]

    def rows(self):
        """Return the components that run: list of Row."""
        return [Row(check, OK, text, value=value) for check, text, value in (
            ('driver', self.driver, self.driver),
            ('filters', self._filters(), self.filters),
            ('weighers', ', '.join(
                name if times is None else f'{name} {times:.12g}'
                for name, times in self.weighers.items()) or 'none',
             self.weighers),
            ('request filters', ', '.join(self.request_filters)
             or 'none: Placement is not used', self.request_filters),
            ('notifications', self._notifications(), None),
            ('workers', str(self.workers), self.workers))]

    def _filters(self):
        if self.ranks:
            return ', '.join(self.filters) or 'none'
        return f'none: {self.driver} draws among the hosts that are up'

    def _notifications(self):
        drivers = config.notification_drivers(self.conf)
        if not drivers:
            return 'off'
        if not getattr(self.driver_class, 'NOTIFIES', True):
            return f'off: {self.driver} sends none'
        return (f'{", ".join(drivers)}, '
                f'{self.conf.notifications.notification_format}')
