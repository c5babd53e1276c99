"""The host table follows the database and parses only changed rows."""

import json
import logging

import pytest

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.db import cells
from nova_sched.db import reader as db_reader
from nova_sched.inventory.cache import HostCache
from tests.builders import clouds

CELL1, CELL2 = clouds.a_uuid(101), clouds.a_uuid(102)


@pytest.fixture
def cache(cloud):
    """A HostCache of the test's database."""
    return cache_of(cloud)


def cache_of(cloud):
    conf = cloud.conf()
    reader = db_reader.HostReader(conf)
    return HostCache(reader, config.fallback_ratios(conf))


def refreshed(cache):
    """Refresh, and check the table."""
    table = cache.refresh()
    table._check()
    return table


def parsed_rows(cache):
    """Return a list that gets the rows that the cache parses from now on."""
    rows, make_record = [], cache._make_record
    cache._make_record = lambda row, *args: (
        rows.append(row) or make_record(row, *args))
    return rows


def column(table, name):
    """One column of a HostTable as plain values."""
    return table.snapshot(None).block().objects(name)


def names(table):
    return list(zip(column(table, 'host'), column(table, 'nodename'),
                    strict=True))


class TestFirstRead:
    def test_hosts_are_sorted_by_host_and_node_name(self, cloud, cache):
        cloud.load_nodes(*(
            clouds.a_compute_node(host, hypervisor_hostname=node)
            for host, node in (('b', 'n2'), ('a', 'n9'), ('b', 'n1'))))

        assert names(
            refreshed(cache)) == [('a', 'n9'), ('b', 'n1'), ('b', 'n2')]

    def test_each_column_is_read(self, cloud, cache):
        cloud.load_nodes(clouds.a_compute_node(
            memory_mb=1000, free_ram_mb=-24, local_gb=30, local_gb_used=4,
            free_disk_gb=26, disk_available_least=20, vcpus=8, vcpus_used=3,
            stats=json.dumps({'num_instances': '2', 'io_workload': '1',
                              'failed_builds': '7'})))

        state = refreshed(cache).snapshot(None).state(0)

        assert (state.total_usable_ram_mb, state.free_ram_mb) == (1000, -24)
        assert (state.total_usable_disk_gb, state.free_disk_mb,
                state.disk_mb_used) == (30, 20 * 1024, 4 * 1024)
        assert (state.vcpus_total, state.vcpus_used) == (8, 3)
        assert (state.num_instances, state.num_io_ops,
                state.failed_builds) == (2, 1, 7)

    def test_host_state_has_service_row(self, cloud, cache):
        cloud.load(['a'], services=[clouds.a_service(
            'a', disabled=True, disabled_reason='broken fan', version=61)])

        service = refreshed(cache).snapshot(None).state(0).service

        assert service['disabled_reason'] == 'broken fan'
        assert service['version'] == 61
        assert service['binary'] == 'nova-compute'

    def test_empty_database_gives_empty_table(self, cloud, cache):
        cloud.load([])

        assert refreshed(cache).size == 0

    @pytest.mark.parametrize('others', [[], [clouds.a_service(
        'a', binary='nova-conductor', topic='conductor')]])
    def test_node_without_service_is_left_out(self, cloud, cache, caplog,
                                              others):
        """A service of another binary does not count."""
        cloud.load(['a', 'b'], services=[*others, clouds.a_service('b')])

        assert column(refreshed(cache), 'host') == ['b']
        assert 'No compute service record found for host a' in caplog.messages

    def test_old_row_gets_host_from_service(self, cloud, cache):
        """Rows of Kilo have the id of their service instead of a host."""
        cloud.load_nodes(
            clouds.a_compute_node(host=None, hypervisor_hostname='n',
                                  service_id=4),
            services=[clouds.a_service('a', id=4)], host_mappings=[])

        assert names(refreshed(cache)) == [('a', 'n')]


class TestCells:
    def test_cells_come_from_host_mappings(self, cloud, cache):
        cloud.load(['a', 'b'], cells=[{'uuid': CELL1, 'name': 'one'},
                                      {'uuid': CELL2, 'name': 'two'}],
                   host_mappings=[{'host': 'a', 'cell_uuid': CELL2},
                                  {'host': 'b', 'cell_uuid': CELL1}])

        assert column(refreshed(cache), 'cell_uuid') == [CELL2, CELL1]

    def test_unmapped_host_is_in_cell_of_its_database(self, cloud, cache):
        cloud.load(['a'], host_mappings=[])

        assert column(refreshed(cache), 'cell_uuid') == [
            cells.SINGLE_CELL_UUID]


class TestInvalidRows:
    def test_host_without_report_has_no_resources(self, cloud, cache):
        cloud.load_nodes(clouds.a_compute_node('a', free_disk_gb=None),
                         clouds.a_compute_node('b'))

        table = refreshed(cache)

        assert column(table, 'uuid')[0] is None
        assert column(table, 'free_ram_mb') == [0, 32256]
        assert column(table, 'updated')[0] == 0.0

    @pytest.mark.parametrize('text', [
        'no json', '[1, 2]', '{"num_instances": "many"}', '{"a": ', '7',
        '{"num_instances": null, "io_workload": [], "failed_builds": {}}',
        '{"num_instances": 99999999999999999999}', '[' * 5000])
    def test_unreadable_stats_count_as_empty(self, cloud, cache, text):
        cloud.load_nodes(clouds.a_compute_node('a', stats=text),
                         clouds.a_compute_node('b'))

        table = refreshed(cache)

        assert column(table, 'num_instances') == [0, 0]
        assert column(table, 'free_ram_mb') == [32256, 32256]

    @pytest.mark.parametrize('name', ['supported_instances', 'metrics'])
    @pytest.mark.parametrize('text', ['no json', '{"a": 1}', 'null', ''])
    def test_unreadable_lists_count_as_empty(self, cloud, cache, name, text):
        cloud.load_nodes(clouds.a_compute_node('a', **{name: text}))

        state = refreshed(cache).snapshot(None).state(0)

        assert list(getattr(state, name)) == []

    def test_unreadable_value_is_logged_once(self, cloud, cache, caplog):
        cloud.load_nodes(*(clouds.a_compute_node(host, stats='{unreadable')
                           for host in 'abc'))

        with caplog.at_level(logging.WARNING):
            refreshed(cache)

        assert len([text for text in caplog.messages
                    if '{unreadable' in text]) == 1


def test_next_refresh_recovers(cloud, cache):
    cloud.load(['a'])
    refreshed(cache)
    cloud.execute('ALTER TABLE services RENAME TO moved')
    with pytest.raises(exception.DatabaseUnavailable):
        cache.refresh()
    cloud.execute('ALTER TABLE moved RENAME TO services')
    cloud.execute('UPDATE compute_nodes SET vcpus_used = 3')

    assert column(refreshed(cache), 'vcpus_used') == [3]
