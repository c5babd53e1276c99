"""Picks shared by the workers of a service, also of killed workers."""

import contextlib
import functools
import threading
import time

import pytest

from nova_sched import shared_region
from nova_sched.inventory import shared_picks
from tests.builders.forks import in_worker
from tests.builders.forks import stopped_in
from tests.builders.waiting import in_threads


@pytest.fixture
def picks():
    return shared_picks.SharedPicks(2, size=1000)


@pytest.fixture
def one(picks):
    return picks.sharing()


@pytest.fixture
def other(picks):
    return picks.sharing()


class Unreadable:
    def __reduce__(self):
        return int, ('x',)


class TestNews:
    def test_news_reach_others_once_and_in_order(self, one, other):
        one.tell('a')
        other.tell('b')
        one.tell('c')

        assert (one.news(), other.news()) == (['b'], ['a', 'c'])
        assert (one.news(), other.news()) == ([], [])

    def test_later_reader_gets_earlier_news(self, picks, one):
        one.tell('a')

        assert picks.sharing().news() == ['a']

    def test_news_cross_processes(self, picks, one):
        @contextlib.contextmanager
        def telling():
            picks.sharing().tell('from the worker')
            yield

        with in_worker(telling):
            assert one.news() == ['from the worker']

    def test_oldest_news_are_overwritten(self, one, other):
        for number in range(100):
            one.tell(str(number).zfill(100))

        found = other.news()
        assert found == [str(number).zfill(100) for number
                         in range(100 - len(found), 100)]
        assert 5 <= len(found) < 10

    def test_news_may_wrap_around_in_ring(self, one, other):
        for size in range(1, 300, 7):
            one.tell('x' * size)

            assert other.news() == ['x' * size]

    @pytest.mark.parametrize('odd', ['x' * 2000, threading.Lock()],
                             ids=['too large', 'no pickle'])
    def test_impossible_news_are_left_out(self, one, other, caplog, odd):
        for news in ('a', odd, 'b'):
            one.tell(news)

        assert other.news() == ['a', 'b']
        assert 'cannot be shared with other workers' in caplog.text

    def test_unreadable_news_are_left_out(self, one, other, caplog):
        """Such as an object of a plug-in that copies, and is not restored."""
        for news in ('a', Unreadable(), 'b'):
            one.tell(news)

        assert other.news() == ['a', 'b']
        assert 'Picks of another worker cannot be read' in caplog.text

    def test_news_of_all_threads_arrive(self, picks, other):
        def tell(number):
            mine = picks.sharing()
            for index in range(5):
                mine.tell((number, index))

        in_threads(*(functools.partial(tell, number) for number in range(4)))

        assert sorted(other.news()) == [
            (number, index) for number in range(4) for index in range(5)]


def test_stopped_lock_holder_is_not_waited_for(picks, one, other,
                                               monkeypatch, caplog):
    monkeypatch.setattr(shared_region, 'PATIENCE', 0.01)
    one.tell('before')
    with stopped_in(picks.exclusive):
        one.tell('what nobody hears')

        assert other.news() == ['before']
    assert 'continuing without it' in caplog.text
    one.tell('after')
    assert other.news() == ['after']


class TestExchange:
    def test_exchange_connects_all_workers(self, picks, one, other):
        exchange = picks.exchange()
        one.tell('a')
        exchange.tell('b')

        assert exchange.news() == ['a']
        assert (one.news(), other.news()) == (['b'], ['a', 'b'])

    def test_exchange_waits_for_no_worker(self, picks, one, other):
        exchange = picks.exchange()
        one.tell('before')
        with stopped_in(picks.exclusive):
            exchange.tell('meanwhile')

            assert exchange.news() == ['before']
            assert other.news() == ['before', 'meanwhile']

    def test_new_exchange_gets_earlier_news(self, picks, one):
        one.tell('a')

        assert picks.exchange().news() == ['a']


def test_single_worker_does_not_wait():
    picks = shared_picks.SharedPicks(1, size=1000)
    exchange, worker = picks.exchange(), picks.sharing()
    with picks.deciding(0), picks.exclusive():
        worker.tell('a')

    assert exchange.news() == ['a']
    assert worker.news() == []


def test_overwriting_entry_is_read_once(monkeypatch):
    """The new entry is where the reader is reading."""
    one = 24 + shared_picks._ENTRY.size
    ring = shared_picks._Ring(4 * one)
    for number in range(4):
        ring.add(b'somebody', b'%24d' % number)
    read = ring._read

    def read_late(*place):
        monkeypatch.setattr(ring, '_read', read)
        for number in range(4, 8):
            ring.add(b'somebody', b'%24d' % number)
        return read(*place)

    monkeypatch.setattr(ring, '_read', read_late)
    found, at = ring.entries(0)
    found += ring.entries(at)[0]
    assert [int(data) for _author, data in found] == [4, 5, 6, 7]


def test_concurrent_reader_gets_whole_latest_entries(picks):
    """Old entries are overwritten during the read."""
    reader, told = picks.exchange(), []

    @contextlib.contextmanager
    def writing():
        writer = picks.sharing()
        for number in range(3000):
            writer.tell((number, 'x' * (number % 90)))
        yield

    with in_worker(writing, meanwhile=lambda: told.extend(reader.news())):
        told.extend(reader.news())

    numbers = [number for number, _ in told]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == 2999
    assert all(len(text) == number % 90 for number, text in told)


def is_given(picks):
    """Return whether this worker may decide alone."""
    with picks.deciding(0) as given:
        return given


class TestTurns:
    def test_one_worker_decides_at_a_time(self, picks):
        with in_worker(lambda: picks.deciding(0)):
            assert not is_given(picks)

    def test_turn_lasts_as_long_as_requested(self, picks):
        """Threads and other workers have the same wait."""
        with in_worker(lambda: picks.deciding(0.5)):
            begin = time.monotonic()
            assert not is_given(picks)

        assert time.monotonic() - begin > 0.3

    def test_each_turn_has_its_own_wait(self, picks, monkeypatch):
        """Although the sum of the turns exceeds the wait for one."""
        monkeypatch.setattr(shared_region, 'PATIENCE', 0.05)

        @contextlib.contextmanager
        def deciding():
            for _ in range(20):
                with picks.deciding(5):
                    time.sleep(0.02)
            yield

        given = []
        with in_worker(deciding, lambda: given.append(is_given(picks))):
            assert given
            assert all(given)
