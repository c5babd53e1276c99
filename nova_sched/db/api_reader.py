"""Aggregates and host-to-cell mappings: what Nova keeps in its API database.

The same tables of Kilo and Mitaka, in the one nova database, are soft-deleted
and Kilo's aggregates have no uuid; both layouts are read.  An API database of
that time has mappings, but nothing that a scheduler of that time reads.
"""

import contextlib
import datetime

import sqlalchemy as sa

from nova_sched.db import statements
from nova_sched.db import tables

# Seconds after which a change can no longer hide behind an equal time stamp.
_SETTLED = 5

_AGGREGATE_TABLES = (tables.aggregates, tables.aggregate_hosts,
                     tables.aggregate_metadata)
_MAPPING_TABLES = (tables.host_mappings, tables.cell_mappings)


class ApiReader:
    """Reads one Database; its statements are compiled at first use.

    older: the Database to read in its place if it is one of before Newton,
        which has mappings and no aggregates; it is found out at first use.
    """

    def __init__(self, db, older=None):
        self.db, self._older = db, older
        #: The Database that is read; None until it is known.
        self.read = None if older else db
        self._cell_mappings = None
        self._aggregates = None
        self._stamp = None
        self._host_cells = None

    def close(self):
        """Close the idle connections of this process."""
        self.db.close()
        if self._older is not None:
            self._older.close()

    def probe(self):
        """Return if it can be read; DatabaseUnavailable if not."""
        with self._reading():
            self.read.check((tables.aggregates.name,))

    @contextlib.contextmanager
    def _reading(self):
        """As Database.reading, of the one to be read."""
        if self.read is None:
            with self.db.reading() as connection:
                present = set(sa.inspect(connection).get_table_names())
            self.read = self._older if _is_older(present) else self.db
        with self.read.reading() as connection:
            yield connection

    def aggregates(self):
        with self._reading() as connection:
            if self._aggregates is None:
                self._aggregates = self._prepare_aggregates(connection)
            heads, hosts, items = [
                statement.rows(connection) for statement in self._aggregates]
        found = {
            id_: {'id': id_, 'uuid': uuid, 'name': name,
                  'hosts': [], 'metadata': {}} for id_, uuid, name in heads}
        for id_, host in hosts:
            if id_ in found and host is not None:
                found[id_]['hosts'].append(host)
        for id_, key, value in items:
            if id_ in found:
                found[id_]['metadata'][key] = value
        return list(found.values())

    def _prepare_aggregates(self, connection):
        wanted = (('id', 'uuid', 'name'), ('aggregate_id', 'host'),
                  ('aggregate_id', 'key', 'value'))
        schema = statements.Schema(connection, self.read)
        return [
            statements.FixedStatement(connection, alive(
                schema, table, schema.select(table, names)
            ).order_by(table.c.id))
            for table, names in zip(_AGGREGATE_TABLES, wanted, strict=True)]

    def stamp(self):
        with self._reading() as connection:
            if self._stamp is None:
                self._stamp = self._prepare_stamp(connection)
            rows = tuple(sorted(self._stamp.rows(connection)))
        return (*rows, object()) if _unsettled(rows) else rows

    def _prepare_stamp(self, connection):
        schema = statements.Schema(connection, self.read)
        present = set(sa.inspect(connection).get_table_names())
        stamped = _AGGREGATE_TABLES + tuple(
            table for table in _MAPPING_TABLES if table.name in present)
        return statements.FixedStatement(connection, sa.union_all(*(
            alive(schema, table, sa.select(
                sa.literal(index), sa.func.count(),
                *(sa.func.max(table.c[name])
                  for name in ('id', 'created_at', 'updated_at'))))
            for index, table in enumerate(stamped))))

    def cell_mappings(self):
        """The rows of cell_mappings by id: list of dicts.

        Keys are uuid, name, database_connection and disabled; empty in a
        database without the table.
        """
        table, names = tables.cell_mappings, (
            'uuid', 'name', 'database_connection', 'disabled')
        with self._reading() as connection:
            if self._cell_mappings is None:
                if table.name not in sa.inspect(connection).get_table_names():
                    return []
                schema = statements.Schema(connection, self.read)
                self._cell_mappings = statements.FixedStatement(
                    connection, schema.select(table, names).order_by(
                        table.c.id))
            return [dict(zip(names, row, strict=True)) for row
                    in self._cell_mappings.rows(connection)]

    def host_cells(self):
        with self._reading() as connection:
            if self._host_cells is None:
                names = set(sa.inspect(connection).get_table_names())
                if not {table.name for table in _MAPPING_TABLES} <= names:
                    return {}
                hosts, cells = _MAPPING_TABLES
                self._host_cells = statements.FixedStatement(
                    connection, sa.select(hosts.c.host, cells.c.uuid)
                    .join(cells, cells.c.id == hosts.c.cell_id))
            return dict(self._host_cells.rows(connection))


def _is_older(present):
    """Whether names of tables are those of an API database before Newton."""
    return tables.cell_mappings.name in present and present.isdisjoint(
        table.name for table in _AGGREGATE_TABLES)


def alive(schema, table, statement):
    """Without the soft-deleted rows, where the layout still has them."""
    if 'deleted' not in schema.columns(table):
        return statement
    return statement.where(sa.literal_column(f'{table.name}.deleted') == 0)


def _unsettled(rows):
    """Is the newest change, stamped in whole seconds, too young to trust?"""
    times = [time for row in rows for time in row[3:]
             if time is not None and not time.microsecond]
    if not times:
        return False
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    age = (now - max(times)).total_seconds()
    return -_SETTLED < age < _SETTLED
