"""The process that tells other daemons of picks, from start to stop."""

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
    """What another daemon says."""
    return a_message(hashlib.sha256(f'nova_sched picks {KEY}'.encode(
        )).digest(), at=time.time())


class Broker:
    """What a Broadcast is made of.

    refusals: errors of the next tries to hear.
    silent: an Event until which it answers nobody, or None.
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

    def say(self, said):
        self.said.append(said)

    def stop(self):
        self.stopped = True

    @property
    def placed(self):
        """Keys of the picks that it was told of."""
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
    """A Messenger, which is stopped in the end."""
    made = messenger.Messenger(rules.a_conf(nova_sched__picks_key=KEY), picks,
                               Hangup())
    yield made
    made.stop(graceful=False)


def test_another_daemon_is_told_what_a_worker_picks(process, broker, picks):
    process.start()
    until(lambda: process._hearing, 'it hears')
    broker.heard(hello())

    picks.sharing().tell(News([a_pick('i')]))

    until(lambda: broker.placed == ['i'], 'it is told')


def test_a_stop_waits_until_what_is_placed_meanwhile_is_told(
        process, broker, picks, monkeypatch):
    monkeypatch.setattr(peers, 'QUIET', 3)
    process.start()
    until(lambda: process._hearing, 'it hears')
    broker.heard(hello())
    threading.Timer(0.1, lambda: picks.sharing().tell(
        News([a_pick('late')]))).start()

    process.stop()

    assert broker.placed == ['late']
    assert broker.stopped


def test_a_stop_waits_for_nobody_where_there_is_no_other(process, broker,
                                                         monkeypatch):
    monkeypatch.setattr(peers, 'QUIET', 60)
    process.start()
    until(lambda: process._hearing, 'it hears')

    process.stop()

    assert broker.stopped


def test_a_stop_does_not_wait_for_a_broker_that_is_silent(process, broker,
                                                          monkeypatch):
    monkeypatch.setattr(messenger, 'GRACE', 60)
    broker.silent = threading.Event()
    process.start()

    process.stop()

    assert not broker.heard
    broker.silent.set()


def test_a_broker_that_refuses_is_tried_again(process, broker, monkeypatch,
                                              caplog):
    monkeypatch.setattr(messenger, 'RETRY', 0.01)
    caplog.set_level('INFO')
    broker.refusals = [OSError('no access'), OSError('no access')]
    process.start()

    until(lambda: 'published to other daemons again' in caplog.text,
          'it hears')
    assert caplog.text.count('Publishing picks') == 1


def test_a_fault_is_logged_and_all_is_tried_again(process, broker,
                                                  monkeypatch, caplog):
    monkeypatch.setattr(messenger, 'RETRY', 0.01)
    get_transport, faults = messenger.rpc.get_transport, [1, 2]

    def fail(conf):
        if faults:
            raise ValueError(f'a surprise {faults.pop()}')
        return get_transport(conf)
    monkeypatch.setattr(messenger.rpc, 'get_transport', fail)
    process.start()

    until(lambda: process._hearing, 'it hears')
    assert caplog.text.count('not told of picks; tried again') == 2


def test_a_hangup_has_it_sign_with_another_key(broker, picks, tmp_path):
    """The one of the file by then."""
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
