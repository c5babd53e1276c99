"""Compiled statements for the columns that a database has."""

import sqlalchemy as sa

from nova_sched import exception
from nova_sched.db import tables
from nova_sched.db import timestamps

#: Substitutes for columns that a release's table lacks.  In Kilo, a heartbeat
#: of a service shows in updated_at only.
_SUBSTITUTES = {tables.services.c.last_seen_up: tables.services.c.updated_at}


class Schema:
    """The columns that a database has.

    connection: an open one.  db: its engine.Database, for error texts.
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
        """Return the names of a table's columns: set, empty without table."""
        try:
            return self.columns(table)
        except exception.DatabaseUnavailable:
            return set()

    def check(self, table, names):
        """Raise DatabaseUnavailable if a table lacks one of these columns."""
        missing = [name for name in names if name not in self.columns(table)]
        if missing:
            raise exception.DatabaseUnavailable(
                f'Database {self._db.masked}: its table {table.name} has no '
                f'column {" and no column ".join(missing)}')

    def select(self, table, names, **instead):
        """Return a SELECT of the columns in this order.

        A column that is missing is selected as its substitute, or as NULL.
        instead: expressions that replace columns, by name.
        """
        present = self.columns(table)
        return sa.select(*(
            instead.get(name, table.c[name]).label(name)
            if name in present
            else _substitute(table.c[name], present).label(name)
            for name in names)).select_from(table)


def _substitute(column, present):
    other = _SUBSTITUTES.get(column)
    return other if other is not None and other.name in present else sa.null()


class CompiledStatement:
    """A statement without parameters, compiled once to the dialect's SQL."""

    def __init__(self, connection, statement):
        dialect = connection.dialect
        self._sql = str(statement.compile(
            dialect=dialect, compile_kwargs={'literal_binds': True}))
        # SQLite returns times as texts, the only values to convert per row.
        # Booleans stay 0 and 1.
        self._times = [
            index for index, column in enumerate(statement.selected_columns)
            if isinstance(column.type, sa.DateTime)
            and dialect.name == 'sqlite']

    def rows(self, connection, keys=()):
        """Return all rows as the driver's tuples: list.

        Times are naive UTC datetimes or None, see timestamps.parse.
        keys: integers that take the place of ``_KEYS`` in the statement.
        """
        sql = self._sql
        if keys:
            sql = sql.replace(_KEYS, ','.join(map(str, map(int, keys))))
        with connection.exec_driver_sql(sql) as result:
            rows = list(result.cursor.fetchall())
        if not self._times:
            return rows
        return [self._with_times(row) for row in rows]

    def _with_times(self, row):
        row = list(row)
        for index in self._times:
            row[index] = timestamps.parse(row[index])
        return tuple(row)


class DigestStatement:
    """A statement that fetches only the rows that changed since the last call.

    The database computes a digest of every row, which costs a fraction of
    sending the row and of creating Python objects for its columns. Every
    change of a row changes its digest, whatever time stamps, clocks and the
    order of commits say. Databases other than those of ``is_supported`` lack
    the functions for it.
    Within one transaction, digests and rows are of the same moment. Without
    that guarantee a row may be newer than its digest, and the next call
    fetches it again.

    key: the statement's integer primary key column, by which it is ordered.
    """

    def __init__(self, connection, statement, key):
        keyed = statement.with_only_columns(key, *statement.selected_columns)
        by_keys = key.in_([sa.literal_column(_KEYS)])
        self._digests = CompiledStatement(
            connection, statement.with_only_columns(key, _digest(statement)))
        self._all = CompiledStatement(connection, keyed)
        self._some = CompiledStatement(connection, keyed.where(by_keys))
        self._known = {}

    @staticmethod
    def is_supported(connection):
        """Return whether the database is MySQL or MariaDB."""
        return connection.dialect.name in ('mysql', 'mariadb')

    def rows(self, connection):
        """Return all rows: list of tuples, unchanged rows the same objects."""
        digests = dict(self._digests.rows(connection))
        known = {key: self._known[key] for key, digest in digests.items()
                 if digest is not None
                 and self._known.get(key, (None,))[0] == digest}
        for key, *row in self._fetch(
                connection, [key for key in digests if key not in known]):
            known[key] = digests.get(key), tuple(row)
        self._known = known
        return [known[key][1] for key in sorted(known)]

    def _fetch(self, connection, keys):
        if not keys:
            return []
        if len(keys) > _MAX_KEYS:
            return self._all.rows(connection)
        return self._some.rows(connection, keys)


#: Number of rows up to which selecting them by key beats reading all.
_MAX_KEYS = 500
_KEYS = '/* keys */'


def _digest(statement):
    """Return the SHA1 expression over a row's columns.

    Texts are hexadecimal, so that a comma separates columns and a tilde marks
    NULL whatever they hold, and so that columns of several character sets can
    be concatenated.
    """
    return sa.func.sha1(sa.func.concat_ws(',', *(
        sa.func.coalesce(
            sa.func.hex(column) if isinstance(column.type, sa.String)
            else column, '~')
        for column in statement.selected_columns)))
