"""What passes soon is a warning, what lasts a failure."""

import time

import pytest

from nova_sched import remote
from nova_sched.health import indicators
from nova_sched.health.checks import Check
from nova_sched.scheduler.host_manager import Overview

WELL = {'turned': 0.1, 'busy': 0, 'bus': None, 'gone_at': None,
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


class TestAContact:
    @pytest.mark.parametrize('rule', [
        indicators.of_bus, indicators.of_database, indicators.of_placement])
    def test_that_was_never_made_is_not_told(self, rule):
        assert rule(remote.Contact()) is None

    @pytest.mark.parametrize('rule', [
        indicators.of_bus, indicators.of_database])
    def test_passes_as_of_the_last_answer(self, clock, contact, rule):
        clock[0] += 100
        assert rule(contact) == ('pass', 1000.0, '')

    def test_with_the_bus_fails_when_connecting_again_does(self, contact):
        contact.failed('Connection reset by peer')
        assert indicators.of_bus(contact).status == 'warn'
        contact.failed('Connection refused')
        assert indicators.of_bus(contact) == (
            'fail', 1000.0,
            'the connection is lost for 0 seconds: Connection refused')
        contact.answered()
        assert indicators.of_bus(contact).status == 'pass'

    def test_with_the_bus_fails_when_nothing_is_tried_for_long(
            self, clock, contact):
        contact.failed('Connection reset by peer')
        clock[0] += indicators.LASTING
        assert indicators.of_bus(contact).status == 'fail'

    def test_with_a_database_fails_when_it_is_lost_for_ten_seconds(
            self, clock, contact):
        for _ in range(3):
            contact.failed('no answer within 2 seconds')
        clock[0] += 9
        assert indicators.of_database(contact).status == 'warn'
        clock[0] += 1
        assert indicators.of_database(contact) == (
            'fail', 1000.0, 'it does not answer for 10 seconds: '
            'no answer within 2 seconds')

    def test_with_placement_is_never_more_than_a_warning(
            self, clock, contact):
        """It is another service's trouble."""
        contact.failed('Connection refused')
        clock[0] += 1000
        contact.failed('Connection refused')
        assert indicators.of_placement(contact) == (
            'warn', 2000.0,
            'it does not answer for 1000 seconds: Connection refused')

    def test_with_placement_is_not_of_long_ago(self, clock, contact):
        """Nobody asks it while there are no requests."""
        clock[0] += 1000
        assert indicators.of_placement(contact) == ('pass', 2000.0, '')
        contact.failed('It answers 503')
        clock[0] += indicators.TOLD
        assert indicators.of_placement(contact) is None

    def test_keeps_the_words_of_an_error_when_one_without_follows(
            self, contact):
        contact.failed('Connection refused')
        contact.failed('')
        assert contact.error == 'Connection refused'


class TestConsuming:
    @pytest.mark.parametrize('changed, status, words', [
        ({}, 'pass', ''),
        ({'turned': 9.9}, 'pass', ''),
        ({'turned': 10}, 'warn', 'has not polled for requests for 10 s'),
        ({'turned': 20}, 'fail', 'has not polled for requests for 20 s'),
        ({'busy': 29}, 'pass', ''),
        ({'busy': 30}, 'warn', 'busy for 30 seconds'),
        ({'busy': 3000}, 'warn', 'busy for 3000 seconds'),
        ({'gone_at': 1000, 'is_gone': True}, 'warn', 'gone from the broker'),
        ({'gone_at': 990, 'is_gone': True}, 'fail', 'for 10 seconds'),
        ({'gone_at': 990}, 'warn', 'was declared again'),
        ({'gone_at': 940}, 'pass', '')])
    def test_is(self, clock, changed, status, words):
        found = indicators.of_consuming(**WELL | changed)
        assert found.status == status
        assert words in found.output

    def test_is_a_warning_while_the_bus_is_away(self, clock):
        """The bus has the failure."""
        assert indicators.of_consuming(**WELL | {
            'bus': Check('fail', 1000.0, 'gone'), 'turned': 100}
            ).status == 'warn'


@pytest.mark.parametrize('seconds, status', [
    (9, None), (10, 'warn'), (59, 'warn'), (60, 'fail')])
def test_a_start_that_waits_is_told_later(seconds, status):
    found = indicators.of_start('the database', seconds)
    assert (found and found.status) == status
    assert not found or 'waits for the database' in found.output


@pytest.mark.parametrize('ages, status', [
    ({}, None), ({'cell:a': 179.0}, 'pass'),
    ({'cell:a': 1.0, 'cell:b': 180.0}, 'warn')])
def test_old_state_is_a_warning_that_names_the_cell(ages, status):
    found = indicators.of_state_age(ages, stale=180)
    assert (found and found.status) == status
    assert status != 'warn' or 'hosts of cell:b were read 180 s' in (
        found.output)


def an_overview(up=1, down=0, ahead=(), by_seconds=0, unmapped=None):
    return Overview(up, down, {}, {}, list(ahead), by_seconds, unmapped)


def test_hosts_that_no_mapping_leads_to_are_a_warning():
    found = indicators.of_mappings(an_overview(unmapped=[*'abcd']))

    assert (found.status, found.output) == (
        'warn', '4 compute host(s) have no cell mapping, such as a, b, c: '
        'instances that are placed there are not built; run nova-manage '
        'cell_v2 discover_hosts')
    assert indicators.of_mappings(an_overview(unmapped=[])).status == 'pass'
    assert indicators.of_mappings(an_overview()) is None


def test_heartbeats_of_the_future_are_a_warning_that_names_hosts():
    found = indicators.of_clock(an_overview(ahead='abcd', by_seconds=90))
    assert found.status == 'warn'
    assert '4 compute host(s), such as a, b, c, are up to 90 s' in found.output
    assert indicators.of_clock(an_overview()).status == 'pass'


@pytest.mark.parametrize('seconds, status', [(9, 'warn'), (10, 'fail')])
def test_a_cell_that_answers_and_cannot_be_read_fails_when_it_lasts(
        seconds, status):
    found = indicators.of_lost_cell('no such column', seconds)
    assert found.status == status
    assert f'for {seconds} seconds: no such column' in found.output


@pytest.mark.parametrize('up, down, status, words', [
    (1, 5, 'pass', ''), (0, 5, 'warn', 'none of 5 compute hosts is up'),
    (0, 0, 'warn', 'there is no compute host')])
def test_no_host_that_is_up_is_a_warning(up, down, status, words):
    found = indicators.of_hosts(an_overview(up, down))
    assert (found.status, found.output) == (status, words)


@pytest.mark.parametrize('silent, lasts, status', [
    (0, False, 'pass'), (1, False, 'warn'), (1, True, 'fail')])
def test_workers_that_say_nothing(silent, lasts, status):
    assert indicators.of_workers(4, silent, lasts).status == status


def test_checks_that_are_not_known_are_not_reported():
    found = {'a': Check('warn', 1.0, 'x'), 'b': None}
    assert indicators.from_list(indicators.as_list(found)) == {
        'a': found['a']}
