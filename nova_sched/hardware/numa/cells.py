"""The NUMA cells of a host, as its compute service reports them."""

import dataclasses
import functools
import typing

from nova_sched.hardware.reports import UnreadableError
from nova_sched.objects import numa
from nova_sched.objects.fields import MalformedError

_DATA = 'nova_object.data'


class Pages(typing.NamedTuple):
    """Memory pages of one size: size_kb in KiB, the others in pages."""

    size_kb: int
    total: int
    used: int
    reserved: int

    @property
    def free(self):
        """The number of free pages."""
        return self.total - self.used - self.reserved


class Networks(typing.NamedTuple):
    """The networks near a cell: names of physical networks, and tunnels."""

    physnets: frozenset
    tunneled: bool


@dataclasses.dataclass(frozen=True)
class HostCell:
    """One NUMA cell of a host; memory in MiB.

    cpuset: CPUs for floating guest CPUs.  pcpuset: CPUs for pinned guest CPUs.
    cpu_usage: number of floating guest CPUs on the cell.  siblings: a set of
    threads for each core, () if unknown.  networks: Networks or None.
    socket: its number or None.
    """

    id: int
    cpuset: frozenset
    pcpuset: frozenset
    memory: int
    memory_usage: int = 0
    cpu_usage: int = 0
    pinned_cpus: frozenset = frozenset()
    siblings: tuple = ()
    pages: tuple = ()
    networks: Networks | None = None
    socket: int | None = None

    @functools.cached_property
    def free_cpus(self):
        """CPUs without a pinned guest CPU: a set."""
        return self.pcpuset - self.pinned_cpus

    @functools.cached_property
    def threads(self):
        """The number of threads of a core, of the largest if they differ."""
        return max(map(len, self.siblings), default=1) or 1

    @functools.cached_property
    def free_cores(self):
        """The free threads of each core, ascending: list of lists."""
        cores = self.siblings or [{cpu} for cpu in sorted(self.pcpuset)]
        return [sorted(self.free_cpus.intersection(core)) for core in cores]

    @functools.cached_property
    def free_threads(self):
        """The number of free threads of all cores."""
        return sum(map(len, self.free_cores))

    @property
    def free_memory(self):
        """Memory that is not used by guests."""
        return self.memory - self.memory_usage

    def usable_memory(self, pinned):
        """Return the memory for a guest cell, with overcommit unless pinned.
        """
        return self.free_memory if pinned else self.memory

    @functools.cached_property
    def pages_by_size(self):
        """The Pages, largest size first: a list."""
        return sorted(self.pages, key=lambda pages: pages.size_kb,
                      reverse=True)

    @functools.cached_property
    def smallest_pages(self):
        """The Pages of the smallest size, or None."""
        return min(self.pages, key=lambda pages: pages.size_kb, default=None)


def parse(value):
    """Return (cells, whether they are newer than Stein) of a JSON value.

    Reads a versioned NUMATopology, and the plain dicts from before Liberty.
    Cells older than Train have one set of CPUs for pinned and floating guests.
    Raises UnreadableError.
    """
    cells = _fields(value, 'a topology').get('cells')
    fields = [_fields(cell, 'a cell') for cell in _list(cells, 'cells')]
    made = tuple(map(_cell, fields))
    if len({cell.id for cell in made}) < len(made):
        raise UnreadableError('two cells with one id')
    return made, any(cell.get('pcpuset') is not None for cell in fields)


def _fields(value, what):
    if isinstance(value, dict) and _DATA in value:
        value = value[_DATA]
    if not isinstance(value, dict):
        raise UnreadableError(f'{what} that is no object')
    return value


def _list(value, what):
    if not isinstance(value, list):
        raise UnreadableError(f'{what} that are no list')
    return value


def _cell(fields):
    memory = fields.get('mem')
    memory = _fields(memory, 'mem') if memory is not None else {
        'total': fields.get('memory'), 'used': fields.get('memory_usage')}
    cpuset = _cpus(fields.get('cpuset', fields.get('cpus')), 'cpuset')
    pcpuset = fields.get('pcpuset')
    return HostCell(
        id=_number(fields.get('id'), 'id'),
        cpuset=cpuset,
        pcpuset=cpuset if pcpuset is None else _cpus(pcpuset, 'pcpuset'),
        memory=_number(memory.get('total'), 'memory'),
        memory_usage=_number(memory.get('used'), 'memory_usage', 0),
        cpu_usage=_number(fields.get('cpu_usage'), 'cpu_usage', 0),
        pinned_cpus=_cpus(fields.get('pinned_cpus') or [], 'pinned_cpus'),
        siblings=tuple(_cpus(core, 'siblings') for core
                       in _list(fields.get('siblings') or [], 'siblings')),
        pages=tuple(_pages(_fields(pages, 'mempages')) for pages
                    in _list(fields.get('mempages') or [], 'mempages')),
        networks=_networks(fields.get('network_metadata')),
        socket=_number(fields.get('socket'), 'socket', None))


def _cpus(value, what):
    if isinstance(value, str):
        try:
            return frozenset(numa.parse_cpus(value))
        except MalformedError:
            raise UnreadableError(f'{what} that is no set of CPUs') from None
    return frozenset(_number(cpu, what) for cpu in _list(value, what))


_MISSING = object()


def _number(value, what, default=_MISSING):
    if value is None and default is not _MISSING:
        return default
    if value.__class__ is not int:
        raise UnreadableError(f'{what} that is no whole number')
    return value


def _pages(fields):
    size = _number(fields.get('size_kb'), 'size_kb')
    if size < 1:
        raise UnreadableError('pages without a size')
    return Pages(size, _number(fields.get('total'), 'total'),
                 _number(fields.get('used'), 'used', 0),
                 _number(fields.get('reserved'), 'reserved', 0))


def _networks(value):
    if value is None:
        return None
    fields = _fields(value, 'network_metadata')
    names = _list(fields.get('physnets') or [], 'physnets')
    if not all(isinstance(name, str) for name in names):
        raise UnreadableError('physnets that are no names')
    return Networks(frozenset(names), bool(fields.get('tunneled')))


def primitive(cells, newer):
    """Return the JSON value of cells, as read by ``parse``."""
    version = '1.5' if newer else '1.2'
    return _envelope('NUMATopology', '1.2', {'cells': [
        _envelope('NUMACell', version, _cell_data(cell, newer))
        for cell in cells]})


def _envelope(name, version, data):
    return {'nova_object.name': name, 'nova_object.namespace': 'nova',
            'nova_object.version': version, _DATA: data}


def _cell_data(cell, newer):
    data = {
        'id': cell.id, 'cpuset': sorted(cell.cpuset),
        'memory': cell.memory, 'cpu_usage': cell.cpu_usage,
        'memory_usage': cell.memory_usage,
        'pinned_cpus': sorted(cell.pinned_cpus),
        'siblings': [sorted(core) for core in cell.siblings],
        'mempages': [_envelope('NUMAPagesTopology', '1.1', pages._asdict())
                     for pages in cell.pages]}
    if newer:
        data |= {'pcpuset': sorted(cell.pcpuset), 'socket': cell.socket}
    if cell.networks is not None:
        data['network_metadata'] = _envelope('NetworkMetadata', '1.0', {
            'physnets': sorted(cell.networks.physnets),
            'tunneled': cell.networks.tunneled})
    return data
