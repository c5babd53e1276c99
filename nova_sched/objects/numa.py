"""Guest NUMA topologies in requests, and NUMA limits in replies."""

import functools

from oslo_log import log as logging
from oslo_versionedobjects import exception as ovo_exception

from nova_sched.objects import base
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects import network
from nova_sched.objects.fields import Field
from nova_sched.objects.fields import MalformedError

LOG = logging.getLogger(__name__)

_CPU = fields.between(0, bounds.CPU_NUMBER)
_CPUS = fields.set_of(_CPU, bounds.CPU_NUMBER + 1)
_ANY_CPUS = fields.set_of(fields.SIZE)
_PAGE_SIZE = fields.between(-3, fields.MAX_INT)


@base.Registry.register
class VirtCPUTopology(base.NovaObject):
    """The sockets, cores and threads of guest CPUs."""

    VERSION = '1.0'
    fields = {
        'sockets': Field(fields.SIZE, null=True),
        'cores': Field(fields.SIZE, null=True),
        'threads': Field(fields.SIZE, null=True),
    }


@base.Registry.register
class InstanceNUMACell(base.NovaObject, base.DictCompat):
    """One guest NUMA cell, with the current meaning of its fields.

    cpuset: floating guest CPUs.  pcpuset: pinned CPUs.  memory in MiB.
    pagesize in KiB, or -1 small, -2 large, -3 any, None not requested.

    Before version 1.5 all guest CPUs are in cpuset, and cpu_policy shows
    whether they are pinned.
    """

    VERSION = '1.6'
    fields = {
        'id': Field(fields.SIZE),
        'cpuset': Field(_CPUS, unset=set),
        'pcpuset': Field(_CPUS, unset=set, since='1.5'),
        'cpuset_reserved': Field(_CPUS, null=True, since='1.4'),
        'memory': Field(fields.SIZE),
        'pagesize': Field(_PAGE_SIZE, null=True, since='1.1'),
        'cpu_topology': Field(fields.nested(VirtCPUTopology), null=True,
                              since='1.2'),
        'cpu_pinning_raw': Field(
            fields.dict_of(_CPU, keys=_CPU, most=bounds.CPU_NUMBER + 1),
            null=True, since='1.2'),
        'cpu_policy': Field(
            fields.one_of(('shared', 'dedicated', 'mixed')), null=True,
            since='1.2'),
        'cpu_thread_policy': Field(
            fields.one_of(('prefer', 'isolate', 'require')), null=True,
            since='1.3'),
    }

    def settle(self):
        """Move pinned CPUs of an old sender to pcpuset."""
        if self.pcpuset or base.version_tuple(self.wire_version) >= (1, 5):
            return
        if self.cpu_policy == 'dedicated':
            self.pcpuset, self.cpuset = self.cpuset, set()
        else:
            self.pcpuset = set()

    def rewrite(self, data, version):
        """Move pinned CPUs to cpuset for readers before version 1.5.

        Raises MalformedError for a cell with both kinds, which these readers
        do not support.
        """
        if version < (1, 5):
            if self.cpu_policy == 'mixed':
                raise MalformedError(
                    'mixed', 'is unknown to releases before Victoria',
                    'cpu_policy')
            if self.cpu_policy == 'dedicated':
                data['cpuset'] = sorted(self.pcpuset)

    @property
    def total_cpus(self):
        """All guest CPUs of the cell: set."""
        return self.cpuset | self.pcpuset

    def __len__(self):
        return len(self.total_cpus)

    def __bool__(self):
        return True


@base.Registry.register
class InstanceNUMATopology(base.NovaObject, base.DictCompat):
    """The guest's NUMA cells."""

    VERSION = '1.3'
    fields = {
        'id': Field(fields.INTEGER),
        'instance_uuid': Field(fields.NAME),
        'cells': Field(fields.list_of(fields.nested(InstanceNUMACell),
                                      bounds.NUMA_CELLS), unset=list),
        'emulator_threads_policy': Field(
            fields.one_of(('share', 'isolate')), null=True, since='1.3'),
    }

    def settle(self):
        """Raise MalformedError for too many CPUs."""
        count = sum(len(cell.cpuset) + len(cell.pcpuset)
                    for cell in self.cells)
        if count > bounds.CPU_NUMBER + 1:
            raise MalformedError(
                self.cells, f'has {count} CPUs, and must have at most '
                f'{bounds.CPU_NUMBER + 1}', 'cells')

    def __len__(self):
        return len(self.cells)

    def __bool__(self):
        return True


@base.Registry.register
class NUMATopologyLimits(base.NovaObject):
    """Overcommit ratios a compute node must keep per NUMA cell."""

    VERSION = '1.1'
    fields = {
        'cpu_allocation_ratio': Field(fields.FLOAT),
        'ram_allocation_ratio': Field(fields.FLOAT),
        'network_metadata': Field(fields.nested(network.NetworkMetadata),
                                  null=True, since='1.1'),
    }


def parse_cpus(text):
    """Return the CPU numbers in a text such as '0-3,^2,8': set.

    Raises MalformedError for other text, and beyond bounds.CPU_NUMBER and
    bounds.CPU_TEXT.
    """
    must = (f'must be CPU numbers such as 0-3,^2,8, up to '
            f'{bounds.CPU_NUMBER}')
    if not isinstance(text, str):
        raise MalformedError(text, must)
    fields.check_length(text, bounds.CPU_TEXT)
    # With bits, the cost does not depend on the length of a range.
    chosen = excluded = 0
    for part in filter(None, map(str.strip, text.split(','))):
        numbers = part.removeprefix('^')
        first, _, last = numbers.partition('-')
        try:
            low, high = int(first), int(last or first)
        except ValueError:
            raise MalformedError(text, must) from None
        if not 0 <= low <= high <= bounds.CPU_NUMBER:
            raise MalformedError(text, must)
        named = (1 << high + 1) - (1 << low)
        if part.startswith('^'):
            excluded |= named
        else:
            chosen |= named
    bits = reversed(f'{chosen & ~excluded:b}')
    return {number for number, bit in enumerate(bits) if bit == '1'}


def limits_from_any(value):
    """Return the NUMATopologyLimits of a filter's limits in any form.

    value: the object or its envelope; a dict of its ratios; Juno's dict of
        cells, of which the strictest counts; JSON text of any of these.
    Returns None for no limits, and for invalid limits with one warning per
    distinct cause: a limit of a plug-in must not fail a request.
    """
    try:
        return _read_limits(value)
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


def _read_limits(value):
    value = fields.from_json_text(value)
    if value is None or isinstance(value, NUMATopologyLimits):
        return value
    if not isinstance(value, dict):
        raise MalformedError(value, 'must be NUMA limits')
    if 'nova_object.name' in value:
        limits = NUMATopologyLimits.from_envelope(value)
        value = {name: getattr(limits, name) for name in limits.fields}
    elif 'cells' in value:
        value = _ratios(value['cells'])
    for name in ('cpu_allocation_ratio', 'ram_allocation_ratio'):
        if value.get(name) is None:
            raise MalformedError.missing(name)
    # A new object, in a version that callers support.
    return NUMATopologyLimits(**{
        name: value[name] for name in NUMATopologyLimits.fields
        if value.get(name) is not None})


def _ratios(cells):
    """Return the fields of NUMATopologyLimits for Juno's cells: dict."""
    if not isinstance(cells, list):
        raise MalformedError(cells, 'must be a list', 'cells')
    ratios = {'cpu_allocation_ratio': [], 'ram_allocation_ratio': []}
    for number, cell in enumerate(cells):
        with fields.at('cells', number):
            parts = {
                'cpu_allocation_ratio': (_amount(cell, 'cpu_limit'),
                                         len(_limited_cpus(cell))),
                'ram_allocation_ratio': (_amount(cell, 'mem', 'limit'),
                                         _amount(cell, 'mem', 'total'))}
        for name, (limit, total) in parts.items():
            if total:
                ratios[name].append(limit / total)
    return {name: min(of_cells) for name, of_cells in ratios.items()
            if of_cells}


def _limited_cpus(cell):
    name = 'cpuset' if 'cpuset' in cell else 'cpus'
    with fields.at(name):
        if name == 'cpuset':
            return _ANY_CPUS.read(cell[name])
        return parse_cpus(cell.get(name))


def _amount(cell, *path):
    """Return the finite number at a path of keys."""
    for step in path:
        if not isinstance(cell, dict) or step not in cell:
            raise MalformedError.missing(*path)
        cell = cell[step]
    with fields.at(*path):
        return fields.FLOAT.read(cell)
