"""Daemons that tell each other of picks, on a broker in memory."""

import json
import threading

import pytest

from nova_sched.inventory import peers
from nova_sched.inventory.in_flight import News
from nova_sched.inventory.shared_picks import SharedPicks
from tests.unit.inventory.test_picks_on_wire import a_pick


class Broker:
    """Hands on what is said to all, once it is asked to.

    broken: an error that it has for whoever says something, or None.
    """

    def __init__(self):
        self.daemons, self.said, self.broken = [], [], None

    def say(self, said):
        if self.broken:
            raise self.broken
        self.said.append(json.loads(json.dumps(said)))

    def hand_on(self):
        """Let all hear what was said, and say what they have to."""
        while self.said:
            said = self.said.pop(0)
            for daemon in self.daemons:
                daemon.peers.hear(said)
            for daemon in self.daemons:
                daemon.peers.tell_news()


class Daemon:
    """A worker and its peers."""

    def __init__(self, broker, name, clock):
        picks = SharedPicks(1, size=4 << 20)
        self.worker = picks.sharing()
        self.peers = peers.Peers(name, name, picks.exchange(), broker.say,
                                 clock)
        self._broker = broker
        broker.daemons.append(self)

    def begin(self):
        """Say that it is there."""
        self.peers._tell([])
        self._broker.hand_on()

    def place(self, *keys, forgotten=(), **kwargs):
        self.worker.tell(News([a_pick(key, **kwargs) for key in keys],
                              forgotten=forgotten))
        self.peers.tell_news()
        self._broker.hand_on()

    def told(self):
        """Keys of the picks that its worker was told since the last call."""
        return [placed.key for each in self.worker.news()
                for placed in each.assumed]


@pytest.fixture
def now():
    """[seconds]: the time on the clocks of all daemons."""
    return [20.0]


@pytest.fixture
def broker():
    return Broker()


@pytest.fixture
def daemon(broker, now):
    """Function that makes one more Daemon, which is there."""
    def make(name, begins=True):
        made = Daemon(broker, name, lambda: now[0])
        if begins:
            made.begin()
        return made
    return make


class TestAPick:
    def test_is_told_to_the_workers_of_all_others(self, daemon):
        one, other, third = map(daemon, 'abc')

        one.place('i', 'j')

        assert (one.told(), other.told(), third.told()) == (
            [], ['i', 'j'], ['i', 'j'])

    def test_is_told_as_it_is(self, daemon):
        one, other = map(daemon, 'ab')

        one.place('i', forgotten=[('j', ('h', 'n'), 1.0)])

        [([placed], claimed, forgotten, _)] = other.worker.news()
        assert (placed.place, claimed, forgotten) == (
            ('h', 'n'), [], [('j', ('h', 'n'), 1.0)])

    def test_that_is_claimed_is_told_for_its_server_group_alone(self, daemon):
        one, other = map(daemon, 'ab')

        one.place('i', claiming=True)
        one.place('j', claiming=True, group='g')

        [([placed], claimed, *_)] = other.worker.news()
        assert placed.key == 'j'
        assert claimed == [('j', placed.place, placed.at)]

    def test_is_told_to_nobody_where_nobody_is_heard(self, daemon, broker):
        one = daemon('a')
        one.worker.tell(News([a_pick()]))

        assert not one.peers.tell_news()
        assert not broker.said

    def test_of_many_is_told_in_several_messages(self, daemon, broker):
        one, other = map(daemon, 'ab')
        for number in range(2 * peers.AT_ONCE + 1):
            one.worker.tell(News([a_pick(str(number))]))
        one.peers.tell_news()

        assert [len(said['news']) for said in broker.said] == [
            peers.AT_ONCE, peers.AT_ONCE, 1]
        broker.hand_on()
        assert other.told() == [
            str(number) for number in range(2 * peers.AT_ONCE + 1)]

    def test_that_the_broker_does_not_take_costs_one_line(
            self, daemon, broker, caplog):
        caplog.set_level('INFO')
        one, other = map(daemon, 'ab')
        broker.broken = OSError('no route')
        one.place('i')
        one.place('j')
        broker.broken = None
        one.place('k')

        assert caplog.text.count('not told of picks') == 1
        assert caplog.text.count('told of picks again') == 1
        assert other.told() == ['k']


class TestOneWhoIsNew:
    def test_is_told_what_was_placed_of_late(self, daemon):
        one = daemon('a')
        one.place('i')
        one.place('j', 'k')
        one.place(forgotten=[(key, ('h', 'n'), 12.0625) for key in 'ij'])

        other = daemon('b')

        assert other.told() == ['k']

    def test_is_not_told_what_was_placed_long_ago(self, daemon, now):
        one = daemon('a')
        one.place('i')
        now[0] += peers.OLD

        assert daemon('b').told() == []

    def test_alone_is_told(self, daemon):
        one, other = map(daemon, 'ab')
        one.place('i')
        assert other.told() == ['i']

        third = daemon('c')

        assert (other.told(), third.told()) == ([], ['i'])

    def test_is_one_who_is_heard_again(self, daemon, monkeypatch):
        one, other = map(daemon, 'ab')
        monkeypatch.setattr(peers, 'GONE', -1)
        one.peers._forget_gone()
        assert not one.peers.some
        one.place('i')
        assert other.told() == []

        other.begin()

        assert one.peers.some
        assert other.told() == ['i']


class TestWhatIsSaid:
    def test_in_another_form_does_not_count_and_costs_a_line(
            self, daemon, broker, caplog):
        one, other = map(daemon, 'ab')
        for key in 'ij':
            one.worker.tell(News([a_pick(key)]))
            one.peers.tell_news()
            broker.said[-1]['form'] = peers.FORM + 1
            broker.hand_on()

        assert other.told() == []
        assert caplog.text.count('the same release') == 1

    @pytest.mark.parametrize('seconds', [-61, 61])
    def test_at_another_time_does_not_count(self, daemon, broker, now,
                                            seconds, caplog):
        one, other = map(daemon, 'ab')
        now[0] += 100
        one.worker.tell(News([a_pick()]))
        one.peers.tell_news()
        broker.said[-1]['at'] += seconds
        broker.hand_on()

        assert other.told() == []
        assert f'is {-seconds} seconds old' in caplog.text

    def test_before_it_began_does_not_count_and_costs_no_line(
            self, daemon, broker, now, caplog):
        """A queue that is a stream begins with what was said before."""
        one = daemon('a')
        one.peers._tell([News([a_pick()])])
        now[0] += 100
        other = daemon('b', begins=False)
        broker.hand_on()

        assert other.told() == []
        assert not caplog.text

    @pytest.mark.parametrize('said', [
        None, [], {}, {'author': 'x'},
        {'author': 'x', 'to': None, 'form': peers.FORM, 'host': 'h',
         'at': 'now'},
        {'author': 'x', 'to': None, 'form': peers.FORM, 'host': 'h',
         'at': 20.0, 'news': 5},
        {'author': ['x'], 'to': None, 'form': peers.FORM, 'host': 'h',
         'at': 20.0}])
    def test_and_cannot_be_read_costs_a_line(self, daemon, said, caplog):
        one, other = map(daemon, 'ab')
        other.peers.hear(said)
        other.peers.hear(said)
        one.place('i')

        assert other.told() == ['i']
        assert caplog.text.count('cannot be read') == 1


def test_after_a_stop_what_workers_still_place_is_told(daemon, monkeypatch):
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
