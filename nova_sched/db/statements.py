"""Statements as fast as the driver, on whatever columns a database has."""

import sqlalchemy as sa

from nova_sched import exception
from nova_sched.db import tables
from nova_sched.db import timestamps

#: Columns -> what says the same where an era's table lacks them.  Kilo's
#: services are seen by what a heartbeat leaves in the row.
_INSTEAD = {tables.services.c.last_seen_up: tables.services.c.updated_at}


class Schema:
    """Which of our columns a database really has."""

    def __init__(self, connection, db):
        self._inspector = sa.inspect(connection)
        self._db = db

    def columns(self, table):
        """Names of the columns there; DatabaseUnavailable without table."""
        try:
            found = self._inspector.get_columns(table.name)
        except sa.exc.NoSuchTableError as error:
            raise exception.DatabaseUnavailable(
                f'Database {self._db.masked}: it has no table '
                f'{table.name}; "nova-sched-manage db sync" makes it in a '
                f'database of its own') from error
        return {column['name'] for column in found}

    def present(self, table):
        """As ``columns``, but nothing of a table that is not there: set."""
        try:
            return self.columns(table)
        except exception.DatabaseUnavailable:
            return set()

    def select(self, table, names, **instead):
        """SELECT of names in order; instead: other expressions by name.

        NULL for a column that is not there, unless another says the same.
        """
        present = self.columns(table)
        return sa.select(*(
            instead.get(name, table.c[name]).label(name)
            if name in present
            else _stand_in(table.c[name], present).label(name)
            for name in names)).select_from(table)


def _stand_in(column, present):
    other = _INSTEAD.get(column)
    return other if other is not None and other.name in present else sa.null()


class FixedStatement:
    """A statement without parameters, compiled to the database's SQL once."""

    def __init__(self, connection, statement):
        dialect = connection.dialect
        self._sql = str(statement.compile(
            dialect=dialect, compile_kwargs={'literal_binds': True}))
        # Only what the driver gives in another type needs work per row:
        # SQLite's times are texts.  Booleans stay 0 and 1.
        self._times = [
            index for index, column in enumerate(statement.selected_columns)
            if isinstance(column.type, sa.DateTime)
            and dialect.name == 'sqlite']

    def rows(self, connection, keys=()):
        """All rows as a list of tuples, straight from the driver.

        Times are naive UTC datetimes or None, see timestamps.read.
        keys: integers, what a statement with a list of ``_KEYS`` looks for.
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
            row[index] = timestamps.read(row[index])
        return tuple(row)


class RememberingStatement:
    """All rows of a statement, of which only changed ones are fetched.

    The database digests every row, which costs a fraction of sending it and
    of making Python objects of its columns. Whatever changes a row is seen:
    no time stamp, clock or order of commits plays a part. Only on databases
    that ``can_digest``. Within one transaction the digests and the rows are of
    one moment; without such a guarantee a row may be newer than its digest,
    and is fetched once more by the next call.

    key: the statement's integer primary key column, by which it is ordered.
    """

    def __init__(self, connection, statement, key):
        keyed = statement.with_only_columns(key, *statement.selected_columns)
        listed = key.in_([sa.literal_column(_KEYS)])
        self._digests = FixedStatement(
            connection, statement.with_only_columns(key, _digest(statement)))
        self._all = FixedStatement(connection, keyed)
        self._some = FixedStatement(connection, keyed.where(listed))
        self._known = {}

    @staticmethod
    def can_digest(connection):
        """Is this a MySQL or MariaDB?  SQLite has no digest and needs none."""
        return connection.dialect.name in ('mysql', 'mariadb')

    def rows(self, connection):
        """All rows as a list of tuples; unchanged ones are the same tuples."""
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
        if len(keys) > _MANY:
            return self._all.rows(connection)
        return self._some.rows(connection, keys)


#: Rows up to which naming them is quicker than reading all.
_MANY = 500
_KEYS = '/* keys */'


def _digest(statement):
    """SHA1 of a row's columns, told apart and from NULL whatever they hold.

    Hexadecimal text holds neither the comma nor the tilde, and columns of
    several character sets can be put together as such.
    """
    return sa.func.sha1(sa.func.concat_ws(',', *(
        sa.func.coalesce(
            sa.func.hex(column) if isinstance(column.type, sa.String)
            else column, '~')
        for column in statement.selected_columns)))
