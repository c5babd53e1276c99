"""The declaration of the host table's columns, one line for each column.

A line has the columns to read from the database, the type, the value of a host
that never reported, and how rules and plug-ins may use the column.  A column
with a computed value has a function in rows.py.

Units: MB is MiB, GB is GiB; times are seconds since the epoch (UTC).
"""

import dataclasses
import typing

import numpy as np

from nova_sched.hosts import labels
from nova_sched.hosts import metrics

#: Kinds.  LABEL: hashable values that repeat from host to host.
INTEGER, FLOAT, BOOLEAN, LABEL, OBJECT = (
    'integer', 'float', 'boolean', 'label', 'object')

_DTYPES = {INTEGER: np.int64, FLOAT: np.float64, BOOLEAN: np.bool_}
_SMALLEST, _BIGGEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class Source(typing.NamedTuple):
    """Columns of one table of the database."""

    table: str
    columns: tuple


def _node(*names):
    return Source('compute_nodes', names)


def _service(*names):
    return Source('services', names)


@dataclasses.dataclass(frozen=True)
class Column:
    """One attribute of hosts.

    source: database columns that it is read from; None for a derived column.
    consumed: whether placing an instance on a host changes it.
    early: whether a host has it before it first reports its usage.
    absent: label or object of a host that never reported; numbers are zero.
    viewed: whether HostState converts the value.
    ours: whether Nova's host states do not have this attribute.
    """

    name: str
    kind: str
    source: Source | None = None
    unit: str = ''
    consumed: bool = False
    early: bool = False
    absent: object = None
    viewed: bool = False
    ours: bool = False

    @property
    def empty(self):
        """The value of a host that never reported."""
        return (self.absent if self.kind not in _DTYPES
                else _DTYPES[self.kind]().item())

    @property
    def reported(self):
        """Whether it is absent until a compute service reports its usage."""
        return self.of('compute_nodes') and not self.early

    def of(self, table):
        """Return whether it is read from a table of this name."""
        return self.source is not None and self.source.table == table


COLUMNS = (
    Column('host', LABEL, _node('host'), early=True),
    Column('nodename', LABEL, _node('hypervisor_hostname'), early=True),
    Column('uuid', LABEL, _node('uuid')),
    Column('cell_uuid', LABEL),
    Column('aggregates', LABEL, viewed=True),
    Column('bare_metal', BOOLEAN, ours=True),
    Column('total_usable_ram_mb', INTEGER, _node('memory_mb'), 'MB'),
    Column('free_ram_mb', INTEGER, _node('free_ram_mb'), 'MB', consumed=True),
    Column('total_usable_disk_gb', INTEGER, _node('local_gb'), 'GB'),
    Column('free_disk_mb', INTEGER,
           _node('free_disk_gb', 'disk_available_least'), 'MB',
           consumed=True),
    Column('disk_mb_used', INTEGER, _node('local_gb_used'), 'MB'),
    Column('vcpus_total', INTEGER, _node('vcpus')),
    Column('vcpus_used', INTEGER, _node('vcpus_used'), consumed=True),
    Column('num_instances', INTEGER, _node('stats'), consumed=True),
    Column('num_io_ops', INTEGER, _node('stats'), consumed=True),
    Column('failed_builds', INTEGER, _node('stats')),
    Column('cpu_allocation_ratio', FLOAT, _node('cpu_allocation_ratio'),
           early=True),
    Column('ram_allocation_ratio', FLOAT, _node('ram_allocation_ratio'),
           early=True),
    Column('disk_allocation_ratio', FLOAT, _node('disk_allocation_ratio'),
           early=True),
    Column('updated', FLOAT, _node('updated_at'), 'seconds', consumed=True),
    Column('hypervisor_type', LABEL, _node('hypervisor_type')),
    Column('hypervisor_version', LABEL, _node('hypervisor_version')),
    Column('host_ip', LABEL, _node('host_ip')),
    Column('cpu_info', LABEL, _node('cpu_info')),
    Column('supported_instances', LABEL, _node('supported_instances'),
           viewed=True),
    Column('stats', OBJECT, _node('stats'), viewed=True),
    Column('metrics', LABEL, _node('metrics'), viewed=True,
           absent=metrics.HostMetrics()),
    Column('pci_stats', LABEL, _node('pci_stats'), viewed=True,
           consumed=True),
    Column('numa_topology', LABEL, _node('numa_topology'), viewed=True,
           consumed=True),
    Column('service', OBJECT, _service(
        'id', 'uuid', 'host', 'disabled', 'disabled_reason', 'forced_down',
        'last_seen_up', 'updated_at', 'created_at', 'version',
        'report_count'), viewed=True),
    Column('service_disabled', BOOLEAN, _service('disabled'), ours=True),
    Column('service_forced_down', BOOLEAN, _service('forced_down'),
           ours=True),
    Column('service_last_seen', FLOAT,
           _service('last_seen_up', 'created_at'), 'seconds', ours=True),
    Column('service_fresh', BOOLEAN, ours=True),
    Column('service_version', INTEGER, _service('version'), ours=True),
    Column('service_up', BOOLEAN, ours=True),
)


def _read_from(table):
    """Return the columns of a table to read, the key first: tuple."""
    names = [name for column in COLUMNS if column.of(table)
             for name in column.source.columns]
    return tuple(dict.fromkeys(['id', *names]))


NAMES = tuple(column.name for column in COLUMNS)
LABELS = tuple(column.name for column in COLUMNS if column.kind == LABEL)
#: Integer columns in the record of a compute node.
_RECORDED = tuple(column.name for column in COLUMNS
                  if column.kind == INTEGER and not column.of('services'))

#: The types of the columns that are arrays.
DTYPES = {column.name: _DTYPES[column.kind]
          for column in COLUMNS if column.kind in _DTYPES}

#: Columns that placing an instance on a host changes.
CONSUMED = tuple(column.name for column in COLUMNS if column.consumed)

#: Columns that a rule may set on a host state, so that later rules see it.
SETTABLE = frozenset(
    column.name for column in COLUMNS
    if not (column.ours or column.viewed) and column.name not in (
        'host', 'nodename', 'uuid', 'cell_uuid', 'updated')) | {'aggregates'}

#: The values of a host that never reported its usage: name -> value.
NOT_REPORTED = {column.name: column.empty
                for column in COLUMNS if column.reported}

#: Columns to read from the database's tables, in order.
COMPUTE_NODE_COLUMNS = _read_from('compute_nodes')
SERVICE_COLUMNS = _read_from('services')


def make(name, values):
    """Return a column of this name in its stored form, from a list of values.
    """
    if name in DTYPES:
        return np.array(values, dtype=DTYPES[name])
    return labels.Labels.of(values) if name in LABELS else values


def check_record(record):
    """Check a record.  Raises OverflowError for a number over 64 bits."""
    for name in _RECORDED:
        if not _SMALLEST <= record[name] <= _BIGGEST:
            raise OverflowError(f'{name} = {record[name]} is out of range')
