"""A cloud in Nova's layout: an API database, cell0, and cells."""

import datetime

from nova_sched.db import cells
from nova_sched.scheduler import loading
from tests.builders import rules
from tests.builders.cloud_database import CloudDatabase

CELL1 = '00000000-0000-0000-0000-0000000000c1'
CELL2 = '00000000-0000-0000-0000-0000000000c2'


class MappedCloud:
    """API database, cell0 and two cells, each a file of its own.

    tables: as of CloudDatabase.
    """

    def __init__(self, tables, directory):
        self._tables, self._directory, self.databases = tables, directory, {}
        self._drivers = []
        self.api, self.cell0 = self._database('api'), self._database('cell0')
        for uuid, name, database in (
                (cells.CELL0_UUID, 'cell0', self.cell0),
                (CELL1, 'one', self._database('one')),
                (CELL2, 'two', self._database('two'))):
            self.map(uuid, name, database.url)
        self.one, self.two = (self.databases[name] for name in ('one', 'two'))

    def _database(self, name):
        (self._directory / name).mkdir()
        self.databases[name] = CloudDatabase(
            self._tables, self._directory / name)
        return self.databases[name]

    def map(self, uuid, name, url, disabled=False):
        """Add a cell to the mappings, as ``nova-manage cell_v2`` does."""
        self.api.execute(
            'INSERT INTO cell_mappings (uuid, name, database_connection, '
            'transport_url, disabled, created_at) VALUES (?, ?, ?, ?, ?, ?)',
            uuid, name, url, 'none:///', disabled,
            datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%d %H:%M:%S'))

    def change(self, uuid, **columns):
        """Change a mapping, as ``nova-manage cell_v2 update_cell`` does."""
        for name, value in columns.items():
            self.api.execute(
                f'UPDATE cell_mappings SET {name} = ?, updated_at = ? '
                f'WHERE uuid = ?', value, datetime.datetime.now(
                    datetime.UTC).strftime('%Y-%m-%d %H:%M:%S'), uuid)

    def add_cell(self, uuid, name, hosts):
        """Add a cell with these hosts; return its CloudDatabase."""
        database = self._database(name)
        database.load(hosts, host_mappings=[])
        self.map(uuid, name, database.url)
        return database

    def conf(self, **options):
        """A configuration as of a real nova.conf: [database] is cell0's."""
        return rules.a_conf(**{
            'database__connection': self.cell0.url,
            'api_database__connection': self.api.url, **options})

    def driver(self, name='filter_scheduler', **options):
        """A started driver; options as of rules.a_conf."""
        made = loading.load_driver(
            self.conf(scheduler__driver=name, **options))
        self._drivers.append(made)
        made.start()
        return made

    def close(self):
        for made in self._drivers:
            made.stop()
        for database in self.databases.values():
            database.close()
