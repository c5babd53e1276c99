"""ExactCoreFilter."""

import pytest

from nova_sched.scheduler.filters.exact_core_filter import ExactCoreFilter
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import survivors


def cpus(*pairs):
    return hosts(*(a_host(vcpus_total=total, vcpus_used=used)
                   for total, used in pairs))


def test_takes_no_more_and_no_less():
    assert survivors(ExactCoreFilter(), cpus((8, 0), (8, 4), (8, 5), (4, 0)),
                     a_request(vcpus=4)) == ['host1', 'host3']


def test_a_host_without_cpus_is_rejected_with_a_warning(caplog):
    """Once a request."""
    assert survivors(ExactCoreFilter(), cpus((0, 0), (0, -4)),
                     a_request(vcpus=4)) == []
    assert caplog.messages == [
        'VCPUs not set; assuming CPU collection broken']


def test_limits_the_host_to_its_cpus():
    assert ExactCoreFilter().limits(cpus((8, 4)), a_request()) == {'vcpu': 8}


@pytest.mark.parametrize(('pairs', 'words'), [
    ([(8, 0), (8, 7), (0, 0)], 'nearest has 1 VCPUs'),
    ([(0, 0)], 'none reported')])
def test_says_which_host_is_nearest(pairs, words):
    assert ExactCoreFilter().reason(cpus(*pairs), a_request(vcpus=2)) == (
        f'need exactly 2 VCPUs, {words}')
