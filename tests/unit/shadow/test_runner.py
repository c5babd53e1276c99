"""A shadow that runs: its turns, its end, and what it says of itself."""

import logging
import types

import pytest

from nova_sched import exception
from nova_sched.dry_run import read_only_placement
from nova_sched.scheduler import filter_scheduler
from nova_sched.shadow import runner
from nova_sched.shadow import tap
from nova_sched.systemd import Notifier
from tests.builders import http_placement
from tests.builders.clouds import a_uuid

ASKED = tap.Call('select_destinations', {}, {})
ODD = tap.Call('select_destinations', {'odd': 1}, {})
PING = tap.Call('baseapi.ping', {}, {})


class Tap:
    """One at a broker that holds so many requests.

    messages: what comes next, Calls and exceptions.
    """

    def __init__(self, waiting, messages=()):
        self._waiting, self.messages = waiting, list(messages)

    def queue_length(self):
        return self._waiting

    def next(self, seconds):
        found = self.messages.pop(0) if self.messages else None
        if isinstance(found, Exception):
            raise found
        return found


class Watcher:
    """Notes what it is asked; fails at requests of which it is told to."""

    def __init__(self, *failing):
        self.asked, self._failing = [], failing

    def __len__(self):
        return 3

    def add(self, call):
        self.asked.append('add')
        if call in self._failing:
            raise ZeroDivisionError('a fault')

    def poll(self):
        self.asked.append('poll')


class BusyScheduler(filter_scheduler.FilterScheduler):
    """Has periodic work, which does not always succeed."""

    PERIODIC = True

    def __init__(self, conf):
        super().__init__(conf)
        self.rounds = []

    def run_periodic_tasks(self, context):
        self.rounds.append(context)
        if len(self.rounds) == 2:
            raise exception.DatabaseUnavailable('it is away')


class Clock:
    """Stands still unless it is set."""

    now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def shadow(hosts):
    """Function of options: a Shadow that is not started."""
    def shadow(**options):
        return runner.Shadow(hosts().conf(
            DEFAULT__transport_url='rabbit://nova:x@localhost:1/',
            **options), Notifier(None, None))
    return shadow


def test_is_stopped_where_there_is_no_placement(shadow):
    made = shadow()
    made.stop()
    assert made._stopping.is_set()


def test_a_stop_ends_what_is_asked_of_placement(shadow, server):
    server.on('GET', '/allocations/', http_placement.held({}))
    made = shadow(placement__auth_type='none',
                  placement__endpoint_override=server.url)
    assert made._decider.placement.consumer_allocations(a_uuid()) == {}

    made.stop()

    with pytest.raises(read_only_placement.Stopping):
        made._decider.placement.consumer_allocations(a_uuid())


@pytest.mark.parametrize(('waiting', 'warnings'), [
    (999, []), (1000, ['1000 requests wait at the broker: the oldest are '
                       'dropped, and not compared'])])
def test_says_how_many_requests_wait_and_warns_when_the_queue_is_full(
        shadow, caplog, waiting, warnings):
    made = shadow()
    made._tap = Tap(waiting)
    caplog.set_level(logging.INFO)

    made._log_health()

    health, *more = caplog.messages
    assert health.endswith(f'{waiting} waiting at the broker')
    assert more == warnings


@pytest.fixture
def clock(monkeypatch):
    """What a shadow goes by."""
    made = Clock()
    monkeypatch.setattr(runner, 'time', types.SimpleNamespace(
        monotonic=made.monotonic))
    return made


def test_decides_eight_requests_before_it_looks_for_live_decisions(shadow):
    made = shadow()
    made._tap, made._watcher = Tap(0, [ASKED] * 9), Watcher()

    made._work()
    made._work()

    assert made._watcher.asked == [*['add'] * 8, 'poll', 'add', 'poll']


@pytest.mark.parametrize(('messages', 'asked', 'logged'), [
    ([PING, ASKED], ['add', 'poll'], []),
    ([ValueError('no JSON'), ASKED], ['add', 'poll'],
     ['Ignored a message on the topic: no JSON']),
    ([ODD, ASKED], ['add', 'add', 'poll'], ['A request cannot be compared'])])
def test_goes_on_after_a_message_that_is_no_request(
        shadow, caplog, messages, asked, logged):
    """Or whose comparison fails, which is logged."""
    made = shadow()
    made._tap, made._watcher = Tap(0, messages), Watcher(ODD)

    made._work()

    assert made._watcher.asked == asked
    assert caplog.messages == logged
    assert ('ZeroDivisionError' in caplog.text) is (ODD in messages)


def test_ends_its_turn_when_the_broker_is_lost(shadow):
    made = shadow()
    made._tap = Tap(0, [tap.ConnectionLost('it is away')])
    made._watcher = Watcher()

    with pytest.raises(tap.ConnectionLost):
        made._work()


def test_says_how_it_stands_once_a_minute(shadow, clock, caplog):
    """With the cells as they are then, if they can be found."""
    made, found = shadow(), []

    def refresh():
        found.append(clock.now)
        raise exception.DatabaseUnavailable('it is away')

    made._tap, made._watcher = Tap(0), Watcher()
    made._live_picks.refresh_cells = refresh
    caplog.set_level(logging.INFO)
    for clock.now in (1059.9, 1060.0, 1119.0, 1120.0, 1121.0):
        made._work()

    assert found == [1060.0, 1120.0]
    assert caplog.messages == [
        'Shadow: 0 of 0 comparable requests agree; 3 without a live '
        'decision yet, 0 waiting at the broker'] * 2


@pytest.mark.parametrize(('options', 'at'), [
    ({}, [1060.0, 1120.0]), ({'scheduler__periodic_task_interval': 0},
                             [1060.0, 1120.0]),
    ({'scheduler__periodic_task_interval': 30}, [1030.0, 1060.0, 1090.0,
                                                 1120.0]),
    ({'scheduler__periodic_task_interval': -1}, []),
    ({'DEFAULT__periodic_enable': False}, []),
    ({'scheduler__driver': 'filter_scheduler'}, None)])
def test_does_the_periodic_work_of_its_driver(shadow, clock, caplog, options,
                                              at):
    made = shadow(**{
        'scheduler__driver': f'{__name__}.BusyScheduler', **options})
    driver, done = made._decider.driver, []
    for clock.now in range(1000, 1131, 10):
        made._run_periodic_tasks()
        done += [clock.now] * (
            len(getattr(driver, 'rounds', ())) - len(done))

    assert done == (at or [])
    assert [line for line in caplog.messages if 'Periodic' in line] == [
        'Periodic work of the driver failed, next try in '
        f'{options.get("scheduler__periodic_task_interval") or 60} seconds: '
        'it is away'] * bool(at)
