"""Statements as fast as the driver, on whatever columns a database has."""

import sqlalchemy as sa

from nova_sched import exception


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

    def select(self, table, names, **instead):
        """SELECT of names in order; instead: other expressions by name."""
        present = self.columns(table)
        return sa.select(*(
            instead.get(name, table.c[name]).label(name)
            if name in present
            else sa.null().label(name) for name in names)
        ).select_from(table)


class FixedStatement:
    """A statement without parameters, compiled to the database's SQL once."""

    def __init__(self, connection, statement):
        dialect = connection.dialect
        self._sql = str(statement.compile(
            dialect=dialect, compile_kwargs={'literal_binds': True}))
        # Only what the driver gives in another type needs work per row:
        # SQLite's times are texts.  Booleans stay 0 and 1.
        processors = [
            (index, column.type.dialect_impl(dialect).result_processor(
                dialect, None))
            for index, column in enumerate(statement.selected_columns)
            if isinstance(column.type, sa.DateTime)]
        self._processors = [(index, process) for index, process in processors
                            if process is not None]

    def rows(self, connection):
        """All rows as a list of tuples, straight from the driver."""
        with connection.exec_driver_sql(self._sql) as result:
            rows = list(result.cursor.fetchall())
        if not self._processors:
            return rows
        return [self._processed(row) for row in rows]

    def _processed(self, row):
        row = list(row)
        for index, process in self._processors:
            row[index] = process(row[index])
        return tuple(row)
