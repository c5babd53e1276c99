"""Shapes that filters of amounts share: resources of hosts, and counts.

What differs between RAM, disk and CPUs is in a ``Resource``; how a rule
judges an amount is in a base class here; its texts are in its own module.
Ratios and maxima may come from plug-ins (``BaseSettingFilter``).
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

#: Beyond this floats are no longer exact.
_FAR = 2 ** 53

#: What is not below it is no limit: it has no place in an answer.
_NO_LIMIT = 2 ** 63


@dataclasses.dataclass(frozen=True)
class Resource:
    """Something that hosts have a whole number of units of.

    needed: function of a RequestSpec; what one instance takes, or None if its
        flavor has it count as nothing, as for Placement (``resources:VCPU=0``
        of a flavor for bare metal).
    total, free: functions of a HostBlock: int64 (n,).
    limit: its name among limits, which counts in ``per_limit`` units.
    """

    name: str
    unit: str
    needed: typing.Callable
    total: typing.Callable
    free: typing.Callable
    limit: str
    per_limit: int = 1

    def text(self, amount):
        """Return an amount with its unit."""
        return f'{amount:.12g} {self.unit}'


#: Extra specs by which a flavor's disk, memory and CPUs count as nothing: in
#: items of its extra specs, which may be None.
_NO_DISK, _NO_MEMORY, _NO_CPUS = (
    (f'resources:{name}', '0') for name in ('DISK_GB', 'MEMORY_MB', 'VCPU'))

#: An instance's disk is root, unless that is on a volume, ephemeral and swap.
DISK = Resource(
    'disk', 'MB', limit='disk_gb', per_limit=1024,
    needed=lambda spec_obj: None if _NO_DISK in (
        spec_obj.flavor.extra_specs or {}).items() else (
        (0 if spec_obj.is_bfv else spec_obj.flavor.root_gb)
        + spec_obj.ephemeral_gb) * 1024 + spec_obj.swap,
    total=lambda hosts: hosts.total_usable_disk_gb * 1024,
    free=lambda hosts: hosts.free_disk_mb)

RAM = Resource(
    'RAM', 'MB', limit='memory_mb',
    needed=lambda spec_obj: None if _NO_MEMORY in (
        spec_obj.flavor.extra_specs or {}).items() else spec_obj.memory_mb,
    total=lambda hosts: hosts.total_usable_ram_mb,
    free=lambda hosts: hosts.free_ram_mb)

CPUS = Resource(
    'VCPUs', 'VCPUs', limit='vcpu',
    needed=lambda spec_obj: None if _NO_CPUS in (
        spec_obj.flavor.extra_specs or {}).items() else spec_obj.vcpus,
    total=lambda hosts: hosts.vcpus_total,
    free=lambda hosts: hosts.vcpus_total - hosts.vcpus_used)


def without_cpus(hosts):
    """Return which hosts report no CPUs at all: bool (n,); a warning if any
    does.
    """
    missing = hosts.vcpus_total == 0
    if missing.any():
        LOG.warning('VCPUs not set; assuming CPU collection broken')
    return missing


class BaseSettingFilter(filters.ColumnFilter):
    """Base class of filters that go by a ratio or a maximum of each host.

    It is a column here.  Nova's filters of these names get it of each host by
    a method ``_get_<key>(self, host_state, spec_obj)``; a plug-in that
    derives from a filter here and has that method is asked, too.
    """

    #: Name of the ratio or maximum: a column or an option, and in aggregates.
    key = ''
    #: Makes the number of what is written in aggregates.
    cast = float

    def _setting(self, hosts):
        """Return the filter's own: a number, or float64 (n,)."""
        raise NotImplementedError(
            f'{type(self).__name__} has no _setting method')

    def _own_setting(self, host_state, spec_obj):
        """Return the filter's own for one host, which plug-ins ask
        ``super()``.
        """
        own = np.ravel(self._setting(host_state.block()))
        return self.cast(own.item(0))

    def _settings(self, hosts, spec_obj):
        """Return what counts for each host: a number, or float64 (n,)."""
        if not self._is_asked:
            return self._setting(hosts)
        ask, found = getattr(self, f'_get_{self.key}'), []
        for state in budget.checked(hosts.states()):
            try:
                found.append(float(ask(state, spec_obj)))
            except Exception as exc:
                exc.add_note(f'on host {state!r}')
                raise
        return np.array(found, dtype=np.float64)

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        own, name = BaseSettingFilter._own_setting, f'_get_{cls.key}'
        if cls.key and not hasattr(cls, name):
            setattr(cls, name, own)
        cls._is_asked = getattr(cls, name, own) is not own


class BaseCapacityFilter(BaseSettingFilter):
    """Hosts that hold an instance besides the others, with overcommit.

    The host's ratio multiplies its resource for all instances together; one
    alone must fit into what is really there.
    """

    logs_rejected = True
    resource = None
    #: Log texts with %(host)s and %(needed)s; %(total)s or %(usable)s.
    too_small = too_full = ''

    def _setting(self, hosts):
        return getattr(hosts, self.key)

    def _limit(self, hosts, spec_obj):
        """Return the units to give out in all: float64 (n,)."""
        # Aggregates may say inf or nan: arithmetic goes on, as in Python.
        with np.errstate(invalid='ignore', over='ignore'):
            return (self.resource.total(hosts)
                    * self._settings(hosts, spec_obj))

    def _usable(self, hosts, limit):
        """Return the units still to give out: float64 (n,)."""
        # In Nova's order, so that floats round as they do there.
        return limit - (self.resource.total(hosts)
                        - self.resource.free(hosts))

    def _large(self, total, limit, needed):
        """Return which hosts could hold it if they were empty: bool (n,)."""
        return total >= needed

    def _holds(self, usable, needed):
        """Return which hosts have it left: bool (n,).

        None with a ratio of nan has.
        """
        return usable >= needed

    def _exempt(self, hosts):
        """Return which hosts pass whatever they have: bool (n,), or one bool.
        """
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
            self._log(hosts, needed, ~large, self.too_small,
                      total=self.resource.total(hosts))
            self._log(hosts, needed, large & ~passes, self.too_full,
                      usable=usable)
        return passes

    @staticmethod
    def _log(hosts, needed, which, text, **column):
        (name, values), = column.items()
        for state, value in zip(hosts.where(which).states(),
                                values[which].tolist(), strict=True):
            LOG.debug(text, {'host': state, 'needed': needed, name: value})

    def limits(self, hosts, spec_obj):
        limit = self._limit(hosts, spec_obj)[0] / self.resource.per_limit
        # Of an aggregate's ratio, which may be inf, nan or just as far.
        if not abs(limit) < _NO_LIMIT:
            return {}
        return {self.resource.limit: int(limit)}

    def figures(self, hosts, spec_obj):
        needed = self.resource.needed(spec_obj)
        if needed is None:
            return []
        total = self.resource.total(hosts).astype(np.float64)
        limit = self._limit(hosts, spec_obj)
        left, exempt = self._usable(hosts, limit), self._exempt(hosts)
        large = self._large(total, limit, needed) | exempt
        holds = self._holds(left, needed) | exempt
        # A host without a limit lacks nothing; one whose ratio is none has
        # nothing.
        total[large & (total < needed)] = np.inf
        left[np.isnan(left)] = -np.inf
        left[holds & (left < needed)] = np.inf
        of = self.resource.name, self.resource.unit
        return [figures.Figure(*of, needed, total, figures.TOTAL),
                figures.Figure(*of, needed, left, figures.LEFT)]

    def reason(self, hosts, spec_obj):
        needed, text = self.resource.needed(spec_obj), self.resource.text
        total = self.resource.total(hosts)
        large = hosts.where(total >= needed)
        if len(large):
            usable = self._usable(large, self._limit(large, spec_obj))
            found = f'most free {text(np.fmax.reduce(usable))}'
        else:
            found = f'largest host {text(total.max())}'
        return phrases.Reason(f'need {text(needed)}', found)


class BaseExactFilter(filters.ColumnFilter):
    """Hosts that have free exactly what is asked for: bare metal."""

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
        """Return the amount of these hosts that is nearest, in words."""
        free = self.resource.free(hosts)
        nearest = free[np.abs(free - needed).argmin()]
        return f'nearest has {self.resource.text(nearest)}'


class BaseCountFilter(BaseSettingFilter):
    """Hosts on which fewer than so many of something are counted."""

    logs_rejected = True

    #: The column with the count, and what it counts.
    column = noun = ''
    #: Log text with %(host)s and %(most)s.
    too_many = ''
    most = None

    @staticmethod
    def cast(text):
        """Return an integer, brought into the range of exact floats."""
        return max(-_FAR, min(int(text), _FAR))

    def _setting(self, hosts):
        # The first number that is too many.
        return self.most

    def mask(self, hosts, spec_obj):
        most = self._settings(hosts, spec_obj)
        passes = getattr(hosts, self.column) < most
        if LOG.isEnabledFor(logging.DEBUG):
            each = np.broadcast_to(most, len(hosts))
            for state, limit in zip(hosts.where(~passes).states(),
                                    each[~passes].tolist(), strict=True):
                LOG.debug(self.too_many, {'host': state, 'most': int(limit)})
        return passes

    def figures(self, hosts, spec_obj):
        # One more must be below what may be a fraction.
        room = (np.ceil(self._settings(hosts, spec_obj))
                - getattr(hosts, self.column))
        return [figures.Figure(
            self.noun, self.noun, 1, np.where(np.isnan(room), -np.inf, room),
            figures.ROOM)]

    def reason(self, hosts, spec_obj):
        # How few there must be is an option's, or an aggregate's, to say.
        most = np.broadcast_to(self._settings(hosts, spec_obj), len(hosts))
        counts = getattr(hosts, self.column)
        row = (counts - most).argmin()
        return phrases.Reason(
            hosts=f'need fewer than {most[row]:.0f} {self.noun}, '
                  f'nearest has {counts[row]}')


class PerAggregate:
    """Mixed into a filter above: aggregates may set its ratio or maximum.

    The smallest number that a host's aggregates give for ``key`` takes the
    place of the host's own ratio or of the option.
    """

    def _setting(self, hosts):
        return aggregate_values.numbers(
            hosts, self.key, super()._setting(hosts), self.cast)
