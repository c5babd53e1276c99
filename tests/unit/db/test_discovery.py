"""Host discovery: compute hosts without a mapping."""

import datetime
import shutil

import pytest
import sqlalchemy as sa

from nova_sched import exception
from nova_sched.db import cells
from nova_sched.db import discovery
from nova_sched.db import engine
from nova_sched.db import statements
from nova_sched.db import tables
from tests.builders import clouds

ONE, TWO = clouds.a_uuid(101), clouds.a_uuid(102)
LONG_AGO = datetime.datetime(2020, 1, 1)


class Databases:
    """Files with an API database, cell0's database and two cells' databases.
    """

    def __init__(self, directory, tables_file):
        self._directory, self._tables_file = directory, tables_file
        self.api, self.cell0, self.one, self.two = map(
            self._database, ('api', 'cell0', 'one', 'two'))
        for uuid, name, db in ((cells.CELL0_UUID, 'cell0', self.cell0),
                               (ONE, 'one', self.one),
                               (TWO, None, self.two)):
            self.insert(self.api, tables.cell_mappings, uuid=uuid, name=name,
                        database_connection=str(db.url))

    def _database(self, name):
        path = self._directory / f'{name}.sqlite'
        shutil.copy(self._tables_file, path)
        return engine.Database(f'sqlite:///{path}')

    def insert(self, db, table, **columns):
        with db.writing() as connection:
            connection.execute(table.insert().values(**columns))

    def add(self, db, host, /, mapped=0, **columns):
        """Insert a compute node."""
        self.insert(db, tables.compute_nodes, **{
            **clouds.a_compute_node(host), 'created_at': LONG_AGO,
            'updated_at': LONG_AGO, 'mapped': mapped, **columns})

    def map(self, host, uuid):
        mapping = tables.cell_mappings.c
        self.insert(self.api, tables.host_mappings, host=host,
                    cell_id=sa.select(mapping.id).where(
                        mapping.uuid == uuid).scalar_subquery())

    def mappings(self):
        """Return host -> uuid of its cell."""
        hosts, mapped = tables.host_mappings, tables.cell_mappings
        with self.api.reading() as connection:
            return dict(connection.execute(sa.select(
                hosts.c.host, mapped.c.uuid).join(mapped)).all())

    def marks(self, db):
        """Return the name of each compute node -> mapped."""
        c = tables.compute_nodes.c
        with db.reading() as connection:
            return dict(connection.execute(sa.select(
                c.hypervisor_hostname, c.mapped)).all())


@pytest.fixture
def databases(tmp_path, empty_file):
    return Databases(tmp_path, empty_file)


@pytest.fixture
def search(conf, databases):
    """The Discovery in these databases."""
    conf.set_override('connection', str(databases.cell0.url), 'database')
    conf.set_override('connection', str(databases.api.url), 'api_database')
    search = discovery.Discovery(conf)
    yield search
    search.close()


def test_new_host_is_mapped_to_its_cell(databases, search):
    """The result has the uuid of a cell without a name."""
    databases.add(databases.one, 'host1')
    databases.add(databases.two, 'host2', mapped=None)

    assert search.run().mapped == ['one:host1', f'{TWO}:host2']
    assert search.run() == discovery.Discovered()
    assert databases.mappings() == {'host1': ONE, 'host2': TWO}
    assert databases.marks(databases.one) == {'host1': 1}
    assert databases.marks(databases.two) == {'host2': 1}


def test_mark_changes_only_its_row(databases, search):
    databases.add(databases.one, 'new')
    databases.add(databases.one, 'old', mapped=1)
    search.run()
    c = tables.compute_nodes.c
    with databases.one.reading() as connection:
        updated = dict(connection.execute(
            sa.select(c.host, c.updated_at)).all())
    assert updated['new'] > LONG_AGO
    assert updated['old'] == LONG_AGO


def test_host_with_several_nodes_is_mapped_once(databases, search):
    for name in ('node1', 'node2'):
        databases.add(databases.one, 'ironic', hypervisor_hostname=name)

    assert search.run().mapped == ['one:ironic']
    assert databases.marks(databases.one) == {'node1': 1, 'node2': 1}


@pytest.mark.parametrize(('cell', 'columns'), [
    ('one', {'mapped': 1}), ('one', {'deleted': 1}), ('one', {'host': None}),
    ('cell0', {})])
def test_other_nodes_are_not_mapped(databases, search, cell, columns):
    """Marked or deleted nodes, nodes without a host, and nodes in cell0."""
    databases.add(getattr(databases, cell), 'host1', **columns)
    assert search.run() == discovery.Discovered()
    assert databases.mappings() == {}


def test_node_of_mapped_host_is_marked(databases, search):
    databases.add(databases.one, 'host1')
    databases.map('host1', ONE)
    assert search.run() == discovery.Discovered()
    assert databases.marks(databases.one) == {'host1': 1}


def test_host_in_another_cell_stays_there(databases, search):
    """Its node is not marked, so the host is mapped after the deletion."""
    databases.add(databases.one, 'host1')
    databases.map('host1', TWO)
    assert search.run() == discovery.Discovered()
    assert databases.mappings() == {'host1': TWO}
    assert databases.marks(databases.one) == {'host1': 0}


def test_host_that_another_process_maps_is_reported_separately(
        databases, search, monkeypatch):
    """The other hosts are mapped."""
    databases.add(databases.one, 'host1')
    databases.add(databases.one, 'host2')
    look = search._mappings

    def look_too_early(cell, hosts):
        seen = look(cell, hosts)
        databases.map('host1', ONE)
        return seen
    monkeypatch.setattr(search, '_mappings', look_too_early)

    found = search.run()

    assert found.mapped_by_others == ['one:host1']
    assert found.mapped == ['one:host2']
    assert databases.mappings() == {'host1': ONE, 'host2': ONE}


@pytest.mark.parametrize('name', ['one', 'api'])
def test_cell_without_an_answer_is_skipped(databases, search, tmp_path, name):
    """The API database is required."""
    databases.add(databases.two, 'host2')
    (tmp_path / f'{name}.sqlite').write_text('this is no database')
    for end in ('wal', 'shm'):
        (tmp_path / f'{name}.sqlite-{end}').unlink(missing_ok=True)

    if name == 'api':
        with pytest.raises(exception.DatabaseUnavailable):
            search.run()
    else:
        assert search.run().mapped == [f'{TWO}:host2']


def test_cell_that_is_mapped_later_is_searched(databases, search):
    with databases.api.writing() as connection:
        connection.execute(tables.cell_mappings.delete().where(
            tables.cell_mappings.c.uuid == TWO))
    databases.add(databases.two, 'host2')
    assert search.run().mapped == []
    databases.insert(databases.api, tables.cell_mappings, uuid=TWO,
                     name='two', database_connection=str(databases.two.url))
    assert search.run().mapped == ['two:host2']


def test_cloud_without_cells_has_nothing_to_map(databases, search):
    with databases.api.writing() as connection:
        connection.execute(tables.cell_mappings.delete())
    assert search.run() == discovery.Discovered()


def test_cell_with_a_deleted_mapping_gets_no_hosts(
        databases, search, monkeypatch):
    databases.add(databases.one, 'host1')
    mappings = search._mappings
    monkeypatch.setattr(search, '_mappings', lambda *args: (
        None, mappings(*args)[1]))

    assert search.run() == discovery.Discovered()
    assert databases.mappings() == {}
    assert databases.marks(databases.one) == {'host1': 0}


def test_error_of_a_write_is_raised(databases, search):
    """It differs from a mapping by another process."""
    databases.add(databases.one, 'host1')
    with databases.api.writing() as connection:
        connection.exec_driver_sql(
            'CREATE TRIGGER no BEFORE INSERT ON host_mappings '
            "BEGIN SELECT RAISE(ABORT, 'read only'); END")

    with pytest.raises(exception.DatabaseUnavailable, match='read only'):
        search.run()


def test_many_hosts_are_mapped_in_several_statements(
        databases, search, monkeypatch):
    monkeypatch.setattr(statements, 'CHUNK', 2)
    for name in 'abcde':
        databases.add(databases.one, name)

    assert search.run().mapped == [f'one:{name}' for name in 'abcde']
    assert set(databases.marks(databases.one).values()) == {1}
    assert search.run() == discovery.Discovered()
