"""A SQLite file with a cloud, for drivers."""

import shutil
import time
import typing

from nova_sched.cloud import file as cloud_file
from nova_sched.db import engine
from nova_sched.db import schema
from nova_sched.db.changed_rows import KnownRows
from nova_sched.scheduler import loading
from tests.builders import clouds
from tests.builders import rules


def make_tables(directory):
    """The path of a new database file with empty tables."""
    path = directory / 'tables.sqlite'
    db = engine.Database(f'sqlite:///{path}')
    schema.sync_database(db)
    db.close()
    return path


class CellRows(typing.NamedTuple):
    """All rows of a cell, by id; services in the order of SERVICE_COLUMNS."""

    cell: object
    compute_nodes: list
    services: list


def all_rows(cell_reader, connection):
    """Read a cell without any known rows: CellRows."""
    nodes, services = ([row.values for _, row in sorted(found.rows.items())]
                       for found in cell_reader.changes(
                           connection, KnownRows(), KnownRows(), time.time()))
    return CellRows(cell_reader.cell, nodes, [row[:-1] for row in services])


def cell_rows(hosts):
    """Read all cells of a HostReader: list of CellRows."""
    def rows(cell_reader):
        with cell_reader.db.reading() as connection:
            return all_rows(cell_reader, connection)

    return list(hosts.for_each_cell(rows).values())


class CloudDatabase:
    """A database file, with methods to change it and drivers on it.

    tables: a file with empty tables, which is copied into directory.
    """

    def __init__(self, tables, directory):
        self.path = directory / 'cloud.sqlite'
        self.url = f'sqlite:///{self.path}'
        shutil.copy(tables, self.path)
        self._db = engine.Database(self.url)

    def close(self):
        self._db.close()

    def load(self, hosts=3, **lists):
        """Replace the cloud; arguments as of clouds.a_cloud."""
        cloud_file.load(self._db.engine, clouds.a_cloud(hosts, **lists),
                      shift=True)

    def load_nodes(self, *nodes, **lists):
        """Replace the cloud by these compute nodes and a service for each."""
        hosts = list(dict.fromkeys(node['host'] for node in nodes))
        self.load(hosts, **{'compute_nodes': list(nodes), **lists})

    def execute(self, sql, *values):
        """Run one statement with question marks for values; commit it."""
        with self._db.writing() as connection:
            connection.exec_driver_sql(sql, values)

    def rows(self, sql, *values):
        """Run a SELECT: list of tuples."""
        with self._db.reading() as connection:
            return [tuple(row) for row
                    in connection.exec_driver_sql(sql, values)]

    def conf(self, **options):
        """A configuration for this database; see rules.a_conf."""
        return rules.a_conf(**{
            'DEFAULT__state_path': str(self.path.parent),
            'database__connection': self.url, **options})

    def driver(self, name='filter_scheduler', **options):
        """A started driver; options as of rules.a_conf."""
        made = loading.load_driver(
            self.conf(scheduler__driver=name, **options))
        made.start()
        return made
