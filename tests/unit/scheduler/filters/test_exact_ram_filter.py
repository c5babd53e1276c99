"""ExactRamFilter."""

import pytest

from nova_sched.scheduler.filters.exact_ram_filter import ExactRamFilter
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import survivors


def ram(*free):
    return hosts(*(a_host(free_ram_mb=free_ram_mb, total_usable_ram_mb=4096)
                   for free_ram_mb in free))


def test_takes_no_more_and_no_less():
    assert survivors(ExactRamFilter(), ram(511, 512, 513, -512),
                     a_request(memory_mb=512)) == ['host1']


def test_limits_the_host_to_its_memory():
    """In MiB, without overcommit."""
    assert ExactRamFilter().limits(ram(512), a_request()) == {
        'memory_mb': 4096}


@pytest.mark.parametrize(('free', 'nearest'), [
    ((0, 1024, 4096), '1024 MB'), ((0, 500), '500 MB'), ((-1,), '-1 MB')])
def test_says_which_host_is_nearest(free, nearest):
    assert ExactRamFilter().reason(ram(*free), a_request(memory_mb=600)) == (
        f'need exactly 600 MB, nearest has {nearest}')
