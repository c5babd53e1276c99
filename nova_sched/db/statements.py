"""Compiled statements for the columns that a database has."""

import sqlalchemy as sa

from nova_sched import exception
from nova_sched.db import tables
from nova_sched.db import timestamps

#: Maximum number of values in one IN (...) list.
CHUNK = 500

#: Substitutes for columns that a release's table lacks.  In Kilo, a heartbeat
#: of a service shows in updated_at only.
_SUBSTITUTES = {tables.services.c.last_seen_up: tables.services.c.updated_at}


def chunks(values):
    """Return values in lists of at most CHUNK: list."""
    values = list(values)
    return [values[start:start + CHUNK]
            for start in range(0, len(values), CHUNK)]


class Schema:
    """The columns that a database has.

    connection: an open connection.  db: its engine.Database, for error texts.
    """

    def __init__(self, connection, db):
        self._inspector = sa.inspect(connection)
        self._db = db

    def columns(self, table):
        """Return the names of a table's columns: set.

        Raises DatabaseUnavailable if there is no such table.
        """
        try:
            columns = self._inspector.get_columns(table.name)
        except sa.exc.NoSuchTableError as error:
            raise exception.DatabaseUnavailable(
                f'Database {self._db.masked}: it has no table '
                f'{table.name}; "nova-sched-manage db sync" makes it in a '
                f'database of its own') from error
        return {column['name'] for column in columns}

    def present(self, table):
        """Return the names of a table's columns: set, empty for no table."""
        try:
            return self.columns(table)
        except exception.DatabaseUnavailable:
            return set()

    def check(self, table, names):
        """Raise DatabaseUnavailable if a table lacks any of these columns."""
        missing = [name for name in names if name not in self.columns(table)]
        if missing:
            raise exception.DatabaseUnavailable(
                f'Database {self._db.masked}: its table {table.name} has no '
                f'column {" and no column ".join(missing)}')

    def column(self, table, name):
        """Return the expression for a column.

        The column itself if it exists, else its substitute, or NULL.
        """
        present = self.columns(table)
        return (table.c[name] if name in present
                else _substitute(table.c[name], present))

    def select(self, table, names, **instead):
        """Return a SELECT of the columns in this order.

        A missing column is selected as its substitute, or as NULL.
        instead: expressions that replace columns, by name.
        """
        present = self.columns(table)
        return sa.select(*(
            (instead[name] if name in instead and name in present
             else self.column(table, name)).label(name)
            for name in names)).select_from(table)


def _substitute(column, present):
    other = _SUBSTITUTES.get(column)
    return other if other is not None and other.name in present else sa.null()


#: Placeholder in a statement for a list of integers.
KEYS = '/* keys */'


def _number(name):
    return f'/* {name} */'


def number(name):
    """Return the expression for an integer that each call sets."""
    return sa.literal_column(_number(name), sa.BigInteger)


class CompiledStatement:
    """A statement without parameters, compiled once to the dialect's SQL."""

    def __init__(self, connection, statement):
        dialect = connection.dialect
        self._sql = str(statement.compile(
            dialect=dialect, compile_kwargs={'literal_binds': True}))
        # SQLite returns times as texts. These are converted; booleans stay 0
        # and 1.
        self._times = [
            index for index, column in enumerate(statement.selected_columns)
            if isinstance(column.type, sa.DateTime)
            and dialect.name == 'sqlite']

    def rows(self, connection, keys=(), **numbers):
        """Return all rows as the driver's tuples: list.

        Times are naive UTC datetimes or None, see timestamps.parse.
        keys, numbers: see ``text``.
        """
        rows = _rows(connection, self.text(keys, **numbers))
        if not self._times:
            return rows
        return [self._with_times(row) for row in rows]

    def text(self, keys=(), **numbers):
        """Return its SQL.

        keys: integers that replace ``KEYS`` in the statement.
        numbers: integers that replace ``number(name)``.
        """
        sql = self._sql
        if keys:
            sql = sql.replace(KEYS, ','.join(map(str, map(int, keys))))
        for name, value in numbers.items():
            sql = sql.replace(_number(name), str(int(value)))
        return sql

    def _with_times(self, row):
        row = list(row)
        for index in self._times:
            row[index] = timestamps.parse(row[index])
        return tuple(row)


def all_rows(connection, texts):
    """Return the rows of several statements, which are sent as one: list.

    texts: of CompiledStatement, with equal columns and without times.
    """
    return _rows(connection, ' UNION ALL '.join(texts)) if texts else []


def _rows(connection, sql):
    with connection.exec_driver_sql(sql) as result:
        return list(result.cursor.fetchall())
