"""A refresh takes over changes and keeps everything else."""


import pytest

from tests.builders import clouds
from tests.unit.inventory.test_cache import cache_of
from tests.unit.inventory.test_cache import column
from tests.unit.inventory.test_cache import refreshed

TOPOLOGIES = ('{"cells": 1}', '{"cells": 2}', '{"cells": 3}')


@pytest.fixture
def cache(cloud):
    """A HostCache of three hosts a, b and c, read once."""
    cloud.load_nodes(*(
        clouds.a_compute_node(host, numa_topology=text)
        for host, text in zip('abc', TOPOLOGIES, strict=True)))
    cache = cache_of(cloud)
    refreshed(cache)
    return cache


def test_older_table_keeps_its_rows(cloud, cache):
    before = refreshed(cache)
    cloud.execute("UPDATE compute_nodes SET vcpus_used = 9, "
                  "hypervisor_type = 'xen' WHERE host = 'b'")
    refreshed(cache)

    assert column(before, 'vcpus_used') == [0, 0, 0]
    assert column(before, 'hypervisor_type') == ['QEMU'] * 3


def test_unseen_service_counts_from_creation(cloud, cache):
    cloud.execute("UPDATE services SET last_seen_up = NULL, "
                  "created_at = '2030-01-01 00:00:00' WHERE host = 'b'")

    assert column(refreshed(cache), 'service_last_seen')[1] == (1893456000.0)


def age(cloud):
    """Make all rows old enough to be covered by the change stamp."""
    for table in ('aggregate_hosts', 'aggregate_metadata', 'aggregates',
                  'host_mappings', 'cell_mappings'):
        cloud.execute(f"UPDATE {table} SET created_at = '2020-01-01 00:00:00'")


class TestAggregates:
    @pytest.fixture
    def cache(self, cloud):
        cloud.load(['a', 'b'], aggregates=[clouds.an_aggregate(
            1, ['a'], metadata={'ssd': 'true'})])
        cache = cache_of(cloud)
        refreshed(cache)
        return cache

    @staticmethod
    def seen(cache):
        return [[(aggregate.id, aggregate.metadata) for aggregate in found]
                for found in column(refreshed(cache), 'aggregates')]

    @pytest.mark.parametrize('statement, expected', [
        ("INSERT INTO aggregate_hosts (aggregate_id, host, created_at) "
         "VALUES (1, 'b', '2030-01-01 00:00:00')",
         [[(1, {'ssd': 'true'})]] * 2),
        ("UPDATE aggregate_metadata SET value = 'no', "
         "updated_at = '2030-01-01 00:00:00'", [[(1, {'ssd': 'no'})], []]),
        ('DELETE FROM aggregate_hosts', [[], []]),
        ('DELETE FROM aggregates', [[], []])])
    def test_change_shows_at_next_refresh(self, cloud, cache, statement,
                                          expected):
        cloud.execute(statement)

        assert self.seen(cache) == expected

    def test_forget_during_read_rereads_them(self, cloud, cache):
        """The cast may concern rows that changed after the read."""
        reader, aggregates = cache._reader, cache._reader.aggregates

        def late():
            found = aggregates()
            cloud.execute("UPDATE aggregate_metadata SET value = 'no'")
            cache.forget_aggregates()
            reader.aggregates = aggregates
            return found

        age(cloud)
        cache.forget_aggregates()
        reader.aggregates = late
        assert self.seen(cache) == [[(1, {'ssd': 'true'})], []]

        assert self.seen(cache) == [[(1, {'ssd': 'no'})], []]
