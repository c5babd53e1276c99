"""The host table: all hosts of the cloud, one column for each attribute.

``HostTable`` is one generation of the hosts' state, and immutable.
``snapshot.HostSnapshot`` is one request's private copy of a table.
``block.HostBlock`` has some rows of a snapshot, the argument of filters and
weighers.
"""

import dataclasses
import functools

import numpy as np

from nova_sched.hosts import columns as host_columns
from nova_sched.hosts import labels
from nova_sched.hosts import snapshot
from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED


@dataclasses.dataclass(frozen=True)
class Cells:
    """The cells that the hosts are in.

    reads: tuple of pairs: uuid of a cell, and start of the read that the
        hosts' state is from, in seconds since the epoch.
    lost: tuple of pairs of texts: an unreadable cell, and the error.
    disabled: uuids of disabled cells; only requests that name such a cell use
        its hosts.
    unmapped: names of hosts without a host mapping, on which nova-conductor
        cannot build; None in a cloud without mappings.
    """

    reads: tuple = ()
    lost: tuple = ()
    disabled: frozenset = frozenset()
    unmapped: frozenset | None = None

    def first_read(self, default):
        """Return the start of the first read, in seconds since the epoch.

        default: result if no cell was read.
        """
        return min((began for _, began in self.reads), default=default)


NO_CELLS = Cells()


class HostTable:
    """One generation of the state of all hosts; immutable.

    columns: name -> array (n,) for names in columns.DTYPES, ``Labels`` for
        names in columns.LABELS, list of n objects for other names.
    cells: Cells.
    hosts: an object that tables with the same hosts in the same rows share.
    """

    def __init__(self, columns, cells=NO_CELLS):
        self.columns, self.cells = columns, cells
        self.size = len(columns['host'])
        self.hosts = _Keys(columns)

    @classmethod
    def from_records(cls, records, **values):
        """Return the table of records: dicts with equal keys, one per host.

        values: more columns, as lists of one value for each host.
        """
        if records:
            values |= {name: [record[name] for record in records]
                       for name in records[0]}
        return cls({name: host_columns.make(name, values.get(name, []))
                    for name in host_columns.NAMES})

    def of(self, columns, cells=None):
        """Return a new generation with these columns.

        cells: Cells; None for the Cells of this generation.
        """
        table = HostTable(columns, self.cells if cells is None else cells)
        if self.hosts.are_those_of(columns):
            table.hosts = self.hosts
        return table

    def with_usage(self, source, rows):
        """Return a new generation with the usage of rows of another table.

        source: HostTable.
        rows: list of (row of the source, row of this table, ...).
        """
        if not rows:
            return self
        old_rows, new_rows = (np.array([item[side] for item in rows])
                              for side in (0, 1))
        values = {}
        for name in host_columns.CONSUMED:
            old, new = source.columns[name], self.columns[name]
            if isinstance(new, np.ndarray):
                values[name] = new.copy()
                values[name][new_rows] = old[old_rows]
            else:
                values[name] = _relabelled(new, old, old_rows, new_rows)
        return self.of(self.columns | values)

    def with_values(self, rows, values):
        """Return a new table with some columns of some rows replaced.

        rows: list of ints.  values: column name -> list with a value for each
            row.
        """
        if not rows:
            return self
        return self.of(self.columns | {
            name: _replaced(self.columns[name], rows, column)
            for name, column in values.items()})

    def without(self, rows):
        """Return a new table without these rows, a list of ints."""
        if not rows:
            return self
        return self.of({name: _without(column, rows)
                        for name, column in self.columns.items()})

    def with_added(self, positions, values):
        """Return a new table with a row inserted before each position.

        positions: ascending ints up to ``size``.
        values: column name -> list with a value for each new row; all columns.
        """
        if not positions:
            return self
        return self.of({
            name: _with_added(column, positions, values[name])
            for name, column in self.columns.items()})

    def with_columns(self, **values):
        """Return a new table with whole columns replaced; values are lists."""
        return self.of(self.columns | {
            name: host_columns.make(name, column)
            for name, column in values.items()})

    def row(self, host, node):
        """Return the row of a host's node; None if there is no such node."""
        return self.hosts.rows.get((host, node))

    def rows_of(self, hosts):
        """Return the rows of all nodes of these hosts: list of (row, host)."""
        if not hosts:
            return []
        column = self.columns['host']
        rows = np.flatnonzero(np.isin(column.codes, [
            column.code(host) for host in hosts]))
        return [(row, column.values[code]) for row, code in zip(
            rows.tolist(), column.codes[rows].tolist(), strict=True)]

    def keys(self):
        """Return the (host, node) names of all rows: list."""
        return list(self.hosts.rows)

    def has_rows_of(self, table):
        """Return whether another table has the same hosts in the same rows."""
        return self.hosts is table.hosts

    def snapshot(self, instances, offer=PLACEMENT_NOT_USED):
        """Return one request's private HostSnapshot of this generation."""
        return snapshot.HostSnapshot(self, instances, offer)

    def _check(self):
        """Assert every invariant of a table (used by tests)."""
        assert set(self.columns) == set(host_columns.NAMES)
        for name, column in self.columns.items():
            assert len(column) == self.size, name
            if name in host_columns.DTYPES:
                assert column.dtype == host_columns.DTYPES[name], name
            elif name in host_columns.LABELS:
                column._check()
        assert len(self.hosts.rows) == self.size
        assert self.hosts.rows == _Keys(self.columns).rows


class _Keys:
    """The names of the rows; generations with the same hosts share it."""

    def __init__(self, columns):
        self._columns = columns['host'], columns['nodename']

    def are_those_of(self, columns):
        return self._columns == (columns['host'], columns['nodename'])

    @functools.cached_property
    def rows(self):
        """(host, node name) -> row, in order of the rows."""
        keys = zip(*(column.items() for column in self._columns), strict=True)
        return {key: row for row, key in enumerate(keys)}


def _replaced(column, rows, values):
    if isinstance(column, labels.Labels):
        return column.replaced(dict(zip(rows, values, strict=True)))
    column = column.copy()
    if isinstance(column, np.ndarray):
        column[rows] = values
    else:
        for row, value in zip(rows, values, strict=True):
            column[row] = value
    return column


def _without(column, rows):
    if isinstance(column, labels.Labels):
        return column.without(rows)
    if isinstance(column, np.ndarray):
        return np.delete(column, rows)
    removed = set(rows)
    return [value for row, value in enumerate(column) if row not in removed]


def _with_added(column, positions, values):
    if isinstance(column, labels.Labels):
        return column.with_added(positions, values)
    if isinstance(column, np.ndarray):
        return np.insert(column, positions, values)
    items, start = [], 0
    for position, value in zip(positions, values, strict=True):
        items += [*column[start:position], value]
        start = position
    return items + column[start:]


def _relabelled(new, old, old_rows, new_rows):
    """Return Labels ``new`` with the values of ``old`` in these rows."""
    changes = {}
    for old_row, row in zip(old_rows.tolist(), new_rows.tolist(),
                            strict=True):
        value = old.values[old.codes.item(old_row)]
        if value != new.values[new.codes.item(row)]:
            changes[row] = value
    return new.private().replaced(changes) if changes else new
