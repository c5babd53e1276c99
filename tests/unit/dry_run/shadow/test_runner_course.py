"""A shadow from its start to its end, at a broker in this process."""

import logging
import os
import signal

import pytest

from nova_sched import exception
from nova_sched.daemon import sighup
from nova_sched.daemon.systemd import Notifier
from nova_sched.dry_run.shadow import runner
from nova_sched.preflight import startup
from nova_sched.scheduler import filter_scheduler
from tests.builders import requests
from tests.builders import rules
from tests.builders.clouds import a_uuid

LISTENING, STILL = 'Listening to topic', 'Still waiting for the database'
#: What begins the line about a request that is compared.
TOLD = 'Request for '


class Notes(Notifier):
    """Keeps what the supervisor would be told."""

    def __init__(self):
        super().__init__()
        self.told = []

    def _send(self, *lines):
        self.told += lines


class On(logging.Handler):
    """Acts when something is said: dict of texts to functions.

    said: how often each was.
    """

    def __init__(self, acts):
        super().__init__()
        self._acts, self.said = acts, dict.fromkeys(acts, 0)

    def emit(self, record):
        for text, act in self._acts.items():
            if text in record.getMessage():
                self.said[text] += 1
                act()


class UnreadyScheduler(filter_scheduler.FilterScheduler):
    """Finds out late that it cannot work."""

    def start(self):
        raise exception.ConfigurationError('[racks] file', 'x', 'is not there')


@pytest.fixture
def on(caplog):
    """Function of ``On``'s acts, which are taken until the test ends."""
    log, handlers = logging.getLogger('nova_sched'), []
    caplog.set_level(logging.INFO)

    def on(acts):
        handlers.append(On(acts))
        log.addHandler(handlers[-1])
        return handlers[-1].said
    yield on
    for handler in handlers:
        log.removeHandler(handler)


@pytest.fixture
def conf(hosts, broker, monkeypatch):
    """Function of options: of a shadow that soon tries again."""
    monkeypatch.setattr(runner, '_RETRY', 0.01)
    monkeypatch.setattr(runner, '_MESSAGE_WAIT', 0.005)
    cloud = hosts()

    def conf(**options):
        return cloud.conf(
            DEFAULT__transport_url='rabbit://nova:secret@localhost:1/',
            DEFAULT__control_exchange='nova', **options)
    return conf


@pytest.fixture
def signals(monkeypatch):
    """The handlers of signals are what they were in the end.

    What is done at SIGHUP, which is not sent.
    """
    found = {}
    monkeypatch.setattr(sighup, 'block', lambda: None)
    monkeypatch.setattr(
        sighup.SighupHandler, 'call_on_sighup', lambda _, act: (
        found.update({signal.SIGHUP: act})))

    def unheard(number, _frame):
        pytest.fail(f'nobody takes signal {number}')

    kept = {number: signal.signal(number, unheard) for number in (
        signal.SIGTERM, signal.SIGINT)}
    yield found
    for number, handler in kept.items():
        signal.signal(number, handler)


def kill(number):
    os.kill(os.getpid(), number)


def ask(broker):
    """Have a rebuild asked for, which is told at once."""
    broker.call('select_destinations', spec_obj=requests.a_request(
        hints={'_nova_check_type': ['rebuild']}).obj_to_primitive(),
        instance_uuids=[a_uuid()])


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_it_listens_and_compares_until_a_signal_ends_it(
        conf, broker, on, signals, caplog, number):
    on({LISTENING: lambda: ask(broker), TOLD: lambda: kill(number)})
    notes = Notes()

    assert runner.run(conf(), notes) == 0

    said = [record.getMessage() for record in caplog.records
            if record.name == runner.__name__]
    assert said[0].startswith('Starting as a shadow (version ')
    assert said[1:] == [
        'Listening to topic scheduler of exchange nova at '
        'rabbit://nova:***@localhost:1/',
        'Stopped: 0 of 0 comparable requests agree (1 not comparable); '
        '0 not compared']
    assert notes.told == [
        'STATUS=Waiting for the database', 'READY=1',
        'STATUS=Serving requests', 'STOPPING=1',
        'STATUS=Finishing calls in flight']
    assert broker.queues == {}


def test_a_configuration_that_changes_is_not_read_again(
        conf, on, signals, caplog):
    """What a comparison is about must not change in its course."""
    on({LISTENING: lambda: (signals[signal.SIGHUP](), kill(signal.SIGTERM))})

    runner.run(conf(), Notes())

    assert 'A shadow keeps its configuration: restart it' in caplog.messages


def test_a_configuration_that_cannot_be_run_with_ends_it(
        conf, on, signals, caplog):
    on({})
    status = runner.run(conf(
        scheduler__driver=f'{__name__}.UnreadyScheduler'), Notes())

    assert status == startup.EXIT_CONFIGURATION
    assert ("Cannot run with this configuration: [racks] file = 'x': "
            'is not there') in caplog.messages
    assert caplog.messages[-2].startswith('Stopped: ')


def test_a_broker_that_is_lost_is_told_once_and_tried_again(
        conf, broker, on, caplog, monkeypatch):
    """Requests that wait for live decisions are looked after meanwhile."""
    monkeypatch.setattr(runner, '_RETRY', 0.05)
    notes, looks = Notes(), []
    made = runner.Shadow(conf(), notes)
    made._watcher.poll = lambda: looks.append(len(notes.told))

    def waiting(what):
        notes.told.append(what)
        if len(notes.told) > 2:
            broker.down = None

    def listening():
        broker.down = OSError('it is away')
        if said[LISTENING] == 2:
            made.stop()

    broker.down = OSError('it is away')
    notes.waiting = waiting
    said = on({LISTENING: listening})
    made.run()

    lost = [line for line in caplog.messages
            if line.startswith('Cannot listen')]
    assert lost == ['Cannot listen at rabbit://nova:***@localhost:1/, '
                    'next attempts every 0 seconds: it is away'] * 2
    assert notes.told[:3] == [
        'the database',
        *['the message broker at rabbit://nova:***@localhost:1/'] * 2]
    assert said == {LISTENING: 2}
    assert {2, 3} & {*looks}


def test_a_database_that_is_away_is_waited_for(conf, on, caplog, monkeypatch):
    made, tries = runner.Shadow(conf(database__retry_interval=0), Notes()), []
    start = made._decider.driver.start

    def begin():
        tries.append(None)
        if len(tries) < 3:
            raise exception.DatabaseUnavailable('not yet')
        start()

    monkeypatch.setattr(made._decider.driver, 'start', begin)
    on({LISTENING: made.stop})
    made.run()

    assert caplog.messages.count(f'{STILL}: not yet') == 2


def test_who_waits_for_a_database_can_be_stopped(broker, on, caplog):
    made = runner.Shadow(rules.a_conf(
        DEFAULT__transport_url='rabbit://localhost:1/',
        database__connection='sqlite:////nowhere/at.all',
        database__max_retries=-1), Notes())
    said = on({STILL: lambda: None, 'Stopped: ': lambda: None,
               ' Attempt 1 of endless': made.stop})
    made.run()

    assert set(said.values()) == {1}
