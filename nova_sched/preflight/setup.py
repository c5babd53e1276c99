"""What a service of a configuration runs with: driver, filters, weighers."""

import dataclasses
import functools

from nova_sched import conf as config
from nova_sched.options import names
from nova_sched.options import releases
from nova_sched.plugins import drivers
from nova_sched.plugins import loading as plugins
from nova_sched.preflight import known_differences
from nova_sched.preflight import startup
from nova_sched.preflight.rows import OK
from nova_sched.preflight.rows import Row


@dataclasses.dataclass(frozen=True)
class Setup:
    """A configuration, and what comes of it.

    conf: ConfigOpts of which startup.problems finds nothing, or of which
        startup.all_problems has put aside what it has found.
    """

    conf: object

    @functools.cached_property
    def driver(self):
        """Name or class path of the driver."""
        return config.driver_name(self.conf)

    @functools.cached_property
    def driver_class(self):
        """The class of the driver."""
        return drivers.driver_class(self.driver)

    @property
    def ranks(self):
        """Whether filters and weighers say which host is taken."""
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
        """Name -> its multiplier, None where it has no option for that."""
        return {name: getattr(weigher, 'multiplier', None)
                for name, weigher in self.weigher_objects.items()}

    @functools.cached_property
    def given(self):
        """The options that the files give: list of releases.Written."""
        return releases.written(self.conf)

    @functools.cached_property
    def written(self):
        """The same by their current names: set of (section, name)."""
        return {(option.section, option.opt.dest) for option in self.given}

    def value(self, section, name):
        """Return the value of an option, or its default."""
        return (self.conf if section == 'DEFAULT'
                else self.conf[section])[name]

    @property
    def bare_metal(self):
        """Whether the host manager is the one for bare metal."""
        return (config.host_manager_name(self.conf)
                == names.IRONIC_HOST_MANAGER)

    @functools.cached_property
    def workers(self):
        """The number of worker processes."""
        return startup.worker_count(self.conf)

    @property
    def placement(self):
        """Whether Placement is asked."""
        return bool(config.placement_configured(self.conf)
                    and self.driver_class.USES_ALLOCATION_CANDIDATES)

    @property
    def request_filters(self):
        """Names of the request filters that are on: list, in order."""
        return [name for name, (_since, option)
                in known_differences.REQUEST_FILTERS.items() if self.placement
                and (option is None or self.conf.scheduler[option])]

    def rows(self):
        """Return what runs, line by line: list of Row."""
        return [Row(check, OK, found, value=value) for check, found, value in (
            ('driver', self.driver, self.driver),
            ('filters', self._filters(), self.filters),
            ('weighers', ', '.join(
                name if times is None else f'{name} {times:.12g}'
                for name, times in self.weighers.items()) or 'none',
             self.weighers),
            ('request filters', ', '.join(self.request_filters)
             or 'none: Placement is not asked', self.request_filters),
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
