"""A refresh parses and writes only changed rows."""

import random

import pytest

from nova_sched.hosts import columns
from nova_sched.hosts.table import HostTable
from tests.builders import clouds
from tests.unit.inventory.test_cache import cache_of
from tests.unit.inventory.test_cache import column
from tests.unit.inventory.test_cache import names
from tests.unit.inventory.test_cache import parsed_rows
from tests.unit.inventory.test_cache import refreshed

HOSTS = 200
OF_SERVICES = 1 + sum(bool(column.services) for column in columns.COLUMNS)
ALL = len(columns.COLUMNS)
#: Host and node name stay; services and aggregates are not in node rows.
OF_NODES = ALL - OF_SERVICES - len(
    ('host', 'nodename', 'aggregates', 'service_up'))


@pytest.fixture
def cache(cloud):
    """A HostCache of 200 hosts, host1 in an aggregate."""
    cloud.load(HOSTS, aggregates=[clouds.an_aggregate(1, ['host1'])])
    return cache_of(cloud)


@pytest.fixture
def work(cache, monkeypatch):
    """Function that refreshes the cache, which was read once.

    It returns the number of rows parsed and of cells written.
    """
    parsed, written = parsed_rows(cache), []
    for name in ('with_values', 'with_added'):
        write = getattr(HostTable, name)
        monkeypatch.setattr(
            HostTable, name, lambda table, rows, values, write=write:
            written.append(len(rows) * len(values))
            or write(table, rows, values))

    def work():
        parsed.clear()
        written.clear()
        refreshed(cache)
        return len(parsed), sum(written)

    assert work() == (HOSTS, HOSTS * ALL)
    return work


@pytest.mark.parametrize(('statements', 'expected'), [
    ([], (0, 0)),
    (["UPDATE services SET report_count = 9 WHERE host = 'host7'"],
     (0, OF_SERVICES)),
    (["UPDATE compute_nodes SET vcpus_used = 9 WHERE host = 'host7'"],
     (1, OF_NODES)),
    (['INSERT INTO cell_mappings (id, uuid, name) '
      "VALUES (9, 'the-cell', 'x')",
      "UPDATE host_mappings SET cell_id = 9 WHERE host = 'host7'"],
     (1, OF_NODES)),
    (["INSERT INTO aggregates (id, name) VALUES (2, 'two')",
      'INSERT INTO aggregate_hosts (aggregate_id, host) '
      "VALUES (2, 'host7')"], (0, 1))],
    ids=['nothing', 'heartbeat', 'report', 'mapping', 'aggregate'])
def test_refresh_parses_and_writes_changes_only(cloud, work, statements,
                                                expected):
    for statement in statements:
        cloud.execute(statement)

    assert work() == expected


@pytest.mark.parametrize('table', ['compute_nodes', 'services'])
def test_new_host_or_service_parses_one_row(cloud, work, table):
    cloud.execute(f"UPDATE {table} SET deleted = id WHERE host = 'host7'")
    assert work() == (0, 0)
    cloud.execute(f'UPDATE {table} SET deleted = 0')

    assert work() == (1, ALL)


def test_equal_full_read_causes_no_work(work, cache):
    cache.forget_aggregates()

    assert work() == (0, 0)


def drop_constraints(cloud, *tables):
    """Remove constraints of the schema."""
    for table in tables:
        cloud.execute(f'CREATE TABLE old AS SELECT * FROM {table}')
        cloud.execute(f'DROP TABLE {table}')
        cloud.execute(f'ALTER TABLE old RENAME TO {table}')


class TestDuplicates:
    """The newest of several rows with the same host and node name counts."""

    @pytest.fixture
    def cache(self, cloud):
        cloud.load_nodes(
            clouds.a_compute_node('a', id=1, vcpus_used=1),
            clouds.a_compute_node('b', id=2),
            clouds.a_compute_node('x', id=3, vcpus_used=3))
        drop_constraints(cloud, 'compute_nodes', 'services')
        cloud.execute("UPDATE compute_nodes SET host = 'a', "
                      "hypervisor_hostname = 'a' WHERE id = 3")
        cache = cache_of(cloud)
        assert column(refreshed(cache), 'vcpus_used') == [3, 0]
        return cache

    def test_unreadable_newer_row_hides_older(self, cloud, cache):
        cloud.execute('UPDATE compute_nodes SET vcpus_used = 1 << 62, '
                      'memory_mb = 99999999999999999999 WHERE id = 3')

        assert names(refreshed(cache)) == [('b', 'b')]

    def test_older_service_replaces_deleted_one(self, cloud, cache):
        cloud.execute('INSERT INTO services (id, host, "binary", disabled, '
                      "deleted) VALUES (9, 'a', 'nova-compute', 1, 0)")
        assert column(refreshed(cache), 'service_disabled') == [True, False]
        cloud.execute('UPDATE services SET deleted = id WHERE id = 9')

        assert column(refreshed(cache), 'service_disabled') == [False, False]


def test_failed_refresh_changes_nothing(cloud):
    """Not even for tables that were read before the failure."""
    cloud.load(['a', 'b'])
    cache = cache_of(cloud)
    refreshed(cache)
    cloud.execute("UPDATE compute_nodes SET vcpus_used = 5 WHERE host = 'a'")
    cloud.execute("UPDATE services SET disabled = 1 WHERE host = 'b'")
    make_record, cache._make_record = cache._make_record, lambda *_: 1 / 0
    with pytest.raises(ZeroDivisionError):
        cache.refresh()
    cache._make_record = make_record

    table = refreshed(cache)

    assert column(table, 'vcpus_used') == [5, 0]
    assert column(table, 'service_disabled') == [False, True]


#: Possible changes of a cloud, with a random number and host name.
EVENTS = (
    "UPDATE compute_nodes SET vcpus_used = {n} WHERE host = '{h}'",
    "UPDATE compute_nodes SET stats = '{{\"io_workload\": {n}}}' "
    "WHERE host = '{h}'",
    "UPDATE compute_nodes SET free_disk_gb = NULL WHERE host = '{h}'",
    'UPDATE compute_nodes SET free_disk_gb = {n}',
    "UPDATE compute_nodes SET deleted = id WHERE host = '{h}'",
    "UPDATE compute_nodes SET deleted = 0 WHERE host = '{h}'",
    "UPDATE compute_nodes SET host = '{h}' WHERE id = {n}",
    "UPDATE compute_nodes SET hypervisor_hostname = 'n{n}' WHERE id = {n}",
    "UPDATE compute_nodes SET host = '{h}', hypervisor_hostname = '{h}' "
    'WHERE id = {n}',
    'UPDATE compute_nodes SET hypervisor_hostname = NULL WHERE id = {n}',
    'UPDATE compute_nodes SET host = NULL WHERE id = {n}',
    'UPDATE compute_nodes SET memory_mb = 99999999999999999999 '
    'WHERE id = {n}',
    'UPDATE compute_nodes SET memory_mb = {n}',
    'DELETE FROM compute_nodes WHERE id = {n}',
    'INSERT INTO compute_nodes SELECT * FROM spare WHERE id = {n} AND '
    'id NOT IN (SELECT id FROM compute_nodes)',
    "UPDATE services SET report_count = {n} WHERE host = '{h}'",
    'UPDATE services SET report_count = {n}',
    "UPDATE services SET disabled = 1 - disabled WHERE host = '{h}'",
    "UPDATE services SET forced_down = 1 - forced_down WHERE host = '{h}'",
    "UPDATE services SET deleted = id WHERE host = '{h}'",
    "UPDATE services SET deleted = 0 WHERE host = '{h}'",
    "UPDATE services SET host = '{h}' WHERE id = {n}",
    "INSERT INTO aggregate_hosts (aggregate_id, host) VALUES (1, '{h}')",
    "DELETE FROM aggregate_hosts WHERE host = '{h}'",
    "UPDATE aggregate_metadata SET value = '{n}'",
    "UPDATE host_mappings SET cell_id = 9 WHERE host = '{h}'",
    "DELETE FROM host_mappings WHERE host = '{h}'",
)


def contents(table):
    """All values of a table, by host and node name."""
    block = table.snapshot(None).block()
    return {name: [[(one.id, one.metadata) for one in value]
                   if name == 'aggregates' else value
                   for value in block.objects(name)]
            for name in columns.NAMES}


@pytest.mark.parametrize('seed', range(4))
def test_patched_table_equals_full_read(cloud, seed):
    draw, hosts = random.Random(seed), [*'abcdef']
    cloud.load(hosts, aggregates=[
        clouds.an_aggregate(1, ['a'], metadata={'x': '0'})])
    drop_constraints(cloud, 'compute_nodes', 'services', 'aggregate_hosts')
    cloud.execute('CREATE TABLE spare AS SELECT * FROM compute_nodes')
    cloud.execute('INSERT INTO cell_mappings (id, uuid, name) '
                  "VALUES (9, 'the-cell', 'x')")
    cache = cache_of(cloud)
    refreshed(cache)

    for _ in range(30):
        for _ in range(draw.randint(1, 3)):
            event = draw.choice(EVENTS).format(
                n=draw.randint(1, 7), h=draw.choice(hosts))
            cloud.execute(event)
        cache.forget_aggregates()
        table = refreshed(cache)

        assert contents(table) == contents(refreshed(cache_of(cloud))), event
