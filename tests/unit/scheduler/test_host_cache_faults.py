"""What one bad row, or a database in trouble, does to the host table."""

import threading
import time

import pytest

from nova_sched import exception
from nova_sched.scheduler import host_cache
from tests.builders import clouds
from tests.unit.scheduler.test_host_cache import cache_of
from tests.unit.scheduler.test_host_cache import column
from tests.unit.scheduler.test_host_cache import names
from tests.unit.scheduler.test_host_cache import refreshed


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
    def test_that_cannot_be_read_hides_no_other_host(self, cloud, cache,
                                                     change, late):
        """Whether it is so from the start or becomes so."""
        if late:
            refreshed(cache)
        cloud.execute(f'UPDATE compute_nodes SET {change} '
                      "WHERE hypervisor_hostname LIKE 'a%'")

        assert [host for host, _ in names(refreshed(cache))] == ['b', 'c']

    def test_without_a_node_name_is_a_host_all_the_same(self, cloud, cache):
        cloud.execute('UPDATE compute_nodes SET hypervisor_hostname = NULL '
                      "WHERE host = 'a'")

        assert names(refreshed(cache))[0] == ('a', '')

    def test_of_an_aggregate_without_a_host_is_passed_over(self, cloud,
                                                           cache):
        cloud.execute("INSERT INTO aggregates (id, name) VALUES (9, 'x')")
        cloud.execute('INSERT INTO aggregate_hosts (host, aggregate_id) '
                      "VALUES (NULL, 9), ('b', 9)")

        found = column(refreshed(cache), 'aggregates')

        assert [len(aggregates) for aggregates in found] == [0, 1, 0]


class TestCells:
    def test_of_a_host_are_seen_when_they_are_mapped(self, cloud, cache):
        """A host is known before a discovery maps it to its cell."""
        cloud.execute("DELETE FROM host_mappings WHERE host = 'b'")
        refreshed(cache)
        cloud.execute('INSERT INTO cell_mappings (id, uuid, name) '
                      "VALUES (9, 'the-cell', 'x')")
        cloud.execute('INSERT INTO host_mappings (host, cell_id) '
                      "VALUES ('b', 9)")

        assert column(refreshed(cache), 'cell_uuid')[1] == 'the-cell'


class SlowFailure:
    """A reader whose every read fails after a while."""

    def __init__(self):
        self.reads = 0

    def read_hosts(self):
        self.reads += 1
        time.sleep(0.2)
        raise exception.DatabaseUnavailable('gone')


def test_waiting_requests_share_a_failure():
    """Of eight that wait together none waits for seven others' time-outs."""
    reader = SlowFailure()
    cache = host_cache.HostCache(reader, (16.0, 1.5, 1.0))
    refused = []

    def ask():
        with pytest.raises(exception.DatabaseUnavailable, match='gone'):
            cache.refresh()
        refused.append(True)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(refused) == 8
    assert reader.reads <= 3
