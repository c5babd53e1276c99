"""Hosts come from the databases in Nova's cell_mappings."""

import logging

import pytest

from nova_sched import exception
from nova_sched import remote
from nova_sched.context import RequestContext
from nova_sched.db import cells
from nova_sched.hosts.decision import Decision
from nova_sched.inventory import api
from nova_sched.objects import CellMapping
from nova_sched.objects import Destination
from nova_sched.observe import recorder
from tests.builders.clouds import a_uuid
from tests.builders.drivers import door
from tests.builders.drivers import free_ram_mb
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.mapped_cloud import CELL1
from tests.builders.mapped_cloud import CELL2
from tests.builders.requests import a_request
from tests.builders.waiting import until
from tests.unit.inventory.test_cache import parsed_rows

CELL3 = '00000000-0000-0000-0000-0000000000c3'
DRIVERS = ['filter_scheduler', 'caching_scheduler', 'chance_scheduler']


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(remote, 'PROBE_INTERVAL', 0.02)


@pytest.fixture
def cloud(mapped_cloud):
    """Cells with the hosts a and b, and c; cell0 has none."""
    return mapped_cloud


def in_cell(uuid, **values):
    """A request for a host of one cell."""
    return a_request(requested_destination=Destination(
        cell=CellMapping(uuid=uuid), **values))


def lose(database):
    database.execute('ALTER TABLE compute_nodes RENAME TO moved')


def bring_back(database):
    database.execute('ALTER TABLE moved RENAME TO compute_nodes')


def map_host(cloud, host, uuid):
    cloud.api.execute(
        'INSERT INTO host_mappings (cell_id, host, created_at) SELECT id, ?, '
        'created_at FROM cell_mappings WHERE uuid = ?', host, uuid)


class TestHostsWithoutAMapping:
    """nova-conductor does not build on them, but Nova selects them."""

    @pytest.fixture(autouse=True)
    def a_is_mapped(self, cloud):
        map_host(cloud, 'a', CELL1)

    def unmapped(self, driver):
        driver.host_manager.refresh()
        return driver.host_manager.overview().unmapped

    def test_unmapped_hosts_are_listed(self, cloud):
        driver = cloud.driver()
        assert self.unmapped(driver) == ['b', 'c']

        map_host(cloud, 'c', CELL2)
        assert self.unmapped(driver) == ['b']
        cloud.one.execute("DELETE FROM compute_nodes WHERE host = 'b'")
        assert self.unmapped(driver) == []

    def test_selected_unmapped_host_is_logged(self, cloud, caplog):
        driver, record = cloud.driver(), Decision()
        select(driver, a_request(num_instances=3), record=record)
        recorder.log(record)

        assert sorted(pick.host for pick in record.picks) == ['a', 'b', 'c']
        assert sorted(line.split('. ')[0] for line in caplog.messages
                      if 'mapping' in line) == [
            'No host-to-cell mapping found for selected host b',
            'No host-to-cell mapping found for selected host c']

    def test_cloud_without_mappings_has_none(self, cloud):
        for table in ('host_mappings', 'cell_mappings'):
            cloud.api.execute(f'DELETE FROM {table}')
        driver = cloud.driver(database__connection=cloud.one.url)

        assert self.unmapped(driver) is None


def test_cells_are_logged_once(cloud, caplog):
    caplog.set_level(logging.DEBUG, 'nova_sched.inventory.api')
    driver = cloud.driver()
    for _ in range(2):
        select(driver, a_request())

    assert [record.getMessage() for record in caplog.records] == [
        f'Found 2 cells: {CELL1}(one), {CELL2}(two)']


@pytest.mark.parametrize('name', DRIVERS)
def test_hosts_come_from_all_cells_but_cell0(cloud, name):
    cloud.cell0.load(['dead'], host_mappings=[])
    driver = cloud.driver(name)

    answer = select(driver, a_request(num_instances=3))

    assert sorted((chosen[0].service_host, chosen[0].cell_uuid)
                  for chosen in answer) == [
        ('a', CELL1), ('b', CELL1), ('c', CELL2)]


def test_host_is_in_cell_of_its_database(cloud):
    """host_mappings may be outdated."""
    cloud.api.execute("INSERT INTO host_mappings (host, cell_id) SELECT 'c', "
                      'id FROM cell_mappings WHERE uuid = ?', CELL1)

    [[chosen]] = select(cloud.driver(), in_cell(CELL2))

    assert (chosen.service_host, chosen.cell_uuid) == ('c', CELL2)


def test_aggregates_come_from_api_database(cloud):
    for database in (cloud.cell0, cloud.one):
        database.execute("INSERT INTO aggregates (id, name) VALUES (7, 'old')")
        database.execute('INSERT INTO aggregate_hosts (aggregate_id, host) '
                         "VALUES (7, 'a')")
    cloud.api.execute("INSERT INTO aggregates (id, name) VALUES (3, 'new')")
    cloud.api.execute('INSERT INTO aggregate_hosts (aggregate_id, host) '
                      "VALUES (3, 'a')")

    hosts = cloud.driver().host_manager.view().table.snapshot(None)

    assert [aggregate.name for aggregate
            in hosts.value('aggregates', 0)] == ['new']


class TestTemplates:
    URL = 'mysql+pymysql://nova:p%40ss@db1:3307/nova_cell0?charset=utf8'

    @pytest.mark.parametrize('template, meant', [
        ('mysql://nova:secret@db2/nova', 'mysql://nova:secret@db2/nova'),
        ('{scheme}://{username}:{password}@{hostname}:{port}/nova?{query}',
         'mysql+pymysql://nova:p%40ss@db1:3307/nova?charset=utf8'),
        ('{scheme}://other:{password}@db2/{path}_2#{fragment}',
         'mysql+pymysql://other:p%40ss@db2/nova_cell0_2#')])
    def test_template_is_filled_from_the_connection(self, template, meant):
        assert cells.fill_template(template, self.URL) == meant

    @pytest.mark.parametrize('template', [
        'mysql://{user}@h/d', '{0}', '{hostname', '{scheme.x}'])
    def test_unknown_template_field_is_refused(self, template):
        with pytest.raises(exception.ConfigurationError,
                           match='cell_mappings database_connection'):
            cells.fill_template(template, self.URL)

    def test_filled_template_is_used(self, cloud):
        cloud.change(CELL2, database_connection='{scheme}:///{path}/x'.replace(
            '/x', '/../../two/cloud.sqlite'))

        assert picks(cloud.driver(), in_cell(CELL2)) == ['c']


class TestDisabledCells:
    @pytest.fixture(autouse=True)
    def disabled(self, cloud):
        cloud.change(CELL2, disabled=1)

    @pytest.mark.parametrize('name', DRIVERS)
    def test_disabled_cell_takes_no_servers(self, cloud, name):
        driver = cloud.driver(name)
        for _ in range(5):
            assert picks(driver, a_request()) < ['c']

    def test_disabled_cell_serves_request_that_names_it(self, cloud):
        assert picks(cloud.driver(), in_cell(CELL2)) == ['c']

    def test_disabled_cell_takes_no_cross_cell_move(self, cloud):
        assert picks(cloud.driver(), in_cell(
            CELL2, allow_cross_cell_move=True)) < ['c']

    def test_disabled_cell_is_in_reason(self, cloud):
        with pytest.raises(exception.NoValidHost, match=r'1 cell\b'):
            picks(cloud.driver(), a_request(force_hosts=['c']))

    def test_enabled_cell_serves_again(self, cloud):
        driver = cloud.driver()
        picks(driver, a_request())
        cloud.change(CELL2, disabled=0)

        assert picks(driver, a_request(force_hosts=['c'])) == ['c']


class TestNewCells:
    def test_new_cell_causes_no_parsing_of_others(self, cloud):
        driver = cloud.driver()
        parsed = parsed_rows(driver.host_manager._cache)
        cloud.add_cell(CELL3, 'three', ['d'])

        picks(driver, a_request())

        assert len(parsed) == 1

    @pytest.mark.parametrize('change', [
        lambda cloud: cloud.api.execute(
            'DELETE FROM cell_mappings WHERE uuid = ?', CELL2),
        lambda cloud: cloud.change(CELL2, database_connection=cloud.one.url)])
    def test_deleted_or_moved_cell_takes_its_hosts_along(self, cloud, change):
        driver = cloud.driver()
        change(cloud)

        picks(driver, a_request())

        assert sorted(free_ram_mb(driver)) == ['a', 'b']


class TestLostCells:

    def test_lost_cell_is_recorded_and_logged(self, cloud, caplog):
        caplog.set_level(logging.INFO)
        manager = door(cloud.driver())
        lose(cloud.two)

        manager.select_destinations(
            RequestContext(), spec_obj=a_request().obj_to_primitive())

        [record] = manager.recorder.decisions
        [(cell, why)] = record.state.lost
        assert cell == f'{CELL2}(two)'
        assert 'compute_nodes' in why
        assert f'without cell {CELL2}(two)' in caplog.text

    def test_lost_cell_is_in_reason(self, cloud):
        driver = cloud.driver()
        lose(cloud.two)

        with pytest.raises(exception.NoValidHost,
                           match=r'cell .*\(two\) cannot be read'):
            picks(driver, a_request(force_hosts=['c']))

    def test_lost_cell_keeps_its_ledger_entries(self, cloud):
        driver = cloud.driver()
        before = free_ram_mb(driver)['c']
        picks(driver, in_cell(CELL2), [a_uuid()])
        taken = before - free_ram_mb(driver)['c']
        assert taken
        lose(cloud.two)
        picks(driver, a_request(), [a_uuid()])

        bring_back(cloud.two)
        until(lambda: picks(driver, a_request(force_hosts=['a']), [
            a_uuid()]) and 'c' in free_ram_mb(driver))

        assert before - free_ram_mb(driver)['c'] == taken

    def test_service_starts_without_lost_cell(self, cloud):
        lose(cloud.two)

        assert sorted(free_ram_mb(cloud.driver())) == ['a', 'b']

    def test_lost_cell_is_skipped_in_instance_lookup(self, cloud):
        """The instance of a hint may be in the lost cell."""
        driver = cloud.driver()
        lose(cloud.two)
        cloud.two.execute('DROP TABLE instances')

        record = Decision()
        select(driver, a_request(scheduler_hints={
            'different_host': [CELL3]}), record=record)

        assert record.state.lost


class TestLostApiDatabase:
    @pytest.mark.parametrize('name', DRIVERS)
    def test_last_mappings_stay_in_use(self, cloud, name, caplog):
        driver = cloud.driver(name)
        picks(driver, a_request())
        cloud.api.execute('ALTER TABLE aggregates RENAME TO moved')

        for host in 'abc':
            assert picks(driver, a_request(
                ignore_hosts=[*{*'abc'} - {host}])) == [host]
        assert sorted(free_ram_mb(driver)) == ['a', 'b', 'c']

    def test_loss_is_logged_once(self, cloud, caplog):
        caplog.set_level(logging.WARNING)
        driver = cloud.driver()
        cloud.api.execute('ALTER TABLE aggregates RENAME TO moved')

        for _ in range(3):
            picks(driver, a_request())

        assert caplog.text.count('Failed to get aggregates and mappings') == 1

    def test_recovered_database_is_read_again(self, cloud, monkeypatch):
        monkeypatch.setattr(api, 'INTERVAL', 0)
        driver = cloud.driver()
        cloud.api.execute('ALTER TABLE cell_mappings RENAME TO moved')
        picks(driver, a_request())
        cloud.api.execute('ALTER TABLE moved RENAME TO cell_mappings')
        cloud.add_cell(CELL3, 'three', ['d'])

        until(lambda: picks(driver, a_request())
                   and 'd' in free_ram_mb(driver))

    def test_missing_database_at_start_raises(self, cloud):
        cloud.api.execute('ALTER TABLE aggregates RENAME TO moved')

        with pytest.raises(exception.DatabaseUnavailable):
            cloud.driver()


def test_unmapped_cloud_is_read_from_database_connection(cloud):
    """Like Kilo and Mitaka, and before the first cell is mapped."""
    cloud.api.execute('DELETE FROM cell_mappings')
    cloud.cell0.load(['x'], host_mappings=[])

    assert picks(cloud.driver(), a_request()) == ['x']


def test_mappings_without_disabled_column_are_read(cloud):
    """The column was added in Rocky."""
    cloud.api.execute('ALTER TABLE cell_mappings DROP COLUMN disabled')

    assert sorted(free_ram_mb(cloud.driver())) == ['a', 'b', 'c']
