"""All hosts as one table: one column an attribute, row i everywhere one host.

``HostTable`` is one generation of the cloud's state and never changes;
``snapshot.HostSnapshot`` is one request's private copy of it;
``block.HostBlock`` is some rows of a snapshot, which is what filters and
weighers are given.
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
    """Of which cells the hosts are.

    reads: tuple of (cell uuid, seconds since the epoch when the read of that
        cell began which the hosts' state is from).
    lost: tuple of (cell, why), texts, of those that could not be read.
    disabled: uuids of the cells whose hosts only requests that name the cell
        may have.
    unmapped: names of hosts that no mapping leads to, so that nova-conductor
        cannot build on them; None in a cloud without mappings.
    """

    reads: tuple = ()
    lost: tuple = ()
    disabled: frozenset = frozenset()
    unmapped: frozenset | None = None

    def first_read(self, default):
        """Return when the first of the reads began: seconds since the epoch.

        default: returned where no cell was read.
        """
        return min((began for _, began in self.reads), default=default)


NO_CELLS = Cells()


class HostTable:
    """One generation of the state of all hosts; immutable.

    columns: name -> array (n,) for the names of columns.DTYPES, ``Labels``
        for those of columns.LABELS, list of n objects for the others.
    cells: Cells.
    """

    def __init__(self, columns, cells=NO_CELLS):
        self.columns, self.cells = columns, cells
        self.size = len(columns['host'])
        self._keys = _Keys(columns)

    @classmethod
    def from_records(cls, records, **values):
        """Return the table of ``records``: dicts, one a host, all with equal
        keys.

        values: further columns, as lists of one value a host.
        """
        if records:
            values |= {name: [record[name] for record in records]
                       for name in records[0]}
        return cls({name: host_columns.make(name, values.get(name, []))
                    for name in host_columns.NAMES})

    def of(self, columns, cells=None):
        """Return a new generation with these columns, read when this one was.
        """
        table = HostTable(columns, self.cells if cells is None else cells)
        if self._keys.are_those_of(columns):
            table._keys = self._keys
        return table

    def of_cells(self, cells):
        """Return the same hosts, of other cells or later reads: Cells."""
        return self.of(self.columns, cells)

    def with_usage(self, source, rows):
        """Return a new generation with the usage of some rows of another one.

        source: HostTable.  rows: list of (row of the source, row here, ...).
        """
        if not rows:
            return self
        was, now = (np.array([item[side] for item in rows])
                    for side in (0, 1))
        values = {}
        for name in host_columns.CONSUMED:
            theirs, ours = source.columns[name], self.columns[name]
            if isinstance(ours, np.ndarray):
                values[name] = ours.copy()
                values[name][now] = theirs[was]
            else:
                values[name] = _relabelled(ours, theirs, was, now)
        return self.of(self.columns | values)

    def replaced(self, changes):
        """Return a new table in which some rows are other records.

        changes: row -> dict with a value for some or all columns; all dicts
            have the same keys.
        """
        if not changes:
            return self
        return self.with_cells(list(changes), {
            name: [record[name] for record in changes.values()]
            for name in next(iter(changes.values()))})

    def with_cells(self, rows, values):
        """Return a new table in which some columns of some rows are replaced.

        rows: list of ints.  values: column name -> list of as many values.
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
        """Return a new table with a row before each position, an int up to
        size.

        positions: ascending.  values: column name -> list of as many values,
            for all columns.
        """
        if not positions:
            return self
        return self.of({
            name: _with_added(column, positions, values[name])
            for name, column in self.columns.items()})

    def with_columns(self, **values):
        """Return a new table with whole columns replaced, given as lists."""
        return self.of(self.columns | {
            name: host_columns.make(name, column)
            for name, column in values.items()})

    def row(self, host, node):
        """Return the row of a host's node; None if there is none of that name.
        """
        return self._keys.rows.get((host, node))

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
        """Return the hosts and their nodes' names: list of pairs, one a row.
        """
        return list(self._keys.rows)

    @property
    def hosts(self):
        """An object that tables share in which each row is the same host's."""
        return self._keys

    def has_rows_of(self, table):
        """Return whether no host came or went since: a row is the same host's.
        """
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
        assert len(self._keys.rows) == self.size
        assert self._keys.rows == _Keys(self.columns).rows


class _Keys:
    """Which row is whose; shared by the generations of the same hosts."""

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
    gone = set(rows)
    return [value for row, value in enumerate(column) if row not in gone]


def _with_added(column, positions, values):
    if isinstance(column, labels.Labels):
        return column.with_added(positions, values)
    if isinstance(column, np.ndarray):
        return np.insert(column, positions, values)
    made, start = [], 0
    for position, value in zip(positions, values, strict=True):
        made += [*column[start:position], value]
        start = position
    return made + column[start:]


def _relabelled(ours, theirs, was, now):
    """Return labels with those of other rows where these differ."""
    changes = {}
    for at, row in zip(was.tolist(), now.tolist(), strict=True):
        value = theirs.values[theirs.codes.item(at)]
        if value != ours.values[ours.codes.item(row)]:
            changes[row] = value
    return ours.private().replaced(changes) if changes else ours
