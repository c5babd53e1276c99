"""The process that exchanges picks with other daemons."""

import hashlib
import json
import threading
import time
import types

import pytest

from nova_sched import conf as config
from nova_sched.daemon import messenger
from nova_sched.inventory import peers
from nova_sched.inventory.in_flight import News
from nova_sched.inventory.shared_picks import SharedPicks
from tests.builders import rules
from tests.builders.waiting import until
from tests.unit.daemon.test_supervisor import Hangup
from tests.unit.inventory.test_peers import a_message
from tests.unit.inventory.test_picks_on_wire import a_pick

KEY = 'a secret text of all schedulers'


def hello():
    """A message of another daemon."""
    return a_message(hashlib.sha256(f'nova_sched picks {KEY}'.encode(
        )).digest(), at=time.time())


class Broker:
    """A stand-in for Broadcast.

    refusals: errors of the next attempts to listen.
    silent: an Event until which it does not answer, or None.
    """

    def __init__(self):
        self.said, self.refusals, self.silent = [], [], None
        self.heard = self.stopped = None

    def start(self, heard):
        if self.silent:
            self.silent.wait()
        if self.refusals:
            raise self.refusals.pop(0)
        self.heard = heard

    def publish(self, said):
        self.said.append(said)

    def stop(self):
        self.stopped = True

    @property
    def placed(self):
        """Keys of the published picks."""
        return [placed[0] for said in self.said
                for news in json.loads(said['text'])['news']
                for placed in news['placed']]


@pytest.fixture
def broker(monkeypatch):
    made = Broker()
    monkeypatch.setattr(messenger, 'Broadcast', lambda conf, transport: made)
    monkeypatch.setattr(messenger.rpc, 'get_transport', lambda conf: (
        types.SimpleNamespace(cleanup=lambda: None)))
    monkeypatch.setattr(messenger.setproctitle, 'setproctitle', lambda _: None)
    return made


@pytest.fixture
def picks():
    return SharedPicks(1, size=1 << 20)


@pytest.fixture
def process(broker, picks):
    """A Messenger; stopped afterwards."""
    made = messenger.Messenger(rules.a_conf(nova_sched__picks_key=KEY), picks,
                               Hangup())
    yield made
    made.stop(graceful=False)


def test_picks_are_published_also_during_a_stop(
        process, broker, picks, monkeypatch):
    monkeypatch.setattr(peers, 'QUIET', 3)
    process.start()
    until(lambda: process._listening, 'it listens')
    broker.heard(hello())
    picks.sharing().tell(News([a_pick('i')]))
    until(lambda: broker.placed == ['i'], 'a pick is published')
    threading.Timer(0.1, lambda: picks.sharing().tell(
        News([a_pick('late')]))).start()

    process.stop()

    assert broker.placed == ['i', 'late']
    assert broker.stopped


def test_stop_does_not_wait_without_peers(process, broker, monkeypatch):
    monkeypatch.setattr(peers, 'QUIET', 60)
    process.start()
    until(lambda: process._listening, 'it listens')

    process.stop()

    assert broker.stopped


def test_stop_does_not_wait_for_a_silent_broker(process, broker, monkeypatch):
    monkeypatch.setattr(messenger, 'GRACE', 60)
    broker.silent = threading.Event()
    process.start()

    process.stop()

    assert not broker.heard
    broker.silent.set()


def test_refusing_broker_is_retried(process, broker, monkeypatch, caplog):
    monkeypatch.setattr(messenger, 'RETRY', 0.01)
    caplog.set_level('INFO')
    broker.refusals = [OSError('no access'), OSError('no access')]
    process.start()

    until(lambda: 'published to other daemons again' in caplog.text,
          'it hears')
    assert caplog.text.count('Publishing picks') == 1


def test_fault_is_logged_and_retried(process, broker, monkeypatch, caplog):
    monkeypatch.setattr(messenger, 'RETRY', 0.01)
    get_transport, faults = messenger.rpc.get_transport, [1, 2]

    def fail(conf):
        if faults:
            raise ValueError(f'a surprise {faults.pop()}')
        return get_transport(conf)
    monkeypatch.setattr(messenger.rpc, 'get_transport', fail)
    process.start()

    until(lambda: process._listening, 'it listens')
    assert caplog.text.count('Cannot publish picks to other daemons') == 2


def test_reload_changes_the_key(broker, picks, tmp_path):
    path = tmp_path / 'nova.conf'
    path.write_text('[nova_sched]\npicks_key = one\n')
    sighup_handler = Hangup()
    made = messenger.Messenger(config.new_conf([], [str(path)]), picks,
                               sighup_handler)
    made.start()
    before = made._find_key()
    path.write_text('[nova_sched]\npicks_key = another\n')
    sighup_handler()
    assert made._find_key() != before
    made.stop(graceful=False)
