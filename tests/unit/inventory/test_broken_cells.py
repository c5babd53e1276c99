"""Failures of one mapped cell do not affect the others."""

import dataclasses
import sys
import threading

import pytest

from nova_sched import exception
from nova_sched import remote
from nova_sched.db import cell_reader
from nova_sched.db import cells
from nova_sched.db import reader as db_reader
from tests.builders.cloud_database import CloudDatabase
from tests.builders.clouds import a_uuid
from tests.builders.drivers import free_ram_mb
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.mapped_cloud import CELL1
from tests.builders.mapped_cloud import CELL2
from tests.builders.requests import a_request


@pytest.fixture
def cloud(mapped_cloud):
    """Cells with the hosts a and b, and c; cell0 has none."""
    return mapped_cloud


@pytest.fixture
def patient(monkeypatch):
    """Prevent successful probes during a test."""
    monkeypatch.setattr(remote, 'PROBE_INTERVAL', 1000)


def far_from_an_instance():
    return a_request(scheduler_hints={'different_host': [a_uuid()]})


class TestMappings:
    @pytest.mark.parametrize('url', [
        'mysql+mysqlconnector://u:secret@h/d', 'oracle://u:secret@h/d',
        'postgresql+pg8000://u:secret@h/d', 'mysql://u:secret@h:nan/d',
        'mysql+pymysql://u:secret@h/d?connect_timeout=x',
        'mysql://{nobody}:secret@h/d'])
    def test_unusable_url_leaves_cell_out(self, cloud, url, caplog):
        cloud.change(CELL2, database_connection=url)

        assert sorted(free_ram_mb(cloud.driver())) == ['a', 'b']
        assert f'Cell two ({CELL2}) is left out' in caplog.text
        assert '[database] connection =' not in caplog.text
        assert 'secret' not in caplog.text

    def test_unknown_parameter_leaves_cell_out(self, cloud, caplog, patient):
        cloud.change(CELL2, database_connection=(
            'mysql+pymysql://u:secret@127.0.0.1:9/d?nonsense=1'))
        driver = cloud.driver()

        for _ in range(3):
            picks(driver, far_from_an_instance())

        assert sorted(free_ram_mb(driver)) == ['a', 'b']
        assert caplog.text.count('Failed to get computes') == 1
        assert 'secret' not in caplog.text

    @pytest.mark.parametrize('url', [
        'mysql://u:p{1@h/d', 'mysql://u:p{x}y@h/d', 'mysql://u:}{@h/d'])
    def test_brace_in_password_is_no_template(self, url):
        assert cells.fill_template(url, 'mysql://a:b@c/d') == url


class TestUnreadableInstances:
    @pytest.fixture
    def driver(self, cloud, patient):
        """A driver with an unreadable instances table in cell two."""
        driver = cloud.driver(filter_scheduler__enabled_filters=[
            'ComputeFilter', 'DifferentHostFilter'])
        cloud.two.execute('ALTER TABLE instances RENAME TO moved')
        return driver

    def test_keep_all_hosts_and_are_logged_once(self, driver, caplog):
        for _ in range(3):
            with pytest.raises(exception.DatabaseUnavailable,
                               match=rf'cell {CELL2}\(two\)'):
                select(driver, far_from_an_instance())
            select(driver, a_request())

        assert sorted(free_ram_mb(driver)) == ['a', 'b', 'c']
        assert caplog.text.count('Failed to get computes') == 1

    def test_do_not_matter_in_lost_cell(self, driver, cloud):
        cloud.two.execute('ALTER TABLE compute_nodes RENAME TO away')
        picks(driver, a_request())

        assert picks(driver, far_from_an_instance()) < ['c']


@pytest.mark.parametrize('table', ['compute_nodes', 'services'])
def test_probe_reads_hosts(cloud, table):
    reader = cell_reader.CellReader(
        cells.Cell(CELL2, 'two', cloud.two.url), {}, ('id',))
    reader.probe()
    cloud.two.execute(f'ALTER TABLE {table} RENAME TO moved')

    with pytest.raises(exception.DatabaseUnavailable, match=table):
        reader.probe()
    reader.close()


def test_cells_may_change_during_read(cloud):
    reader = db_reader.HostReader(cloud.conf())
    found, stop = reader.find_cells(), threading.Event()
    disabled = tuple(dataclasses.replace(cell, disabled=True)
                     for cell in found)

    def change():
        while not stop.is_set():
            reader.set_cells(disabled)
            reader.set_cells(found)

    thread, interval = threading.Thread(target=change), (
        sys.getswitchinterval())
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        for _ in range(300):
            assert len(reader.for_each_cell(lambda _: True)) == 2
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
        reader.close()


class TestHostInTwoCells:
    @pytest.fixture
    def driver(self, cloud):
        """A driver with host a in both cells."""
        cloud.two.load(['a', 'c'], host_mappings=[])
        return cloud.driver()

    def where(self, driver):
        [[chosen]] = select(driver, a_request(force_hosts=['a']))
        return chosen.cell_uuid

    def test_enabled_cell_wins_then_later_cell(self, driver, cloud):
        assert self.where(driver) == CELL2
        cloud.change(CELL2, disabled=1)
        assert self.where(driver) == CELL1

        cloud.change(CELL2, disabled=0)
        assert self.where(driver) == CELL2

        cloud.change(CELL1, disabled=1)
        assert self.where(driver) == CELL2

    def test_find_nodes_uses_enabled_cell(self, driver, cloud):
        cloud.change(CELL1, disabled=1)
        picks(driver, a_request())
        [uuid] = _uuids(cloud.two, 'a')

        [node] = driver.host_manager.find_nodes('a', None)

        assert node.uuid == uuid


def _uuids(database, host):
    reader = cell_reader.CellReader(
        cells.Cell(CELL2, None, database.url), {}, ('id',))
    try:
        return [node.uuid for node in reader.find_nodes(host, None)]
    finally:
        reader.close()


class TestFindNodes:
    def test_named_cell_is_queried_alone(self, cloud, monkeypatch):
        driver, named = cloud.driver(), cell_reader.CellReader.find_nodes
        asked = []

        def ask(reader, *names):
            asked.append(reader.cell.uuid)
            return named(reader, *names)

        monkeypatch.setattr(cell_reader.CellReader, 'find_nodes', ask)
        assert driver.host_manager.find_nodes('a', None, CELL1)

        assert asked == [CELL1]

    def test_finds_hosts_of_new_cell(self, cloud):
        driver = cloud.driver()
        cloud.add_cell(a_uuid(3), 'three', ['d'])

        [node] = driver.host_manager.find_nodes('d', None)

        assert node.host == 'd'
        assert 'd' in picks(driver, a_request(force_hosts=['d']))

    def test_lost_api_database_keeps_known_cells(self, cloud):
        driver = cloud.driver()
        cloud.api.execute('DROP TABLE cell_mappings')

        assert driver.host_manager.find_nodes('x', None) == []
        assert driver.host_manager.find_nodes('c', None)

    def test_fails_if_all_cells_are_lost(self, cloud):
        """The host may be in a lost cell."""
        driver = cloud.driver()
        cloud.two.execute('DROP TABLE compute_nodes')
        assert driver.host_manager.find_nodes('c', None) == []
        cloud.one.execute('DROP TABLE compute_nodes')

        with pytest.raises(exception.DatabaseUnavailable, match=(
                rf'^cell {CELL1}\(one\) cannot be read: .*; cell {CELL2}')):
            driver.host_manager.find_nodes('c', None)


class TestFindNodesOfOneDatabase:
    @pytest.fixture
    def found(self, tables_file, tmp_path):
        """Function that finds hosts in a database with two cells."""
        database = CloudDatabase(tables_file, tmp_path)
        database.load(
            ['a', 'b'], cells=[{'uuid': CELL1, 'name': 'one'},
                               {'uuid': CELL2, 'name': None,
                                'disabled': True}],
            host_mappings=[{'host': 'a', 'cell_uuid': CELL1},
                           {'host': 'b', 'cell_uuid': CELL2}])
        manager = database.driver().host_manager

        def found(*wanted):
            return [node.host for node in manager.find_nodes(*wanted)]

        yield found
        database.close()

    def test_host_mapping_names_cell(self, found):
        assert found('a', None, CELL1) == ['a']
        assert found('a', None, CELL2) == []
        assert found('a', None, cells.SINGLE_CELL_UUID) == ['a']

    def test_node_name_is_not_found_in_disabled_cell(self, found):
        assert found(None, 'a') == ['a']
        assert found(None, 'b') == []
        assert found('b', None) == found(None, 'b', CELL2) == ['b']
