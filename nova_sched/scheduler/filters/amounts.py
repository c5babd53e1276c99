"""Base classes of filters that compare amounts.

A ``Resource`` describes RAM, disk or CPUs.  The base classes compare amounts,
and each filter's module has its log texts.  Plug-ins may compute ratios and
maxima (``BaseSettingFilter``).
"""

import dataclasses
import typing

import numpy as np
from oslo_log import log as logging

from nova_sched.hosts import budget
from nova_sched.rules import aggregates as aggregate_values
from nova_sched.rules import figures
from nova_sched.rules import phrases
from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)

#: Largest integer up to which all integers are exact as floats.
_FAR = 2 ** 53

#: Limits from this number on are left out; they would not fit the reply.
_NO_LIMIT = 2 ** 63


@dataclasses.dataclass(frozen=True)
class Resource:
    """A resource of hosts, in whole units.

    key: extra spec with the amount, such as ``resources:VCPU``.
    size: function of a RequestSpec that returns the amount of its flavor.
    total, free: functions of a HostBlock that return int64 (n,).
    limit: name of the limit for the compute node.
    per_limit: number of units in a unit of the limit.
    """

    name: str
    unit: str
    key: str
    size: typing.Callable
    total: typing.Callable
    free: typing.Callable
    limit: str
    per_limit: int = 1

    def needed(self, spec_obj):
        """Return the amount for one instance.

        None if the flavor's extra specs set it to 0, as those of flavors for
        bare metal do.
        """
        extra_specs = spec_obj.flavor.extra_specs or {}
        return (None if extra_specs.get(self.key) == '0'
                else self.size(spec_obj))

    def text(self, amount):
        """Return an amount with its unit."""
        return f'{amount:.12g} {self.unit}'


#: An instance's disk: root (unless on a volume), ephemeral and swap.
DISK = Resource(
    'disk', 'MB', 'resources:DISK_GB', limit='disk_gb', per_limit=1024,
    size=lambda spec_obj: (
        (0 if spec_obj.is_bfv else spec_obj.flavor.root_gb)
        + spec_obj.ephemeral_gb) * 1024 + spec_obj.swap,
    total=lambda hosts: hosts.total_usable_disk_gb * 1024,
    free=lambda hosts: hosts.free_disk_mb)

RAM = Resource(
    'RAM', 'MB', 'resources:MEMORY_MB', limit='memory_mb',
    size=lambda spec_obj: spec_obj.memory_mb,
    total=lambda hosts: hosts.total_usable_ram_mb,
    free=lambda hosts: hosts.free_ram_mb)

CPUS = Resource(
    'VCPUs', 'VCPUs', 'resources:VCPU', limit='vcpu',
    size=lambda spec_obj: spec_obj.vcpus,
    total=lambda hosts: hosts.vcpus_total,
    free=lambda hosts: hosts.vcpus_total - hosts.vcpus_used)


def without_cpus(hosts):
    """Return which hosts report no CPUs: bool (n,); warn if there are any."""
    missing = hosts.vcpus_total == 0
    if missing.any():
        LOG.warning('VCPUs not set; assuming CPU collection broken')
    return missing


class BaseSettingFilter(filters.ColumnFilter):
    """Base class of filters that apply a ratio or a maximum of each host.

    Here the setting is a column.  In Nova, a method
    ``_get_<key>(self, host_state, spec_obj)`` returns it for one host.  The
    method of a plug-in that derives from a built-in filter is called, too.
    """

    #: Name of the ratio or maximum: a column or option, and metadata key.
    key = ''
    #: Converts a text of aggregate metadata to a number.
    cast = float

    def _setting(self, hosts):
        """Return the built-in setting: a number, or float64 (n,)."""
        raise NotImplementedError(
            f'{type(self).__name__} has no _setting method')

    def _own_setting(self, host_state, spec_obj):
        """Return the built-in setting of one host, for ``super()`` calls."""
        setting = np.ravel(self._setting(host_state.block()))
        return self.cast(setting.item(0))

    def _settings(self, hosts, spec_obj):
        """Return the setting that applies: a number, or float64 (n,)."""
        if not self._has_method:
            return self._setting(hosts)
        get, settings = getattr(self, f'_get_{self.key}'), []
        for state in budget.checked(hosts.states()):
            try:
                settings.append(float(get(state, spec_obj)))
            except Exception as exc:
                exc.add_note(f'on host {state!r}')
                raise
        return np.array(settings, dtype=np.float64)

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        own, name = BaseSettingFilter._own_setting, f'_get_{cls.key}'
        if cls.key and not hasattr(cls, name):
            setattr(cls, name, own)
        #: Whether a plug-in defines ``_get_<key>``.
        cls._has_method = getattr(cls, name, own) is not own


class BaseCapacityFilter(BaseSettingFilter):
    """Hosts with enough of a resource free, with overcommit.

    The host's ratio multiplies its resource for all instances together; a
    single instance must not exceed the physical amount.
    """

    logs_rejected = True
    resource = None
    #: Log texts with %(host)s and %(needed)s; %(total)s or %(usable)s.
    too_small = too_full = ''

    def _setting(self, hosts):
        return getattr(hosts, self.key)

    def _limit(self, hosts, spec_obj):
        """Return the total amount with overcommit: float64 (n,)."""
        # Aggregates may set inf or nan; compute with them, as Python does.
        with np.errstate(invalid='ignore', over='ignore'):
            return (self.resource.total(hosts)
                    * self._settings(hosts, spec_obj))

    def _usable(self, hosts, limit):
        """Return the free amount with overcommit: float64 (n,)."""
        # In Nova's order, so that floats are rounded equally.
        return limit - (self.resource.total(hosts)
                        - self.resource.free(hosts))

    def _large(self, total, limit, needed):
        """Return which hosts have the amount in total: bool (n,)."""
        return total >= needed

    def _holds(self, usable, needed):
        """Return which hosts have the amount free: bool (n,).

        Hosts with a ratio of nan do not.
        """
        return usable >= needed

    def _exempt(self, hosts):
        """Return which hosts pass with any amount: bool (n,), or one bool."""
        return False

    def mask(self, hosts, spec_obj):
        needed = self.resource.needed(spec_obj)
        if needed is None:
            return np.ones(len(hosts), dtype=np.bool_)
        limit = self._limit(hosts, spec_obj)
        usable = self._usable(hosts, limit)
        large = self._large(self.resource.total(hosts), limit, needed)
        passes = self._exempt(hosts) | (large & self._holds(usable, needed))
        if LOG.isEnabledFor(logging.DEBUG):
            _log(hosts, ~large, self.too_small, needed=needed,
                 total=self.resource.total(hosts))
            _log(hosts, large & ~passes, self.too_full, needed=needed,
                 usable=usable)
        return passes

    def limits(self, hosts, spec_obj):
        limit = self._limit(hosts, spec_obj)[0] / self.resource.per_limit
        # An aggregate's ratio may be inf, nan or very large.
        if not abs(limit) < _NO_LIMIT:
            return {}
        return {self.resource.limit: int(limit)}

    def figures(self, hosts, spec_obj):
        needed = self.resource.needed(spec_obj)
        if needed is None:
            return []
        total = self.resource.total(hosts).astype(np.float64)
        limit = self._limit(hosts, spec_obj)
        usable, exempt = self._usable(hosts, limit), self._exempt(hosts)
        large = self._large(total, limit, needed) | exempt
        holds = self._holds(usable, needed) | exempt
        # inf where a host passes with a smaller amount, -inf for nan.
        total[large & (total < needed)] = np.inf
        usable[np.isnan(usable)] = -np.inf
        usable[holds & (usable < needed)] = np.inf
        names = self.resource.name, self.resource.unit
        return [figures.Figure(*names, needed, total, figures.TOTAL),
                figures.Figure(*names, needed, usable, figures.LEFT)]

    def reason(self, hosts, spec_obj):
        needed, text = self.resource.needed(spec_obj), self.resource.text
        total = self.resource.total(hosts)
        large = hosts.where(total >= needed)
        if len(large):
            usable = self._usable(large, self._limit(large, spec_obj))
            available = f'most free {text(np.fmax.reduce(usable))}'
        else:
            available = f'largest host {text(total.max())}'
        return phrases.Reason(f'need {text(needed)}', available)


def _log(hosts, which, text, **values):
    """Log a text with values, numbers or arrays (n,), for some hosts."""
    values = {name: np.broadcast_to(value, len(hosts))[which].tolist()
              for name, value in values.items()}
    for i, state in enumerate(hosts.where(which).states()):
        LOG.debug(text, {'host': state, **{
            name: column[i] for name, column in values.items()}})


class BaseExactFilter(filters.ColumnFilter):
    """Hosts with exactly the requested amount free, for bare metal."""

    resource = None

    def mask(self, hosts, spec_obj):
        needed = self.resource.needed(spec_obj)
        return (np.ones(len(hosts), dtype=np.bool_) if needed is None
                else self.resource.free(hosts) == needed)

    def limits(self, hosts, spec_obj):
        total = self.resource.total(hosts).item(0)
        return {self.resource.limit: total // self.resource.per_limit}

    def figures(self, hosts, spec_obj):
        needed = self.resource.needed(spec_obj)
        return [] if needed is None else [figures.Figure(
            self.resource.name, self.resource.unit, needed,
            self.resource.free(hosts).astype(np.float64), figures.EXACT)]

    def reason(self, hosts, spec_obj):
        needed = self.resource.needed(spec_obj)
        return phrases.Reason(f'need exactly {self.resource.text(needed)}',
                              self.nearest(hosts, needed))

    def nearest(self, hosts, needed):
        """Return a text with the closest amount of these hosts."""
        free = self.resource.free(hosts)
        nearest = free[np.abs(free - needed).argmin()]
        return f'nearest has {self.resource.text(nearest)}'


class BaseCountFilter(BaseSettingFilter):
    """Hosts with a count of something below a maximum."""

    logs_rejected = True

    #: The column with the count, and the plural noun for its items.
    column = noun = ''
    #: Log text with %(host)s and %(most)s.
    too_many = ''

    def configure(self, conf):
        self.most = getattr(conf.filter_scheduler, self.key)

    @staticmethod
    def cast(text):
        """Return an integer within the range of exact floats."""
        return max(-_FAR, min(int(text), _FAR))

    def _setting(self, hosts):
        # The lowest count that is rejected.
        return self.most

    def mask(self, hosts, spec_obj):
        most = self._settings(hosts, spec_obj)
        passes = getattr(hosts, self.column) < most
        if LOG.isEnabledFor(logging.DEBUG):
            _log(hosts, ~passes, self.too_many,
                 most=np.asarray(most).astype(np.int64))
        return passes

    def figures(self, hosts, spec_obj):
        # Rounded up, because a maximum of 2.5 leaves room for 3.
        room = (np.ceil(self._settings(hosts, spec_obj))
                - getattr(hosts, self.column))
        return [figures.Figure(
            self.noun, self.noun, 1, np.where(np.isnan(room), -np.inf, room),
            figures.ROOM)]

    def reason(self, hosts, spec_obj):
        # Callers must not see the maximum, which an operator sets.
        most = np.broadcast_to(self._settings(hosts, spec_obj), len(hosts))
        counts = getattr(hosts, self.column)
        row = (counts - most).argmin()
        return phrases.Reason(
            hosts=f'need fewer than {most[row]:.0f} {self.noun}, '
                  f'nearest has {counts[row]}')


class PerAggregate:
    """A mixin for filters with a ratio or maximum that aggregates may set.

    The smallest number that a host's aggregates have under ``key`` replaces
    the host's ratio or the option.
    """

    def _setting(self, hosts):
        return aggregate_values.numbers(
            hosts, self.key, super()._setting(hosts), self.cast)
