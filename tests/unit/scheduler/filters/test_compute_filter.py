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
def test_passes_hosts_whose_service_is_enabled_and_up(service, passes):
    block = hosts(a_host(**service))

    assert ComputeFilter().mask(block, a_request()) == [passes]


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
def test_the_reason_has_the_last_heartbeat(service, words):
    rule = configured(ComputeFilter, DEFAULT__service_down_time=75)
    host = hosts(a_host(**service)).states()[0]

    assert rule.why_not(host, a_request()) == words


def test_hosts_that_are_down_are_warned_about(caplog):
    ComputeFilter().mask(hosts(a_host(), a_host('dead', **DOWN),
                               a_host(**DISABLED)), a_request())

    text, = caplog.messages
    assert text.startswith('(dead, dead)')
    assert text.endswith('has not been heard from in a while')


def test_a_host_is_named_once_a_minute(caplog):
    """Per worker, whatever the requests are."""
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
    # A host that falls silent in between is named at once.
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


def test_the_reason_has_the_time_of_the_read():
    """The last heartbeat of a host that is up is not read."""
    table = a_table(a_host(**DOWN | {
        'service_last_seen': NOW - 9000, 'service_fresh': True}))
    table = table.of(table.columns, Cells(
        reads=(('cell1', NOW + 60), ('cell2', NOW + 61))))
    rule = configured(ComputeFilter, DEFAULT__service_down_time=75)

    assert rule.why_not(table.snapshot(None).state(0), a_request()) == (
        'service down, last heard at 2023-11-14T22:14:20Z, limit 75 s')


def test_debug_has_the_last_heartbeat(caplog):
    """Not for a service that an admin forced down."""
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


def test_ten_dead_hosts_are_named_and_more_are_counted(caplog):
    ComputeFilter().mask(hosts(*[a_host(**DOWN)] * 13), a_request())

    assert len(caplog.messages) == 11
    assert caplog.messages[-1] == (
        '3 more hosts have not been heard from in a while')


def test_debug_has_the_operators_reason_for_disabling(caplog):
    with caplog.at_level('DEBUG', 'nova_sched'):
        ComputeFilter().mask(hosts(a_host(
            disabled_reason='new disks', **DISABLED)), a_request())

    text, = caplog.messages
    assert text.endswith('is disabled, reason: new disks')
