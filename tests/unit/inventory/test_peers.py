"""Daemons publish their picks on a message broker in memory."""

import dataclasses
import json
import threading
import time

import pytest

from nova_sched.inventory import peers
from nova_sched.inventory import signed_news
from nova_sched.inventory.in_flight import News
from nova_sched.inventory.shared_picks import SharedPicks
from tests.unit.inventory.test_picks_on_wire import a_pick


def a_signer(key=b'secret'):
    made = signed_news.Signer(lambda: key)
    made.refresh()
    return made


def a_message(key=b'secret', **fields):
    """Return a signed message without picks."""
    return a_signer(key).sign('h', {
        'host': 'h', 'author': 'x', 'number': 1, 'at': 20.0, 'to': None,
        'heard': None, 'asks': False, 'news': [], 'demands': []} | fields)


class Broker:
    """Delivers messages to all daemons on request.

    broken: the error of each attempt to send, or None.
    """

    def __init__(self):
        self.daemons, self.said, self.broken = [], [], None

    def say(self, said):
        if self.broken:
            raise self.broken
        self.said.append(json.loads(json.dumps(said)))

    def hand_on(self):
        """Deliver all messages, and let daemons respond."""
        while self.said:
            said = self.said.pop(0)
            for daemon in self.daemons:
                daemon.peers.receive(said)
            for daemon in self.daemons:
                daemon.peers.publish_news()


class Daemon:
    """A worker and its peers."""

    def __init__(self, broker, name, clock):
        picks = SharedPicks(1, size=4 << 20)
        self.worker, self.signer = picks.sharing(), a_signer()
        self.peers = peers.Peers(name, name, picks.exchange(), self.signer,
                                 broker.say, clock)
        self._broker = broker
        broker.daemons.append(self)

    def begin(self):
        """Announce the daemon."""
        self.peers._send([])
        self._broker.hand_on()

    def publish(self, *keys, forgotten=(), **kwargs):
        """Send picks; return whether there was a message."""
        self.worker.tell(News([a_pick(key, **kwargs) for key in keys],
                              forgotten=forgotten))
        return self.peers.publish_news()

    def place(self, *keys, **kwargs):
        self.publish(*keys, **kwargs)
        self._broker.hand_on()

    def told(self):
        """Return the keys of the picks that its worker received since."""
        return [placed.key for each in self.worker.news()
                for placed in each.assumed]


@pytest.fixture
def now():
    """[seconds]: the clock of all daemons."""
    return [20.0]


@pytest.fixture
def broker():
    return Broker()


@pytest.fixture
def daemon(broker, now):
    """Function that makes a daemon and announces it."""
    def make(name, begins=True):
        made = Daemon(broker, name, lambda: now[0])
        if begins:
            made.begin()
        return made
    return make


class TestPick:
    def test_pick_reaches_workers_of_all_other_daemons(self, daemon):
        one, other, third = map(daemon, 'abc')

        one.place('i', 'j')

        assert (one.told(), other.told(), third.told()) == (
            [], ['i', 'j'], ['i', 'j'])

    def test_claimed_pick_is_published_only_for_server_group(self, daemon):
        one, other = map(daemon, 'ab')

        one.place('i', claiming=True)
        one.place('j', claiming=True, group='g')

        [([placed], claimed, *_)] = other.worker.news()
        assert placed.key == 'j'
        assert claimed == [('j', placed.place, placed.at)]

    def test_pick_is_not_published_without_peers(self, daemon, broker):
        one = daemon('a')

        assert not one.publish('i')
        assert not broker.said

    def test_many_picks_go_in_several_messages(self, daemon, broker):
        one, other = map(daemon, 'ab')
        keys = [str(number) for number in range(2 * peers.AT_ONCE + 1)]
        for key in keys:
            one.worker.tell(News([a_pick(key)]))
        one.peers.publish_news()

        assert [len(json.loads(sent['text'])['news']) for sent
                in broker.said] == [peers.AT_ONCE, peers.AT_ONCE, 1]
        broker.hand_on()
        assert other.told() == keys

    def test_broker_failure_is_logged_once(self, daemon, broker, caplog):
        caplog.set_level('INFO')
        one, other = map(daemon, 'ab')
        broker.broken = OSError('no route')
        one.place('i')
        one.place('j')
        broker.broken = None
        one.place('k')

        assert caplog.text.count('Publishing picks') == 1
        assert caplog.text.count('published to other daemons again') == 1
        assert 'The daemon on host a publishes its picks' in caplog.text
        assert other.told() == ['k']


class TestNewDaemon:
    def test_new_daemon_receives_recent_picks(self, daemon):
        one = daemon('a')
        one.place('i')
        one.place('j', 'k')
        one.place(forgotten=[(key, ('h', 'n'), 12.0625) for key in 'ij'])

        other = daemon('b')

        assert other.told() == ['k']

    def test_new_daemon_receives_no_old_picks(self, daemon, now):
        one = daemon('a')
        one.place('i')
        now[0] += peers.OLD

        assert daemon('b').told() == []

    def test_recent_picks_reach_only_new_daemon(self, daemon):
        one, other = map(daemon, 'ab')
        one.place('i')
        assert other.told() == ['i']

        third = daemon('c')

        assert (other.told(), third.told()) == ([], ['i'])

    def test_returning_daemon_receives_recent_picks(self, daemon, monkeypatch):
        one, other = map(daemon, 'ab')
        monkeypatch.setattr(peers, 'GONE', -1)
        monkeypatch.setattr(peers, 'OLD', -1)
        one.peers._forget_gone()
        assert not one.peers.has_peers
        monkeypatch.undo()
        one.place('i')
        assert other.told() == []

        other.begin()

        assert one.peers.has_peers
        assert other.told() == ['i']


class TestMessage:
    @pytest.mark.parametrize('sent, why', [
        (None, 'is not a message'), ([], 'is not a message'),
        ({}, 'format is None'),
        ({'form': 1, 'author': 'x', 'host': 'h', 'to': None, 'at': 20.0,
          'news': [], 'demands': []}, 'format is 1'),
        ({'form': signed_news.FORM, 'host': 'h', 'text': '{}'}, 'not signed'),
        (a_message() | {'signature': None}, 'not signed'),
        (a_message() | {'signature': '\ud800'}, 'another key'),
        (a_message() | {'text': '{}'}, 'another key'),
        (a_message(b'another'), 'another key'),
        (a_message(at='now'), 'cannot be read'),
        (a_message(at=20.0, news=5), 'cannot be read'),
        (a_message(author=['x']), 'cannot be read'),
        (a_message(at=81.0), '-61 seconds old'),
        (a_message(at=float('inf')), '-inf seconds old'),
        (a_message(number=0), 'repeated'),
    ])
    def test_rejected_message_is_logged(self, daemon, sent, why, caplog):
        [one] = map(daemon, 'a')

        one.peers.receive(sent)

        assert not one.peers.has_peers
        assert why in caplog.text
        assert len(caplog.text) < 1000

    def test_late_message_is_rejected(self, daemon, broker, now, caplog):
        one, other = map(daemon, 'ab')
        now[0] += 100
        one.publish('i')
        now[0] += peers.OLD + 1
        broker.hand_on()

        assert other.told() == []
        assert 'is 61 seconds old' in caplog.text

    def test_repeated_message_is_rejected(self, daemon, broker, caplog):
        one, other = map(daemon, 'ab')
        one.publish('i')
        [sent] = broker.said
        broker.hand_on()
        assert other.told() == ['i']

        other.peers.receive(sent)

        assert other.told() == []
        assert 'it is repeated' in caplog.text

    @pytest.mark.parametrize('at', [float('inf'), 1e11, -1e9])
    def test_picks_of_another_time_are_rejected(self, daemon, broker, at,
                                                caplog):
        one, other = map(daemon, 'ab')
        pick = dataclasses.replace(a_pick(), at=at)
        one.peers._send([News([pick])])
        broker.hand_on()

        assert other.told() == []
        assert 'another time' in caplog.text

    def test_dropped_messages_are_logged(self, daemon, monkeypatch, caplog):
        [one] = map(daemon, 'a')
        for _ in range(100):
            one.peers.receive({'host': 'x' * 200_000})
        assert caplog.text.count('are dropped') == 1
        assert len(caplog.text) < 1000
        monkeypatch.setattr(one.peers, '_next_line', 0)

        one.peers.receive({'host': 'x'})

        assert '100 message(s) about picks are dropped' in caplog.text

    def test_earlier_messages_are_ignored(self, daemon, broker, now, caplog):
        """A stream queue starts with messages from before."""
        one = daemon('a')
        one.peers._send([News([a_pick()])])
        now[0] += 100
        other = daemon('b', begins=False)
        broker.hand_on()

        assert other.told() == []
        assert not caplog.text


class TestMembersOfServerGroups:
    @pytest.fixture
    def ring(self):
        """Function that returns whether a worker continues without waiting."""
        def acknowledged(daemon):
            begin = time.monotonic()
            daemon.worker.wait_until_acknowledged(0.05)
            return time.monotonic() - begin < 0.04
        return acknowledged

    def test_member_is_acknowledged_by_others(self, daemon, broker, ring):
        one, other = map(daemon, 'ab')
        one.publish('i', group='g')
        assert not ring(one)

        broker.hand_on()

        assert ring(one)
        assert other.told() == ['i']

    def test_other_picks_are_not_waited_for(self, daemon, ring):
        one, _ = map(daemon, 'ab')
        one.publish('i')

        assert ring(one)

    def test_single_daemon_does_not_wait(self, daemon, ring):
        one = daemon('a')
        one.publish('i', group='g')

        assert one.worker.daemons == 0
        assert ring(one)

    def test_wait_ends_at_timeout(self, daemon, broker, ring, monkeypatch):
        """The late daemon is not waited for again before its next message."""
        one, other = map(daemon, 'ab')
        monkeypatch.setattr(peers, 'ACKNOWLEDGED_WITHIN', -1)
        one.publish('i', group='g')
        assert ring(one)
        monkeypatch.undo()
        broker.said.clear()
        assert one.worker.daemons == 0
        one.publish('i', group='g')
        assert ring(one)
        broker.said.clear()

        other.begin()

        one.peers.publish_news()
        assert one.worker.daemons == 1


class TestKey:
    def test_replaced_key_is_accepted_for_five_minutes(self):
        now, keys = [0.0], [b'one']
        signer = signed_news.Signer(lambda: keys[-1], lambda: now[0])
        signer.refresh()
        old = signer.sign('h', {'number': 1})
        keys.append(b'two')
        signer.refresh()

        assert signer.read(old) == {'number': 1}
        assert signer.read(signer.sign('h', {'number': 2})) == {'number': 2}
        now[0] += signed_news.PREVIOUS + 1
        with pytest.raises(signed_news.Rejected, match='another key'):
            signer.read(old)

    def test_missing_key_prevents_publishing_and_is_logged_once(
            self, daemon, broker, caplog):
        one, other = map(daemon, 'ab')
        one.signer._key = None
        one.place('i')
        one.place('j')

        assert not broker.said
        assert caplog.text.count('picks_key') == 1
        assert other.told() == []


def test_last_picks_are_published_after_stop(daemon, monkeypatch):
    one, other = map(daemon, 'ab')
    monkeypatch.setattr(peers, 'QUIET', 0.3)
    stopping = threading.Event()
    stopping.set()
    running = threading.Thread(target=one.peers.run, args=(stopping,))
    one.worker.tell(News([a_pick('i')]))
    running.start()
    running.join(10)
    one._broker.hand_on()

    assert not running.is_alive()
    assert other.told() == ['i']
