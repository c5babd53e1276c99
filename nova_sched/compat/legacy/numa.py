"""Guest NUMA topologies in the forms of older requests."""

from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects.fields import MalformedError
from nova_sched.objects.numa import InstanceNUMACell
from nova_sched.objects.numa import InstanceNUMATopology
from nova_sched.objects.numa import VirtCPUTopology
from nova_sched.objects.numa import parse_cpus


def topology_from_any(value):
    """Return the InstanceNUMATopology of a value in any historical form.

    value: None; an object or its envelope; a flat dict of cells, in Kilo's
        spelling or the older "cpus" and "mem"; JSON text of any of these.
    Raises MalformedError, IncompatibleObjectVersion.
    """
    value = fields.from_json_text(value)
    if value is None or isinstance(value, InstanceNUMATopology):
        return value
    if not isinstance(value, dict):
        raise MalformedError(value, 'must be a NUMA topology')
    if 'nova_object.name' in value:
        return InstanceNUMATopology.from_envelope(value)
    with fields.at('cells'):
        cells = _CELLS.read(value.get('cells'))
    return InstanceNUMATopology.from_data({**value, 'cells': cells}, '1.1')


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


_CELLS = fields.list_of(fields.Kind(_cell_from_any), bounds.NUMA_CELLS)
