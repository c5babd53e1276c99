"""Bad rows and database failures in the host table."""

import time

import pytest

from nova_sched import exception
from nova_sched.inventory import cell
from tests.builders import clouds
from tests.builders.waiting import in_threads
from tests.unit.inventory.test_cache import cache_of
from tests.unit.inventory.test_cache import column
from tests.unit.inventory.test_cache import names
from tests.unit.inventory.test_cache import refreshed


@pytest.fixture
def cache(cloud):
    """A HostCache of the hosts a, b and c."""
    cloud.load_nodes(*(clouds.a_compute_node(host) for host in 'abc'))
    return cache_of(cloud)


class TestRow:
    @pytest.mark.parametrize('change', [
        'host = NULL', 'memory_mb = 99999999999999999999',
        'free_disk_gb = 9223372036854775807, disk_available_least = NULL',
    ])
    @pytest.mark.parametrize('late', [False, True])
    def test_unreadable_row_hides_no_other(self, cloud, cache, change, late):
        """From the start, or after a change."""
        if late:
            refreshed(cache)
        cloud.execute(f'UPDATE compute_nodes SET {change} '
                      "WHERE hypervisor_hostname LIKE 'a%'")

        assert [host for host, _ in names(refreshed(cache))] == ['b', 'c']

    def test_row_without_host_is_left_out_with_warning(self, cloud, cache,
                                                       caplog):
        """One warning for each table, however often it is read."""
        cell._warn_nameless.cache_clear()
        for table in ('compute_nodes', 'services'):
            cloud.execute(f"UPDATE {table} SET host = NULL WHERE host = 'b'")

        for host in 'ac':
            cloud.execute('UPDATE compute_nodes SET vcpus_used = 3 '
                          'WHERE host = ?', host)
            assert names(refreshed(cache)) == [('a', 'a'), ('c', 'c')]

        assert [text for text in caplog.messages if 'no host' in text] == [
            f'1 row(s) of {table} are left out because they have no host; '
            'lowest id: 2'
            for table in ('compute_nodes', 'services')]

    @pytest.mark.parametrize('text', ['0000-00-00 00:00:00', 'junk'])
    def test_unreadable_time_counts_as_never(self, cloud, cache, text):
        for change in ('services SET created_at', 'services SET last_seen_up',
                       'compute_nodes SET updated_at'):
            cloud.execute(f"UPDATE {change} = ? WHERE host = 'b'", text)

        table = refreshed(cache)

        for name in ('service_last_seen', 'updated'):
            assert [time > 0 for time in column(table, name)] == [
                True, False, True]

    def test_missing_node_name_is_empty(self, cloud, cache):
        cloud.execute('UPDATE compute_nodes SET hypervisor_hostname = NULL '
                      "WHERE host = 'a'")

        assert names(refreshed(cache))[0] == ('a', '')

    def test_aggregate_row_without_host_is_skipped(self, cloud, cache):
        cloud.execute("INSERT INTO aggregates (id, name) VALUES (9, 'x')")
        cloud.execute('INSERT INTO aggregate_hosts (host, aggregate_id) '
                      "VALUES (NULL, 9), ('b', 9)")

        found = column(refreshed(cache), 'aggregates')

        assert [len(aggregates) for aggregates in found] == [0, 1, 0]


def test_new_mapping_sets_cell(cloud, cache):
    """A host exists before a discovery maps it."""
    cloud.execute("DELETE FROM host_mappings WHERE host = 'b'")
    refreshed(cache)
    cloud.execute('INSERT INTO cell_mappings (id, uuid, name) '
                  "VALUES (9, 'the-cell', 'x')")
    cloud.execute('INSERT INTO host_mappings (host, cell_id) '
                  "VALUES ('b', 9)")

    assert column(refreshed(cache), 'cell_uuid')[1] == 'the-cell'


class SlowFailure:
    """A reader that fails after a pause, from the second read on."""

    def __init__(self, cache, error):
        self._reader, self._error, self.reads = cache._reader, error, 0

    def __getattr__(self, name):
        return getattr(self._reader, name)

    def for_each_cell(self, read):
        self.reads += 1
        if self.reads > 1:
            time.sleep(0.2)
            raise self._error
        return self._reader.for_each_cell(read)


@pytest.mark.parametrize('error', [
    exception.DatabaseUnavailable('gone'), ZeroDivisionError('unforeseen')])
def test_concurrent_refreshes_share_failure(cache, error):
    """No thread waits for another timeout or uses outdated hosts."""
    reader = cache._reader = SlowFailure(cache, error)
    cache.refresh()
    raised = []

    def ask():
        with pytest.raises(type(error), match=str(error)):
            cache.refresh()
        raised.append(True)

    in_threads(*[ask] * 8)

    assert len(raised) == 8
    assert reader.reads <= 4
