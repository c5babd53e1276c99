"""Compute hosts that no cell mapping knows yet."""

import datetime
import shutil
import threading

import pytest
import sqlalchemy as sa

from nova_sched import exception
from nova_sched import remote
from nova_sched.db import cell_reader
from nova_sched.db import cells
from nova_sched.db import discovery
from nova_sched.db import engine
from nova_sched.db import statements
from nova_sched.db import tables
from tests.builders import clouds
from tests.builders.services import wait_for

ONE, TWO = clouds.a_uuid(101), clouds.a_uuid(102)
LONG_AGO = datetime.datetime(2020, 1, 1)


class Databases:
    """An API database, cell0's and those of two cells, in files."""

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
        """dict host -> uuid of its cell."""
        hosts, mapped = tables.host_mappings, tables.cell_mappings
        with self.api.reading() as connection:
            return dict(connection.execute(sa.select(
                hosts.c.host, mapped.c.uuid).join(mapped)).all())

    def marks(self, db):
        """Of compute nodes: dict hypervisor_hostname -> mapped."""
        c = tables.compute_nodes.c
        with db.reading() as connection:
            return dict(connection.execute(sa.select(
                c.hypervisor_hostname, c.mapped)).all())


@pytest.fixture
def databases(tmp_path, empty_file):
    return Databases(tmp_path, empty_file)


@pytest.fixture
def search(conf, databases):
    """The Discovery of these databases."""
    conf.set_override('connection', str(databases.cell0.url), 'database')
    conf.set_override('connection', str(databases.api.url), 'api_database')
    search = discovery.Discovery(conf)
    yield search
    search.close()


def test_a_new_host_is_mapped_to_its_cell(databases, search):
    """A cell without a name is told by its uuid."""
    databases.add(databases.one, 'host1')
    databases.add(databases.two, 'host2', mapped=None)

    found = search.run()

    assert found.mapped == ['one:host1', f'{TWO}:host2']
    assert databases.mappings() == {'host1': ONE, 'host2': TWO}
    assert databases.marks(databases.one) == {'host1': 1}
    assert databases.marks(databases.two) == {'host2': 1}


def test_a_mark_is_a_change_of_its_row_and_of_no_other(databases, search):
    databases.add(databases.one, 'new')
    databases.add(databases.one, 'old', mapped=1)
    search.run()
    c = tables.compute_nodes.c
    with databases.one.reading() as connection:
        updated = dict(connection.execute(
            sa.select(c.host, c.updated_at)).all())
    assert updated['new'] > LONG_AGO
    assert updated['old'] == LONG_AGO


def test_a_host_is_mapped_once_whatever_the_number_of_its_nodes(
        databases, search):
    for name in ('node1', 'node2'):
        databases.add(databases.one, 'ironic', hypervisor_hostname=name)

    assert search.run().mapped == ['one:ironic']
    assert databases.marks(databases.one) == {'node1': 1, 'node2': 1}


def test_a_second_search_finds_nothing(databases, search):
    databases.add(databases.one, 'host1')
    search.run()
    assert search.run() == discovery.Discovered()


@pytest.mark.parametrize('columns', [
    {'mapped': 1}, {'deleted': 1}, {'host': None}])
def test_what_is_marked_or_deleted_or_without_a_host_is_not_new(
        databases, search, columns):
    databases.add(databases.one, 'host1', **columns)
    assert search.run() == discovery.Discovered()
    assert databases.mappings() == {}


def test_cell0_has_no_hosts(databases, search):
    databases.add(databases.cell0, 'host1')
    assert search.run() == discovery.Discovered()
    assert databases.mappings() == {}


def test_a_node_of_a_mapped_host_is_marked_and_no_discovery(
        databases, search):
    databases.add(databases.one, 'host1')
    databases.map('host1', ONE)
    assert search.run() == discovery.Discovered()
    assert databases.marks(databases.one) == {'host1': 1}


def test_a_host_that_is_mapped_to_another_cell_stays_there(
        databases, search):
    """And is found as soon as that mapping is deleted."""
    databases.add(databases.one, 'host1')
    databases.map('host1', TWO)
    assert search.run() == discovery.Discovered()
    assert databases.mappings() == {'host1': TWO}
    assert databases.marks(databases.one) == {'host1': 0}


def test_a_host_that_somebody_else_maps_meanwhile_is_told_apart(
        databases, search, monkeypatch):
    """And the others are mapped."""
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


def test_a_cell_that_is_away_does_not_hide_the_others(
        databases, search, tmp_path):
    databases.add(databases.two, 'host2')
    (tmp_path / 'one.sqlite').write_text('this is no database')
    for name in ('one.sqlite-wal', 'one.sqlite-shm'):
        (tmp_path / name).unlink(missing_ok=True)

    assert search.run().mapped == [f'{TWO}:host2']


def test_without_the_api_database_a_search_is_a_typed_error(
        databases, search, tmp_path):
    (tmp_path / 'api.sqlite').write_text('this is no database')
    for name in ('api.sqlite-wal', 'api.sqlite-shm'):
        (tmp_path / name).unlink(missing_ok=True)
    with pytest.raises(exception.DatabaseUnavailable):
        search.run()


def test_a_cell_that_is_mapped_later_is_searched_then(databases, search):
    with databases.api.writing() as connection:
        connection.execute(tables.cell_mappings.delete().where(
            tables.cell_mappings.c.uuid == TWO))
    databases.add(databases.two, 'host2')
    assert search.run().mapped == []
    databases.insert(databases.api, tables.cell_mappings, uuid=TWO,
                     name='two', database_connection=str(databases.two.url))
    assert search.run().mapped == ['two:host2']


def test_without_cells_there_is_nothing_to_do(databases, search):
    with databases.api.writing() as connection:
        connection.execute(tables.cell_mappings.delete())
    assert search.run() == discovery.Discovered()


def test_cells_of_ocata_have_no_marks(databases, search):
    """Then every host is compared with the mappings."""
    with databases.one.writing() as connection:
        connection.exec_driver_sql(
            'ALTER TABLE compute_nodes DROP COLUMN mapped')
    with databases.one.writing() as connection:
        connection.exec_driver_sql(
            'INSERT INTO compute_nodes (host, vcpus, memory_mb, local_gb, '
            'vcpus_used, memory_mb_used, local_gb_used, hypervisor_type, '
            'hypervisor_version, cpu_info, deleted) '
            "VALUES ('host1', 1, 1, 1, 0, 0, 0, 'QEMU', 1, '', 0)")
    assert search.run().mapped == ['one:host1']
    assert search.run() == discovery.Discovered()


def test_many_hosts_are_mapped(databases, search):
    """More than one list of values holds."""
    with databases.one.writing() as connection:
        connection.execute(tables.compute_nodes.insert(), [
            clouds.a_compute_node(f'host{number}', mapped=0, created_at=None,
                                  updated_at=None)
            for number in range(statements.CHUNK + 1)])
    assert len(search.run().mapped) == statements.CHUNK + 1
    assert set(databases.marks(databases.one).values()) == {1}


def test_a_search_that_is_closed_probes_no_more(
        databases, search, monkeypatch):
    monkeypatch.setattr(remote, 'PROBE_INTERVAL', 0.02)
    search.run()
    before, awake = set(threading.enumerate()), threading.Event()
    for name in ('find_nodes', 'probe'):
        monkeypatch.setattr(cell_reader.CellReader, name,
                            lambda *_: awake.wait(20))
    for each in search._hosts._readers.values():
        each.guard._timeout, each.guard._probe = 0.1, each.probe
    with pytest.raises(exception.DatabaseUnavailable):
        search._hosts.find_nodes('x', None)

    def probes():
        return [thread for thread in threading.enumerate()
                if thread.name.startswith('probe') and thread not in before]

    assert probes()
    search.close()
    awake.set()

    wait_for(lambda: not probes())


def test_a_cell_whose_mapping_is_just_deleted_gets_no_hosts(
        databases, search, monkeypatch):
    databases.add(databases.one, 'host1')
    mappings = search._mappings
    monkeypatch.setattr(search, '_mappings', lambda *args: (
        None, mappings(*args)[1]))

    assert search.run() == discovery.Discovered()
    assert databases.mappings() == {}
    assert databases.marks(databases.one) == {'host1': 0}


def test_an_api_database_that_cannot_be_written_is_no_rival(
        databases, search):
    """It does not answer, and that is what is raised."""
    databases.add(databases.one, 'host1')
    with databases.api.writing() as connection:
        connection.exec_driver_sql(
            'CREATE TRIGGER no BEFORE INSERT ON host_mappings '
            "BEGIN SELECT RAISE(ABORT, 'read only'); END")

    with pytest.raises(exception.DatabaseUnavailable, match='read only'):
        search.run()


def test_more_hosts_than_one_statement_may_name_are_all_mapped(
        databases, search, monkeypatch):
    monkeypatch.setattr(statements, 'CHUNK', 2)
    for name in 'abcde':
        databases.add(databases.one, name)

    assert search.run().mapped == [f'one:{name}' for name in 'abcde']
    assert set(databases.marks(databases.one).values()) == {1}
    assert search.run() == discovery.Discovered()
