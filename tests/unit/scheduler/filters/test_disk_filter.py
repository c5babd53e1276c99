"""DiskFilter and AggregateDiskFilter."""

import pytest

from nova_sched.scheduler.filters.disk_filter import AggregateDiskFilter
from nova_sched.scheduler.filters.disk_filter import DiskFilter
from tests.builders.hosts import NEVER_REPORTED
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request


def disk(total_gb, free_gb, ratio=1.0, **values):
    return a_host(total_usable_disk_gb=total_gb, free_disk_mb=free_gb * 1024,
                  disk_allocation_ratio=ratio, **values)


@pytest.mark.parametrize(('host', 'sizes', 'passes'), [
    (disk(12, 1, 10.0), {'root_gb': 7}, True),
    (disk(12, 1, 10.0), {'root_gb': 13}, False),
    (disk(13, 13), {'root_gb': 1, 'ephemeral_gb': 12}, True),
    (disk(13, 13), {'root_gb': 1, 'ephemeral_gb': 12, 'swap': 1}, False),
    (disk(13, 12), {'root_gb': 1, 'ephemeral_gb': 12}, False),
    (disk(100, -5), {'root_gb': 1}, False),
    (disk(100, -5, 1.5), {'root_gb': 45}, True),
    (disk(100, -5, 1.5), {'root_gb': 46}, False),
    (a_host(**NEVER_REPORTED), {'root_gb': 0}, True),
    (a_host(**NEVER_REPORTED), {'root_gb': 1}, False),
])
def test_root_ephemeral_and_swap_must_fit(host, sizes, passes):
    """Into what is left of total * ratio, and into the total alone."""
    request = a_request(**{'root_gb': 0, **sizes})

    assert DiskFilter().mask(hosts(host), request) == [passes]


def test_limits_the_host_to_its_overcommitted_disk():
    """The limit is a whole number of GiB, cut off."""
    assert DiskFilter().limits(hosts(disk(13, 1, 1.5)), a_request()) == {
        'disk_gb': 19}


@pytest.mark.parametrize(('block', 'words'), [
    (hosts(disk(60, 20), disk(45, 1)), 'need 40960 MB, most free 20480 MB'),
    (hosts(disk(39, 39, 2.0), disk(10, 1)),
     'need 40960 MB, largest host 39936 MB'),
])
def test_says_how_much_is_needed_and_how_much_there_is(block, words):
    assert DiskFilter().reason(block, a_request(root_gb=40)) == words


def test_logs_what_operators_search_for(caplog):
    block = hosts(disk(100, 1), disk(5, 5))

    with caplog.at_level('DEBUG', 'nova_sched'):
        DiskFilter().mask(block, a_request(root_gb=10))

    small, full = caplog.messages
    assert small.endswith('does not have 10240 MB usable disk space before '
                          'overcommit, it only has 5120 MB.')
    assert full.endswith('does not have 10240 MB usable disk, it only has '
                         '1024.0 MB usable disk.')


@pytest.mark.parametrize(('ratio', 'passes', 'limit'), [
    (None, False, 12), ('10', True, 120), ('bad', False, 12)])
def test_aggregates_may_set_the_ratio(ratio, passes, limit):
    metadata = {} if ratio is None else {'disk_allocation_ratio': ratio}
    block = hosts(disk(12, 1, aggregates=[metadata]))
    request = a_request(root_gb=7)

    assert AggregateDiskFilter().mask(block, request) == [passes]
    assert AggregateDiskFilter().limits(block, request) == {'disk_gb': limit}
