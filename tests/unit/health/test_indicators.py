"""A short trouble is a warning, a lasting trouble a failure."""

import time

import pytest

from nova_sched import remote
from nova_sched.health import indicators
from nova_sched.health.checks import Check
from nova_sched.scheduler.host_manager import Overview

HEALTHY = {'unpolled': 0.1, 'busy': 0, 'bus': None, 'gone_at': None,
           'is_gone': False}


@pytest.fixture
def clock(monkeypatch):
    """The time, as a list of one number."""
    now = [1000.0]
    for name in ('time', 'monotonic'):
        monkeypatch.setattr(time, name, lambda: now[0])
    return now


@pytest.fixture
def contact(clock):
    made = remote.Contact()
    made.answered()
    return made


class TestContact:
    @pytest.mark.parametrize('rule', [
        indicators.of_bus, indicators.of_database, indicators.of_placement])
    def test_is_not_reported_before_its_first_use(self, rule):
        assert rule(remote.Contact()) is None

    @pytest.mark.parametrize('rule', [
        indicators.of_bus, indicators.of_database])
    def test_passes_as_of_the_last_answer(self, clock, contact, rule):
        clock[0] += 100
        assert rule(contact) == ('pass', 1000.0, '')

    def test_with_the_bus_fails_when_a_reconnection_fails(self, contact):
        contact.failed('Connection reset by peer')
        assert indicators.of_bus(contact).status == 'warn'
        contact.failed('Connection refused')
        assert indicators.of_bus(contact) == (
            'fail', 1000.0,
            'the connection is lost for 0 seconds: Connection refused')
        contact.answered()
        assert indicators.of_bus(contact).status == 'pass'

    def test_with_the_bus_fails_without_a_reconnection(self, clock, contact):
        contact.failed('Connection reset by peer')
        clock[0] += indicators.LASTING
        assert indicators.of_bus(contact).status == 'fail'

    def test_with_a_database_fails_after_ten_seconds(self, clock, contact):
        for _ in range(3):
            contact.failed('no answer within 2 seconds')
        clock[0] += 9
        assert indicators.of_database(contact).status == 'warn'
        clock[0] += 1
        assert indicators.of_database(contact) == (
            'fail', 1000.0, 'it does not answer for 10 seconds: '
            'no answer within 2 seconds')

    def test_with_placement_never_fails_and_expires(self, clock, contact):
        """Placement is queried for requests only."""
        clock[0] += 1000
        assert indicators.of_placement(contact) == ('pass', 2000.0, '')
        contact.failed('Connection refused')
        clock[0] += 1000
        contact.failed('Connection refused')
        assert indicators.of_placement(contact) == (
            'warn', 3000.0,
            'it does not answer for 1000 seconds: Connection refused')
        clock[0] += indicators.REPORTED
        assert indicators.of_placement(contact) is None

    def test_keeps_its_error_when_an_empty_one_follows(self, contact):
        contact.failed('Connection refused')
        contact.failed('')
        assert contact.error == 'Connection refused'


@pytest.mark.parametrize('changed, status, words', [
    ({}, 'pass', ''),
    ({'unpolled': 9.9}, 'pass', ''),
    ({'unpolled': 10}, 'warn', 'has not polled for requests for 10 s'),
    ({'unpolled': 20}, 'fail', 'has not polled for requests for 20 s'),
    ({'busy': 29}, 'pass', ''),
    ({'busy': 30}, 'warn', 'busy for 30 seconds'),
    ({'busy': 3000}, 'warn', 'busy for 3000 seconds'),
    ({'gone_at': 1000, 'is_gone': True}, 'warn', 'is being declared again'),
    ({'gone_at': 990, 'is_gone': True}, 'fail', 'deleted at the broker 10 s'),
    ({'gone_at': 990}, 'warn', 'was declared again'),
    ({'gone_at': 940}, 'pass', ''),
    # The message bus has a failure of its own.
    ({'bus': Check('fail', 1000.0, 'gone'), 'unpolled': 100}, 'warn',
     'while the message bus is disconnected')])
def test_consuming(clock, changed, status, words):
    check = indicators.of_consuming(**HEALTHY | changed)
    assert check.status == status
    assert words in check.output


@pytest.mark.parametrize('seconds, status', [
    (9, None), (10, 'warn'), (59, 'warn'), (60, 'fail')])
def test_waiting_start_warns_then_fails(seconds, status):
    check = indicators.of_start('the database', seconds)
    assert (check and check.status) == status
    assert not check or 'waits for the database' in check.output


@pytest.mark.parametrize('ages, status', [
    ({}, None), ({'cell:a': 179.0}, 'pass'),
    ({'cell:a': 1.0, 'cell:b': 180.0}, 'warn')])
def test_old_state_is_a_warning_that_names_the_cell(ages, status):
    check = indicators.of_state_age(ages, stale=180)
    assert (check and check.status) == status
    assert status != 'warn' or 'hosts of cell:b were read 180 s' in (
        check.output)


def an_overview(up=1, down=0, ahead=(), by_seconds=0, unmapped=None):
    return Overview(up, down, {}, {}, list(ahead), by_seconds, unmapped)


def test_hosts_without_a_mapping_are_a_warning():
    check = indicators.of_mappings(an_overview(unmapped=[*'abcd']))

    assert (check.status, check.output) == (
        'warn', '4 compute host(s) have no cell mapping, such as a, b, c: '
        'instances placed there are not built; run nova-manage cell_v2 '
        'discover_hosts')
    assert indicators.of_mappings(an_overview(unmapped=[])).status == 'pass'
    assert indicators.of_mappings(an_overview()) is None


def test_heartbeats_in_the_future_are_a_warning_that_names_hosts():
    check = indicators.of_clock(an_overview(ahead='abcd', by_seconds=90))
    assert check.status == 'warn'
    assert '4 compute host(s), such as a, b, c, are up to 90 s' in check.output
    assert indicators.of_clock(an_overview()).status == 'pass'


@pytest.mark.parametrize('seconds, status', [(9, 'warn'), (10, 'fail')])
def test_unreadable_cell_warns_then_fails(seconds, status):
    check = indicators.of_lost_cell('no such column', seconds)
    assert check.status == status
    assert f'for {seconds} seconds: no such column' in check.output


@pytest.mark.parametrize('up, down, status, words', [
    (1, 5, 'pass', ''), (0, 5, 'warn', 'none of 5 compute hosts is up'),
    (0, 0, 'warn', 'there is no compute host')])
def test_cloud_without_a_host_that_is_up_warns(up, down, status, words):
    check = indicators.of_hosts(an_overview(up, down))
    assert (check.status, check.output) == (status, words)
