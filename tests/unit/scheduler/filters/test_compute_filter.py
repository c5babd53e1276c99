"""ComputeFilter."""

import pytest

from nova_sched.scheduler.filters.compute_filter import ComputeFilter
from tests.builders.hosts import NOW
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured

DOWN = {'service_up': False}
DISABLED = {'service_disabled': True}


@pytest.mark.parametrize(('service', 'passes'), [
    ({}, True), (DOWN, False), (DISABLED, False), (DOWN | DISABLED, False)])
def test_takes_hosts_whose_service_is_enabled_and_up(service, passes):
    block = hosts(a_host(**service))

    assert ComputeFilter().mask(block, a_request()) == [passes]


@pytest.mark.parametrize(('records', 'words'), [
    ([DOWN], 'service down'),
    ([DISABLED, DOWN | DISABLED], 'service disabled'),
    ([DOWN, DOWN, DOWN, DISABLED, DISABLED],
     '3 service down, 2 service disabled'),
])
def test_says_what_is_wrong_with_the_services(records, words):
    block = hosts(*(a_host(**record) for record in records))

    assert ComputeFilter().reason(block, a_request()) == words


@pytest.mark.parametrize(('service', 'words'), [
    (DOWN | {'service_last_seen': NOW},
     'service down, last heard at 2023-11-14T22:13:20Z, limit 75 s'),
    (DOWN | {'service_last_seen': 0.0},
     'service down, never heard, limit 75 s'),
    (DOWN | {'service_forced_down': True}, 'service forced down'),
    (DISABLED, 'service disabled'),
    (DISABLED | {'disabled_reason': 'new disks'},
     'service disabled: new disks'),
])
def test_says_of_one_host_since_when_it_is_down(service, words):
    rule = configured(ComputeFilter, DEFAULT__service_down_time=75)
    host = hosts(a_host(**service)).states()[0]

    assert rule.why_not(host, a_request()) == words


def test_warns_of_hosts_that_are_down(caplog):
    ComputeFilter().mask(hosts(a_host(), a_host('dead', **DOWN),
                               a_host(**DISABLED)), a_request())

    text, = caplog.messages
    assert text.startswith('(dead, dead)')
    assert text.endswith('has not been heard from in a while')


def test_debug_tells_when_a_service_was_last_heard_of(caplog):
    """Not of one that an admin forced down: its heartbeats do not matter."""
    block = hosts(
        a_host('dead', **DOWN), a_host(**DOWN, service_forced_down=True),
        a_host(**DOWN | {'service_last_seen': 0.0}))
    block.snapshot.moment = NOW + 90.5
    with caplog.at_level('DEBUG', 'nova_sched'):
        ComputeFilter().mask(block, a_request())

    assert [text for text in caplog.messages
            if text.startswith('Seems service')] == [
        'Seems service nova-compute on host dead is down. Last heartbeat was '
        '2023-11-14 22:13:20. Elapsed time is 90.5']


def test_names_ten_dead_hosts_and_counts_the_others(caplog):
    ComputeFilter().mask(hosts(*[a_host(**DOWN)] * 13), a_request())

    assert len(caplog.messages) == 11
    assert caplog.messages[-1] == (
        '3 more hosts have not been heard from in a while')


def test_gives_the_operators_reason_of_a_disabled_service(caplog):
    with caplog.at_level('DEBUG', 'nova_sched'):
        ComputeFilter().mask(hosts(a_host(
            disabled_reason='new disks', **DISABLED)), a_request())

    text, = caplog.messages
    assert text.endswith('is disabled, reason: new disks')
