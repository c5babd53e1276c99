"""Guest NUMA topologies as requests carry them, and the limits in replies."""

import json

from nova_sched.objects import base
from nova_sched.objects import fields
from nova_sched.objects import network
from nova_sched.objects.fields import Field
from nova_sched.objects.fields import MalformedError

_MAX_CPU = 65535
_CPU = fields.between(0, _MAX_CPU)
_CPUS = fields.set_of(_CPU)
_PAGE_SIZE = fields.between(-3, fields.MAX_INT)


@base.Registry.register
class VirtCPUTopology(base.NovaObject):
    """How guest CPUs are arranged."""

    VERSION = '1.0'
    fields = {
        'sockets': Field(fields.SIZE, null=True),
        'cores': Field(fields.SIZE, null=True),
        'threads': Field(fields.SIZE, null=True),
    }


@base.Registry.register
class InstanceNUMACell(base.NovaObject):
    """One guest NUMA cell in today's meaning, whoever sent it.

    cpuset: floating guest CPUs.  pcpuset: pinned ones.  memory in MiB.
    pagesize in KiB, or -1 small, -2 large, -3 any, None not asked for.

    Before version 1.5 all guest CPUs were in cpuset and cpu_policy told
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
            fields.dict_of(_CPU, keys=_CPU), null=True, since='1.2'),
        'cpu_policy': Field(
            fields.one_of(('shared', 'dedicated', 'mixed')), null=True,
            since='1.2'),
        'cpu_thread_policy': Field(
            fields.one_of(('prefer', 'isolate', 'require')), null=True,
            since='1.3'),
    }

    def settle(self):
        """Move pinned CPUs of an old sender to where they belong now."""
        if self.pcpuset or base.version_tuple(self.wire_version) >= (1, 5):
            return
        if self.cpu_policy == 'dedicated':
            self.pcpuset, self.cpuset = self.cpuset, set()
        else:
            self.pcpuset = set()

    def rewrite(self, data, version):
        """Pinned CPUs go back to cpuset for readers older than 1.5.

        Raises MalformedError for a cell that mixes both: they cannot know it.
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
        """All guest CPUs of the cell, pinned or not."""
        return self.cpuset | self.pcpuset

    def __len__(self):
        return len(self.total_cpus)

    def __bool__(self):
        return True


@base.Registry.register
class InstanceNUMATopology(base.NovaObject):
    """The guest's NUMA cells."""

    VERSION = '1.3'
    fields = {
        'id': Field(fields.INTEGER),
        'instance_uuid': Field(fields.NAME),
        'cells': Field(fields.list_of(fields.nested(InstanceNUMACell)),
                       unset=list),
        'emulator_threads_policy': Field(
            fields.one_of(('share', 'isolate')), null=True, since='1.3'),
    }

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
    """Set of CPU numbers from text such as '0-3,^2,8'.

    Raises MalformedError for other text and for numbers above 65535.
    """
    must = 'must be CPU numbers such as 0-3,^2,8'
    chosen, excluded = set(), set()
    if not isinstance(text, str):
        raise MalformedError(text, must)
    for part in filter(None, map(str.strip, text.split(','))):
        numbers = part.removeprefix('^')
        first, _, last = numbers.partition('-')
        try:
            low, high = int(first), int(last or first)
        except ValueError:
            raise MalformedError(text, must) from None
        if not 0 <= low <= high <= _MAX_CPU:
            raise MalformedError(text, must)
        target = excluded if part.startswith('^') else chosen
        target.update(range(low, high + 1))
    return chosen - excluded


def topology_from_any(value):
    """InstanceNUMATopology from any of the forms it was ever sent in.

    value: None; an object or its envelope; a flat dict of cells, in the
        Kilo or the older "cpus"/"mem" spelling; JSON text of any of these.
    Raises MalformedError, IncompatibleObjectVersion.
    """
    if value is None or isinstance(value, InstanceNUMATopology):
        return value
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise MalformedError(value, 'must be JSON text') from None
        if value is None:
            return None
    if not isinstance(value, dict):
        raise MalformedError(value, 'must be a NUMA topology')
    if 'nova_object.name' in value:
        return InstanceNUMATopology.from_envelope(value)
    cells = value.get('cells')
    if not isinstance(cells, list):
        raise MalformedError(cells, 'must be a list', 'cells')
    made = []
    try:
        for cell in cells:
            made.append(_cell_from_any(cell))
    except MalformedError as error:
        error.under(len(made)).under('cells')
        raise
    return InstanceNUMATopology.from_data({**value, 'cells': made}, '1.1')


def _cell_from_any(cell):
    if not isinstance(cell, dict):
        raise MalformedError(cell, 'must be a NUMA cell')
    if 'nova_object.name' in cell:
        return InstanceNUMACell.from_envelope(cell)
    cell = dict(cell)
    if 'cpus' in cell:
        cell['cpuset'] = parse_cpus(cell.pop('cpus'))
    if isinstance(cell.get('mem'), dict):
        cell['memory'] = cell.pop('mem').get('total')
    topology = cell.get('cpu_topology')
    if isinstance(topology, dict) and 'nova_object.name' not in topology:
        cell['cpu_topology'] = VirtCPUTopology.from_data(topology, '1.0')
    return InstanceNUMACell.from_data(cell, '1.2')
