"""Amounts up to which the compute node may fill itself."""

import functools
import json
import logging

from oslo_versionedobjects import exception as ovo_exception

from nova_sched.objects import base
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects import numa
from nova_sched.objects.fields import Field
from nova_sched.objects.fields import MalformedError

LOG = logging.getLogger(__name__)

_CPUS = fields.set_of(fields.SIZE)


@base.Registry.register
class SchedulerLimits(base.NovaObject):
    """What filters left for the compute node to check again.

    memory_mb in MiB, disk_gb in GiB; None means no limit.  ``other`` holds
    limits of third-party filters, which only the dict form can carry.
    """

    VERSION = '1.0'
    fields = {
        'memory_mb': Field(fields.INTEGER, null=True),
        'vcpu': Field(fields.INTEGER, null=True),
        'disk_gb': Field(fields.INTEGER, null=True),
        'numa_topology': Field(fields.nested(numa.NUMATopologyLimits),
                               null=True),
    }

    @classmethod
    def from_dict(cls, limits):
        """Return limits of {name: amount}; names that are missing become None.

        limits: dict or None.  Amounts are cut to whole numbers;
        ``numa_topology`` as of ``numa_limits``.
        Raises MalformedError for an amount that is no number.
        """
        limits = limits or {}
        known = {name: limits.get(name) for name in cls.fields}
        known['numa_topology'] = numa_limits(known['numa_topology'])
        made = cls.from_data(known, cls.VERSION)
        made.__dict__['other'] = {
            name: value for name, value in limits.items()
            if name not in cls.fields}
        return made

    @property
    def other(self):
        """Limits under names that the object form does not know."""
        return self.__dict__.get('other', {})

    def to_dict(self):
        """Return {name: amount} of the limits there are, objects as objects.
        """
        known = {name: getattr(self, name) for name in self.fields}
        return {name: value for name, value in {**known, **self.other}.items()
                if value is not None}

    def obj_to_primitive(self, target_version=None, version_manifest=None):
        """Return the envelope; limits of unknown names are left out."""
        if self.other:
            LOG.warning('Limits %s are not sent: only the dict form of a '
                        'reply can carry them', sorted(self.other))
        return super().obj_to_primitive(target_version, version_manifest)


def numa_limits(value):
    """Return NUMATopologyLimits from any form in which filters leave them.

    value: the object or its envelope; a dict of its ratios; Juno's dict of
        cells, of which the strictest counts; JSON text of any of these.
    None for no limits and, with one warning for each distinct cause, for what
    cannot be read: a limit that another author wrote must not fail a request.
    """
    try:
        return _read_numa(value)
    except MalformedError as error:
        _warn_unreadable(str(error.under('numa_topology')))
    except ovo_exception.IncompatibleObjectVersion as error:
        _warn_unreadable(f'numa_topology: {error}')
    return None


@functools.lru_cache(maxsize=1024)
def _warn_unreadable(cause):
    LOG.warning('A limit cannot be read and is left out, so the compute node '
                'does not enforce it; correct the filter that set it: %s',
                cause)


def _read_numa(value):
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise MalformedError(value, 'must be JSON text') from None
    if value is None or isinstance(value, numa.NUMATopologyLimits):
        return value
    if not isinstance(value, dict):
        raise MalformedError(value, 'must be NUMA limits')
    if 'nova_object.name' in value:
        made = numa.NUMATopologyLimits.from_envelope(value)
        value = {name: getattr(made, name) for name in made.fields}
    elif 'cells' in value:
        value = _ratios(value['cells'])
    for name in ('cpu_allocation_ratio', 'ram_allocation_ratio'):
        if value.get(name) is None:
            raise MalformedError.missing(name)
    # A new one, in a version that callers know.
    return numa.NUMATopologyLimits(**{
        name: value[name] for name in numa.NUMATopologyLimits.fields
        if value.get(name) is not None})


def _ratios(cells):
    """Return the fields of NUMATopologyLimits that Juno's cells come to: dict.
    """
    if not isinstance(cells, list):
        raise MalformedError(cells, 'must be a list', 'cells')
    if len(cells) > bounds.NUMA_CELLS:
        raise MalformedError(
            cells, f'must have at most {bounds.NUMA_CELLS} items', 'cells')
    made = {'cpu_allocation_ratio': [], 'ram_allocation_ratio': []}
    for number, cell in enumerate(cells):
        try:
            parts = {
                'cpu_allocation_ratio': (_amount(cell, 'cpu_limit'),
                                         len(_cpus(cell))),
                'ram_allocation_ratio': (_amount(cell, 'mem', 'limit'),
                                         _amount(cell, 'mem', 'total'))}
        except MalformedError as error:
            error.under(number).under('cells')
            raise
        for name, (limit, total) in parts.items():
            if total:
                made[name].append(limit / total)
    return {name: min(ratios) for name, ratios in made.items() if ratios}


def _cpus(cell):
    name = 'cpuset' if 'cpuset' in cell else 'cpus'
    try:
        if name == 'cpuset':
            return _CPUS.read(cell[name])
        return numa.parse_cpus(cell.get(name))
    except MalformedError as error:
        error.under(name)
        raise


def _amount(cell, *path):
    """Return the finite number at a path of keys."""
    for step in path:
        if not isinstance(cell, dict) or step not in cell:
            raise MalformedError.missing(*path)
        cell = cell[step]
    try:
        return fields.FLOAT.read(cell)
    except MalformedError as error:
        for step in reversed(path):
            error.under(step)
        raise
