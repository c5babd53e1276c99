"""CoreFilter and AggregateCoreFilter."""

import pytest

from nova_sched.scheduler.filters.core_filter import AggregateCoreFilter
from nova_sched.scheduler.filters.core_filter import CoreFilter
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request


def cpus(total, used, ratio, **values):
    return a_host(vcpus_total=total, vcpus_used=used,
                  cpu_allocation_ratio=ratio, **values)


@pytest.mark.parametrize(('total', 'used', 'ratio', 'needed', 'passes'), [
    (4, 7, 2.0, 1, True),
    (4, 8, 2.0, 1, False),
    (4, 0, 16.0, 4, True),
    (4, 0, 16.0, 5, False),
    (8, 6, 0.75, 1, False),
    (9, 0, 1.5, 9, True),
    (9, 13, 1.5, 1, False),
    (0, 0, 16.0, 5, True),
    (0, 99, 16.0, 5, True),
    (4, 0, float('nan'), 4, True),
])
def test_overcommits_only_against_other_instances(total, used, ratio, needed,
                                                  passes):
    """A host that reports no CPUs passes: its report is taken for broken."""
    block = hosts(cpus(total, used, ratio))

    assert CoreFilter().mask(block, a_request(vcpus=needed)) == [passes]


def test_warns_of_missing_cpu_counts_once_a_request(caplog):
    CoreFilter().mask(hosts(cpus(0, 0, 1.0), cpus(0, 0, 1.0)), a_request())

    assert caplog.messages == [
        'VCPUs not set; assuming CPU collection broken']


@pytest.mark.parametrize(('total', 'ratio', 'limits'), [
    (9, 1.5, {'vcpu': 13}), (4, 16.0, {'vcpu': 64}), (0, 16.0, {})])
def test_limits_the_host_to_its_overcommitted_cpus(total, ratio, limits):
    """Without a count of CPUs there is no limit."""
    assert CoreFilter().limits(hosts(cpus(total, 0, ratio)),
                               a_request()) == limits


@pytest.mark.parametrize(('block', 'words'), [
    (hosts(cpus(8, 15, 2.0), cpus(9, 13, 1.5)),
     'need 8 VCPUs, most free 1 VCPUs'),
    (hosts(cpus(9, 13, 1.5)), 'need 8 VCPUs, most free 0.5 VCPUs'),
    (hosts(cpus(4, 0, 16.0), cpus(2, 0, 16.0)),
     'need 8 VCPUs, largest host 4 VCPUs'),
])
def test_says_how_much_is_needed_and_how_much_there_is(block, words):
    assert CoreFilter().reason(block, a_request(vcpus=8)) == words


def test_logs_what_operators_search_for(caplog):
    block = hosts(cpus(4, 0, 1.0), cpus(8, 7, 1.0))

    with caplog.at_level('DEBUG', 'nova_sched'):
        CoreFilter().mask(block, a_request(vcpus=5))

    small, full = caplog.messages
    assert small.endswith('does not have 5 total cpus before overcommit, it '
                          'only has 4')
    assert full.endswith('does not have 5 usable vcpus, it only has 1.0 '
                         'usable vcpus')


@pytest.mark.parametrize(('ratio', 'passes', 'limits'), [
    (None, False, {'vcpu': 8}), ('4 ', True, {'vcpu': 32}),
    ('x', False, {'vcpu': 8}), ('0', False, {}), ('-2', False, {})])
def test_aggregates_may_set_the_ratio(ratio, passes, limits):
    metadata = {} if ratio is None else {'cpu_allocation_ratio': ratio}
    block = hosts(cpus(8, 8, 1.0, aggregates=[metadata]))

    assert AggregateCoreFilter().mask(block, a_request()) == [passes]
    assert AggregateCoreFilter().limits(block, a_request()) == limits
