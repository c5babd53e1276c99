"""ExactDiskFilter."""

from nova_sched.scheduler.filters.exact_disk_filter import ExactDiskFilter
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import survivors

REQUEST = a_request(root_gb=1, ephemeral_gb=2, swap=3)


def test_takes_no_more_and_no_less():
    """Of root, ephemeral and swap together."""
    block = hosts(*(a_host(free_disk_mb=3 * 1024 + swap)
                    for swap in (0, 3, 4)))

    assert survivors(ExactDiskFilter(), block, REQUEST) == ['host1']


def test_limits_the_host_to_its_disk():
    """In GiB, without overcommit."""
    block = hosts(a_host(total_usable_disk_gb=13))

    assert ExactDiskFilter().limits(block, REQUEST) == {'disk_gb': 13}


def test_says_which_host_is_nearest():
    block = hosts(a_host(free_disk_mb=0), a_host(free_disk_mb=4096))

    assert ExactDiskFilter().reason(block, REQUEST) == (
        'need exactly 3075 MB, nearest has 4096 MB')
