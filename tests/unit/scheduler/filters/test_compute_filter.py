"""ComputeFilter."""

import pytest

from nova_sched.hosts.table import Cells
from nova_sched.scheduler.filters import compute_filter
from nova_sched.scheduler.filters.compute_filter import ComputeFilter
from tests.builders.hosts import NOW
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.hosts import table as a_table
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


def test_names_a_host_once_a_minute(caplog):
    """Whatever the requests are, each worker says so for itself."""
    rule, table = ComputeFilter(), a_table(a_host('dead', **DOWN),
                                           a_host('alive'))

    def named(hosts, moment):
        snapshot = hosts.snapshot(None)
        snapshot.moment = moment
        caplog.clear()
        rule.mask(snapshot.block(), a_request())
        return _named(caplog)

    assert named(table, NOW) == ['dead']
    assert named(table, NOW + 1) == []
    # One that falls silent meanwhile is named at once.
    silent = table.with_columns(service_up=[False, False])
    assert named(silent, NOW + 2) == ['alive']
    later = NOW + compute_filter.SILENCE
    assert named(silent, later) == ['dead']
    assert named(silent, later + 2) == ['alive']
    # The clock is set back.
    assert named(silent, NOW - 999) == ['dead', 'alive']
    # Rows of other hosts.
    others = a_table(a_host('alive', **DOWN), a_host('dead', **DOWN))
    assert named(others, NOW - 998) == ['alive', 'dead']


def test_debug_names_a_host_in_each_request(caplog):
    rule = ComputeFilter()
    with caplog.at_level('DEBUG', 'nova_sched'):
        for _ in range(3):
            rule.mask(hosts(a_host('dead', **DOWN,
                                   service_forced_down=True)), a_request())

    assert _named(caplog) == ['dead'] * 3


def _named(caplog):
    return [text.removeprefix('(').partition(',')[0]
            for text in caplog.messages]


def test_says_that_a_host_was_up_when_it_was_read():
    """When its last heartbeat was is not read of a host that is up."""
    table = a_table(a_host(**DOWN | {
        'service_last_seen': NOW - 9000, 'service_fresh': True})).of_cells(
            Cells(reads=(('cell1', NOW + 60), ('cell2', NOW + 61))))
    rule = configured(ComputeFilter, DEFAULT__service_down_time=75)

    assert rule.why_not(table.snapshot(None).state(0), a_request()) == (
        'service down, last heard at 2023-11-14T22:14:20Z, limit 75 s')


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
