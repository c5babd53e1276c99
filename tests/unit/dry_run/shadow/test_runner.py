"""The shadow process, with a broker in this process."""

import logging
import os
import signal
import types

import pytest

from nova_sched import exception
from nova_sched.daemon import sighup
from nova_sched.daemon.systemd import Notifier
from nova_sched.dry_run import read_only_placement
from nova_sched.dry_run.shadow import runner
from nova_sched.dry_run.shadow import tap
from nova_sched.preflight import startup
from nova_sched.scheduler import filter_scheduler
from tests.builders import http_placement
from tests.builders import requests
from tests.builders import rules
from tests.builders.clouds import a_uuid

LISTENING, STILL = 'Listening to topic', 'Still waiting for the database'
#: The beginning of the line about a compared request.
COMPARED = 'Request for '


class Notes(Notifier):
    """Keeps the notices for systemd."""

    def __init__(self):
        super().__init__()
        self.sent = []

    def _send(self, *lines):
        self.sent += lines


class On(logging.Handler):
    """Calls a function when a text is logged: dict of texts to functions.

    counts: text -> how often it was logged.
    """

    def __init__(self, actions):
        super().__init__()
        self._actions, self.counts = actions, dict.fromkeys(actions, 0)

    def emit(self, record):
        for text, act in self._actions.items():
            if text in record.getMessage():
                self.counts[text] += 1
                act()


class UnreadyScheduler(filter_scheduler.FilterScheduler):
    """Fails to start."""

    def start(self):
        raise exception.ConfigurationError('[racks] file', 'x', 'is not there')


class BusyScheduler(filter_scheduler.FilterScheduler):
    """Has a periodic task, which fails the second time."""

    PERIODIC = True

    def __init__(self, conf):
        super().__init__(conf)
        self.rounds = []

    def run_periodic_tasks(self, context):
        self.rounds.append(context)
        if len(self.rounds) == 2:
            raise exception.DatabaseUnavailable('it is away')


@pytest.fixture
def on(caplog):
    """Function of the arguments of ``On``, until the test ends."""
    log, handlers = logging.getLogger('nova_sched'), []
    caplog.set_level(logging.INFO)

    def on(actions):
        handlers.append(On(actions))
        log.addHandler(handlers[-1])
        return handlers[-1].counts
    yield on
    for handler in handlers:
        log.removeHandler(handler)


@pytest.fixture
def conf(hosts, broker, monkeypatch):
    """Function of options: the configuration of a quick shadow."""
    monkeypatch.setattr(runner, '_RETRY', 0.01)
    monkeypatch.setattr(runner, '_MESSAGE_WAIT', 0.005)
    monkeypatch.setattr(tap, 'MAX_WAITING', 2)
    cloud = hosts()

    def conf(**options):
        return cloud.conf(
            DEFAULT__transport_url='rabbit://nova:secret@localhost:1/',
            DEFAULT__control_exchange='nova', **options)
    return conf


@pytest.fixture
def shadow(conf):
    """Function of options: a Shadow that is not started."""
    return lambda **options: runner.Shadow(conf(**options), Notes())


@pytest.fixture
def opened(shadow):
    """A Shadow that listens and keeps the calls of its watcher."""
    made = shadow()
    made.calls = []

    def add(call):
        made.calls.append(call.method)
        if call.args:
            raise ZeroDivisionError('a fault')
    made._watcher.add = add
    made._watcher.poll = lambda: made.calls.append('poll')
    made._tap.open()
    yield made
    made._tap.close()


@pytest.fixture
def clock(monkeypatch):
    """The clock of the shadow: ``now``."""
    made = types.SimpleNamespace(now=1000.0)
    monkeypatch.setattr(runner, 'time', types.SimpleNamespace(
        monotonic=lambda: made.now))
    return made


@pytest.fixture
def signals(monkeypatch):
    """Restores the signal handlers; signal -> function, for SIGHUP."""
    functions = {}
    monkeypatch.setattr(sighup, 'block', lambda: None)
    monkeypatch.setattr(
        sighup.SighupHandler, 'call_on_sighup', lambda _, act: (
        functions.update({signal.SIGHUP: act})))

    def unhandled(number, _frame):
        pytest.fail(f'no handler for signal {number}')

    before = {number: signal.signal(number, unhandled) for number in (
        signal.SIGTERM, signal.SIGINT)}
    yield functions
    for number, handler in before.items():
        signal.signal(number, handler)


def kill(number):
    os.kill(os.getpid(), number)


def ask(broker):
    """Request a rebuild, which is reported at once."""
    broker.call('select_destinations', spec_obj=requests.a_request(
        hints={'_nova_check_type': ['rebuild']}).obj_to_primitive(),
        instance_uuids=[a_uuid()])


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_shadow_compares_until_a_signal(
        conf, broker, on, signals, caplog, number):
    on({LISTENING: lambda: ask(broker), COMPARED: lambda: kill(number)})
    notes = Notes()

    assert runner.run(conf(), notes) == 0

    lines = [record.getMessage() for record in caplog.records
             if record.name == runner.__name__]
    assert lines[0].startswith('Starting as a shadow (version ')
    assert lines[1:] == [
        'Listening to topic scheduler of exchange nova at '
        'rabbit://nova:***@localhost:1/',
        'Stopped: 0 of 0 comparable requests agree (1 not comparable); '
        '0 not compared']
    assert notes.sent == [
        'STATUS=Waiting for the database', 'READY=1',
        'STATUS=Serving requests', 'STOPPING=1',
        'STATUS=Finishing calls in flight']
    assert broker.queues == {}
    signals[signal.SIGHUP]()
    assert caplog.messages[-1] == (
        'A shadow keeps its configuration: restart it')


def test_shadow_ends_with_an_unusable_configuration(conf, on, signals, caplog):
    on({})
    status = runner.run(conf(
        scheduler__driver=f'{__name__}.UnreadyScheduler'), Notes())

    assert status == startup.EXIT_CONFIGURATION
    assert ("Cannot run with this configuration: [racks] file = 'x': "
            'is not there') in caplog.messages
    assert caplog.messages[-2].startswith('Stopped: ')


def test_lost_broker_is_logged_once_and_retried(
        shadow, broker, on, caplog, monkeypatch):
    """Meanwhile the shadow looks for live decisions."""
    monkeypatch.setattr(runner, '_RETRY', 0.05)
    made, polls = shadow(), []
    notes = made._notifier
    made._watcher.poll = lambda: polls.append(len(notes.sent))

    def waiting(text):
        notes.sent.append(text)
        if len(notes.sent) > 2:
            broker.down = None

    def listening():
        broker.down = OSError('it is away')
        if counts[LISTENING] == 2:
            made.stop()

    broker.down = OSError('it is away')
    notes.waiting = waiting
    counts = on({LISTENING: listening})
    made.run()

    lost = [line for line in caplog.messages
            if line.startswith('Cannot listen')]
    assert lost == ['Cannot listen at rabbit://nova:***@localhost:1/, '
                    'next attempts every 0 seconds: it is away'] * 2
    assert notes.sent[:3] == [
        'the database',
        *['the message broker at rabbit://nova:***@localhost:1/'] * 2]
    assert counts == {LISTENING: 2}
    assert {2, 3} & {*polls}


def test_waiting_shadow_can_be_stopped(broker, on):
    made = runner.Shadow(rules.a_conf(
        DEFAULT__transport_url='rabbit://localhost:1/',
        database__connection='sqlite:////nowhere/at.all',
        database__max_retries=-1), Notes())
    counts = on({STILL: lambda: None, 'Stopped: ': lambda: None,
                 ' Attempt 1 of endless': made.stop})
    made.run()

    assert set(counts.values()) == {1}


def test_stop_ends_requests_to_placement(shadow, server):
    server.on('GET', '/allocations/', http_placement.held({}))
    made = shadow(placement__auth_type='none',
                  placement__endpoint_override=server.url)
    assert made._decider.placement.consumer_allocations(a_uuid()) == {}

    made.stop()

    with pytest.raises(read_only_placement.ClientStopped):
        made._decider.placement.consumer_allocations(a_uuid())


def test_at_most_eight_requests_between_polls(opened, broker):
    """Other methods are ignored."""
    broker.call('ping')
    for _ in range(8):
        broker.call(tap.SELECT_DESTINATIONS)

    opened._work()
    opened._work()

    add = tap.SELECT_DESTINATIONS
    assert opened.calls == [*[add] * 7, 'poll', add, 'poll']


def test_bad_message_and_fault_are_logged(opened, broker, caplog):
    broker.send('{}')
    broker.call(tap.SELECT_DESTINATIONS, odd=1)
    broker.call(tap.SELECT_DESTINATIONS)

    opened._work()

    assert opened.calls == [*[tap.SELECT_DESTINATIONS] * 2, 'poll']
    ignored, failed = caplog.messages
    assert ignored.startswith('Ignored a message on the topic: ')
    assert failed == 'A request cannot be compared'
    assert 'ZeroDivisionError' in caplog.text


def test_totals_are_logged_once_a_minute(opened, broker, clock, caplog):
    """The cells are read again; a full queue is a warning."""
    refreshed = []

    def refresh():
        refreshed.append(clock.now)
        raise exception.DatabaseUnavailable('it is away')

    opened._last_health = clock.now
    opened._live_picks.refresh_cells = refresh
    opened._handle_message = lambda: False
    caplog.set_level(logging.INFO)
    for clock.now in (1059.9, 1060.0, 1119.0, 1120.0, 1121.0):
        broker.call()
        opened._work()

    assert refreshed == [1060.0, 1120.0]
    line = ('Shadow: 0 of 0 comparable requests agree; 0 without a live '
            'decision yet, {} waiting at the broker')
    full = ('{} requests wait at the broker: the oldest are dropped, and not '
            'compared')
    assert caplog.messages == [line.format(2), full.format(2),
                               line.format(4), full.format(4)]


@pytest.mark.parametrize(('options', 'at'), [
    ({}, [1060.0, 1120.0]), ({'scheduler__periodic_task_interval': 0},
                             [1060.0, 1120.0]),
    ({'scheduler__periodic_task_interval': 30}, [1030.0, 1060.0, 1090.0,
                                                 1120.0]),
    ({'scheduler__periodic_task_interval': -1}, []),
    ({'DEFAULT__periodic_enable': False}, []),
    ({'scheduler__driver': 'filter_scheduler'}, None)])
def test_periodic_tasks_of_driver_are_run(shadow, clock, caplog, options, at):
    made = shadow(**{
        'scheduler__driver': f'{__name__}.BusyScheduler', **options})
    driver, done = made._decider.driver, []
    for clock.now in range(1000, 1131, 10):
        made._run_periodic_tasks()
        done += [clock.now] * (len(getattr(driver, 'rounds', ())) - len(done))

    assert done == (at or [])
    assert [line for line in caplog.messages if 'Periodic' in line] == [
        'Periodic work of the driver failed, next try in '
        f'{options.get("scheduler__periodic_task_interval") or 60} seconds: '
        'it is away'] * bool(at)
