"""Dumps of MariaDB databases, to be copied."""

import sqlalchemy as sa


class Tables:
    """A transaction in a database, and its reflected tables.

    names: of the tables; by default all.
    """

    def __init__(self, url, *names):
        self._engine = sa.create_engine(url)
        self._metadata = sa.MetaData()
        self._metadata.reflect(self._engine, only=names or None,
                               resolve_fks=not names)

    def __enter__(self):
        self._connection = self._engine.connect()
        return self._connection, self._metadata.tables

    def __exit__(self, *error):
        if error == (None, None, None):
            self._connection.commit()
        self._connection.close()
        self._engine.dispose()


def dump(url):
    """The tables of a MariaDB database: {table: (statement, rows)}.

    statement: CREATE TABLE.  rows: dicts.
    """
    with Tables(url) as (connection, tables):
        return {name: (
            connection.exec_driver_sql(f'SHOW CREATE TABLE {name}').one()[1],
            [dict(row._mapping) for row in connection.execute(
                table.select())]) for name, table in tables.items()}


def load(url, dumped):
    """Load a result of ``dump`` into an empty database."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        # Tables are not in the order of their references.
        connection.exec_driver_sql('SET foreign_key_checks = 0')
        for name, (statement, rows) in dumped.items():
            connection.exec_driver_sql(statement)
            if rows:
                connection.execute(sa.table(name, *map(
                    sa.column, rows[0])).insert(), rows)
    engine.dispose()


def restore(url, dumped):
    """Replace the rows of existing tables by a result of ``dump``."""
    with Tables(url) as (connection, tables):
        connection.exec_driver_sql('SET foreign_key_checks = 0')
        for name, (_, rows) in dumped.items():
            connection.execute(tables[name].delete())
            if rows:
                connection.execute(tables[name].insert(), rows)
