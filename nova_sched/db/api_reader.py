"""Reads the API database: aggregates, host mappings and cell mappings.

Kilo and Mitaka have the tables of aggregates in the one nova database, with
soft-deleted rows, and Kilo's aggregates have no uuid; both layouts are read.
The API database of these releases has mappings that no scheduler uses.
"""

import contextlib
import datetime

import sqlalchemy as sa

from nova_sched.db import statements
from nova_sched.db import tables

# Seconds after which no later change can have the time stamp of an earlier.
_STAMP_AGE = 5

_AGGREGATE_TABLES = (tables.aggregates, tables.aggregate_hosts,
                     tables.aggregate_metadata)
_MAPPING_TABLES = (tables.host_mappings, tables.cell_mappings)


class ApiReader:
    """A reader of one Database; its statements are compiled at first use.

    fallback: the Database to read instead of one from before Newton, which
        has mappings but no aggregates.  Checked at first use.

    Its methods raise DatabaseUnavailable.
    """

    def __init__(self, db, fallback=None):
        self.db, self._fallback = db, fallback
        #: The Database that is read; None until it has been checked.
        self.active = None if fallback else db
        self._cell_mappings = None
        self._aggregates = None
        self._stamp = None
        self._host_cells = None

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
        """Return Database.reading of the active database."""
        if self.active is None:
            self.active = (
                self._fallback if _is_before_newton(self.db.table_names())
                else self.db)
        with self.active.reading() as connection:
            yield connection

    def aggregates(self):
        """Return all aggregates, as HostReader.aggregates does."""
        with self._reading() as connection:
            if self._aggregates is None:
                self._aggregates = self._prepare_aggregates(connection)
            heads, hosts, items = [
                statement.rows(connection) for statement in self._aggregates]
        aggregates = {
            id_: {'id': id_, 'uuid': uuid, 'name': name,
                  'hosts': [], 'metadata': {}} for id_, uuid, name in heads}
        for id_, host in hosts:
            if id_ in aggregates and host is not None:
                aggregates[id_]['hosts'].append(host)
        for id_, key, value in items:
            if id_ in aggregates:
                aggregates[id_]['metadata'][key] = value
        return list(aggregates.values())

    def _prepare_aggregates(self, connection):
        columns = (('id', 'uuid', 'name'), ('aggregate_id', 'host'),
                   ('aggregate_id', 'key', 'value'))
        schema = statements.Schema(connection, self.active)
        return [
            statements.CompiledStatement(connection, not_deleted(
                schema, table, schema.select(table, names)
            ).order_by(table.c.id))
            for table, names in zip(_AGGREGATE_TABLES, columns, strict=True)]

    def stamp(self):
        """Return the change stamp, as HostReader.api_stamp does."""
        with self._reading() as connection:
            if self._stamp is None:
                self._stamp = self._prepare_stamp(connection)
            rows = tuple(sorted(self._stamp.rows(connection)))
        return (*rows, object()) if _is_recent(rows) else rows

    def _prepare_stamp(self, connection):
        schema = statements.Schema(connection, self.active)
        present = set(sa.inspect(connection).get_table_names())
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

        The keys are uuid, name, database_connection and disabled.  The list
        is empty if the database has no such table.
        """
        table, names = tables.cell_mappings, (
            'uuid', 'name', 'database_connection', 'disabled')
        with self._reading() as connection:
            if self._cell_mappings is None:
                if table.name not in sa.inspect(connection).get_table_names():
                    return []
                schema = statements.Schema(connection, self.active)
                self._cell_mappings = statements.CompiledStatement(
                    connection, schema.select(table, names).order_by(
                        table.c.id))
            return [dict(zip(names, row, strict=True)) for row
                    in self._cell_mappings.rows(connection)]

    def host_cells(self):
        """Return which cell each host is mapped to: host name -> cell uuid."""
        with self._reading() as connection:
            if self._host_cells is None:
                names = set(sa.inspect(connection).get_table_names())
                if not {table.name for table in _MAPPING_TABLES} <= names:
                    return {}
                hosts, cells = _MAPPING_TABLES
                self._host_cells = statements.CompiledStatement(
                    connection, sa.select(hosts.c.host, cells.c.uuid)
                    .join(cells, cells.c.id == hosts.c.cell_id))
            return dict(self._host_cells.rows(connection))


def _is_before_newton(present):
    """Return whether the tables are those of an API database before Newton.

    present: names of its tables.
    """
    return tables.cell_mappings.name in present and present.isdisjoint(
        table.name for table in _AGGREGATE_TABLES)


def not_deleted(schema, table, statement):
    """Exclude soft-deleted rows from a statement, where a table has them."""
    if 'deleted' not in schema.columns(table):
        return statement
    return statement.where(sa.literal_column(f'{table.name}.deleted') == 0)


def _is_recent(rows):
    """Return whether another change may get the newest time stamp.

    Only time stamps of whole seconds can hide a later change.
    """
    times = [time for row in rows for time in row[3:]
             if time is not None and not time.microsecond]
    if not times:
        return False
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    age = (now - max(times)).total_seconds()
    return -_STAMP_AGE < age < _STAMP_AGE
