"""AllHostsFilter."""

from nova_sched.scheduler.filters.all_hosts_filter import AllHostsFilter
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request


def test_takes_every_host():
    block = hosts(a_host(), a_host(service_up=False))

    assert AllHostsFilter().mask(block, a_request()).tolist() == [True, True]
