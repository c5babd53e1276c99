"""The declaration of the host table's columns: ``columns.toml``.

A line there has the columns to read from the database, the type, and how rules
and plug-ins may use the column.  A column with a computed value has a function
in rows.py.
"""

import dataclasses

import numpy as np

from nova_sched import toml_files
from nova_sched.hosts import labels
from nova_sched.hosts import metrics

#: Kinds.  LABEL: hashable values that repeat from host to host.
INTEGER, FLOAT, BOOLEAN, LABEL, OBJECT = (
    'integer', 'float', 'boolean', 'label', 'object')

_DTYPES = {INTEGER: np.int64, FLOAT: np.float64, BOOLEAN: np.bool_}
_NO_METRICS = metrics.HostMetrics()
_SMALLEST, _BIGGEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclasses.dataclass(frozen=True)
class Column:
    """One attribute of hosts.

    compute_nodes, services: columns of one of these tables that it is read
        from; a derived column has none.
    unit: for readers of the declaration.
    consumed: whether placing an instance on a host changes it.
    early: whether a host has it before it first reports its usage.
    viewed: whether HostState converts the value.
    ours: whether Nova's host states do not have this attribute.
    """

    name: str
    kind: str
    compute_nodes: tuple = ()
    services: tuple = ()
    unit: str = ''
    consumed: bool = False
    early: bool = False
    viewed: bool = False
    ours: bool = False

    @property
    def empty(self):
        """The value of a host that never reported."""
        return (_DTYPES[self.kind]().item() if self.kind in _DTYPES
                else _NO_METRICS if self.name == 'metrics' else None)

    @property
    def reported(self):
        """Whether it is absent until a compute service reports its usage."""
        return bool(self.compute_nodes) and not self.early


COLUMNS = tuple(Column(name, **line) for name, line in toml_files.read(
    'columns.toml', __package__)['columns'].items())


def _read_from(table):
    """Return the columns of a table to read, the key first: tuple."""
    names = [name for column in COLUMNS for name in getattr(column, table)]
    return tuple(dict.fromkeys(['id', *names]))


NAMES = tuple(column.name for column in COLUMNS)
LABELS = tuple(column.name for column in COLUMNS if column.kind == LABEL)
#: Integer columns in the record of a compute node.
RECORDED = tuple(column.name for column in COLUMNS
                  if column.kind == INTEGER and not column.services)

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
    for name in RECORDED:
        if not _SMALLEST <= record[name] <= _BIGGEST:
            raise OverflowError(f'{name} = {record[name]} is out of range')
