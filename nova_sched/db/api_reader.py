"""Reads the API database: aggregates, host mappings and cell mappings.

Kilo and Mitaka have the tables of aggregates in the nova database, with
soft-deleted rows; Kilo's aggregates have no uuid. Both layouts are read. No
scheduler uses the mappings in the API database of these releases.
"""

import contextlib
import datetime

import sqlalchemy as sa

from nova_sched.db import statements
from nova_sched.db import tables

# Seconds after which a new change cannot get an earlier change's time stamp.
_STAMP_AGE = 5

_AGGREGATE_TABLES = (tables.aggregates, tables.aggregate_hosts,
                     tables.aggregate_metadata)
_MAPPING_TABLES = (tables.host_mappings, tables.cell_mappings)
_MAPPING_COLUMNS = ('uuid', 'name', 'database_connection', 'disabled')


class ApiReader:
    """A reader of one Database; its statements are compiled at first use.

    fallback: the Database to read if db is from before Newton, and so has
        mappings but no aggregates.  Checked at first use.

    Its methods raise DatabaseUnavailable.
    """

    def __init__(self, db, fallback=None):
        self.db, self._fallback = db, fallback
        #: The Database that is read; None until it has been checked.
        self.active = None if fallback else db
        # Method that prepares statements -> the statements.
        self._statements = {}

    def close(self):
        """Close the idle connections of this process."""
        self.db.close()
        if self._fallback is not None:
            self._fallback.close()

    def probe(self):
        """Raise DatabaseUnavailable if the database cannot be read."""
        with self._reading():
            self.active.check((tables.aggregates.name,))

    @contextlib.contextmanager
    def _reading(self):
        """Open a read transaction of the active database for a block."""
        if self.active is None:
            self.active = (
                self._fallback if _is_before_newton(self.db.table_names())
                else self.db)
        with self.active.reading() as connection:
            yield connection

    def aggregates(self):
        """Return all aggregates, as HostReader.aggregates does."""
        with self._reading() as connection:
            aggregate_rows, host_rows, metadata_rows = [
                statement.rows(connection) for statement
                in self._prepared(self._prepare_aggregates, connection)]
        aggregates = {
            id_: {'id': id_, 'uuid': uuid, 'name': name,
                  'hosts': [], 'metadata': {}}
            for id_, uuid, name in aggregate_rows}
        for id_, host in host_rows:
            if id_ in aggregates and host is not None:
                aggregates[id_]['hosts'].append(host)
        for id_, key, value in metadata_rows:
            if id_ in aggregates:
                aggregates[id_]['metadata'][key] = value
        return list(aggregates.values())

    def _prepared(self, prepare, connection):
        """Return the statements of ``prepare``, which are cached.

        None, for a missing table, is not cached.
        prepare: function of the connection, its Schema and the set of its
            tables' names.
        """
        result = self._statements.get(prepare)
        if result is None:
            result = self._statements[prepare] = prepare(
                connection, statements.Schema(connection, self.active),
                set(sa.inspect(connection).get_table_names()))
        return result

    @staticmethod
    def _prepare_aggregates(connection, schema, _present):
        columns = (('id', 'uuid', 'name'), ('aggregate_id', 'host'),
                   ('aggregate_id', 'key', 'value'))
        return [
            statements.CompiledStatement(connection, not_deleted(
                schema, table, schema.select(table, names)
            ).order_by(table.c.id))
            for table, names in zip(_AGGREGATE_TABLES, columns, strict=True)]

    def stamp(self):
        """Return the change stamp, as HostReader.api_stamp does."""
        with self._reading() as connection:
            rows = tuple(sorted(self._prepared(
                self._prepare_stamp, connection).rows(connection)))
        # The object is unique: a stamp of a recent change equals no other.
        return (*rows, object()) if _is_recent(rows) else rows

    @staticmethod
    def _prepare_stamp(connection, schema, present):
        stamped = _AGGREGATE_TABLES + tuple(
            table for table in _MAPPING_TABLES if table.name in present)
        return statements.CompiledStatement(connection, sa.union_all(*(
            not_deleted(schema, table, sa.select(
                sa.literal(index), sa.func.count(),
                *(sa.func.max(table.c[name])
                  for name in ('id', 'created_at', 'updated_at'))))
            for index, table in enumerate(stamped))))

    def cell_mappings(self):
        """Return the rows of cell_mappings, ordered by id: list of dicts.

        The keys are _MAPPING_COLUMNS.  The list is empty if the database has
        no such table.
        """
        return [dict(zip(_MAPPING_COLUMNS, row, strict=True))
                for row in self._rows(self._prepare_cell_mappings)]

    @staticmethod
    def _prepare_cell_mappings(connection, schema, present):
        table = tables.cell_mappings
        if table.name not in present:
            return None
        return statements.CompiledStatement(connection, schema.select(
            table, _MAPPING_COLUMNS).order_by(table.c.id))

    def host_cells(self):
        """Return the cell that each host is mapped to: host -> cell uuid."""
        return dict(self._rows(self._prepare_host_cells))

    @staticmethod
    def _prepare_host_cells(connection, _schema, present):
        hosts, cells = _MAPPING_TABLES
        if not {hosts.name, cells.name} <= present:
            return None
        return statements.CompiledStatement(
            connection, sa.select(hosts.c.host, cells.c.uuid)
            .join(cells, cells.c.id == hosts.c.cell_id))

    def _rows(self, prepare):
        """Return the rows of a prepared statement: list.

        It is empty if the table is missing.
        """
        with self._reading() as connection:
            statement = self._prepared(prepare, connection)
            return statement.rows(connection) if statement else []


def _is_before_newton(present):
    """Return whether an API database is from before Newton.

    present: names of its tables.
    """
    return tables.cell_mappings.name in present and present.isdisjoint(
        table.name for table in _AGGREGATE_TABLES)


def not_deleted(schema, table, statement):
    """Exclude soft-deleted rows from a statement, where a table has them."""
    if 'deleted' not in schema.columns(table):
        return statement
    return statement.where(sa.literal_column(f'{table.name}.deleted') == 0)


def rows(connection, schema, table, names=None, **values):
    """Return rows that are not deleted, ordered by id: list of dicts.

    names: of the columns; all of the table by default.
    values: of columns that select rows.
    Empty without the table.
    """
    if not schema.present(table):
        return []
    statement = not_deleted(schema, table, schema.select(
        table, names or table.c.keys()))
    return [row._asdict() for row in connection.execute(statement.where(*(
        table.c[name] == value for name, value in values.items())
    ).order_by(table.c.id))]


def _is_recent(rows):
    """Return whether another change may get the same newest time stamp.

    Only a time stamp in whole seconds can hide a later change.
    """
    times = [time for row in rows for time in row[3:]
             if time is not None and not time.microsecond]
    if not times:
        return False
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    age = (now - max(times)).total_seconds()
    return -_STAMP_AGE < age < _STAMP_AGE
