"""What the workers of a service tell each other, whatever becomes of one."""

import contextlib
import threading
import time

import pytest

from nova_sched import shared_region
from nova_sched.inventory import shared_picks
from nova_sched.inventory.shared_picks import SharedPicks
from tests.builders.forks import in_worker
from tests.builders.forks import stopped_in


@pytest.fixture
def picks():
    return SharedPicks(2, size=1000)


@pytest.fixture
def one(picks):
    return picks.sharing()


@pytest.fixture
def other(picks):
    return picks.sharing()


class TestNews:
    def test_are_told_to_others_once_and_in_order(self, one, other):
        one.tell('a')
        other.tell('b')
        one.tell('c')

        assert (one.news(), other.news()) == (['b'], ['a', 'c'])
        assert (one.news(), other.news()) == ([], [])

    def test_of_before_are_told_to_who_comes_later(self, picks, one):
        one.tell('a')

        assert picks.sharing().news() == ['a']

    def test_are_told_from_process_to_process(self, picks, one):
        @contextlib.contextmanager
        def telling():
            picks.sharing().tell('from the worker')
            yield

        with in_worker(telling):
            assert one.news() == ['from the worker']

    def test_the_oldest_of_which_had_no_room_are_not_told(self, one, other):
        for number in range(100):
            one.tell(str(number).zfill(100))

        found = other.news()
        assert found == [str(number).zfill(100) for number
                         in range(100 - len(found), 100)]
        assert 5 <= len(found) < 10

    def test_are_whole_wherever_they_stand_in_the_ring(self, one, other):
        for size in range(1, 300, 7):
            one.tell('x' * size)

            assert other.news() == ['x' * size]

    def test_that_are_larger_than_the_ring_are_left_out(self, one, other,
                                                        caplog):
        one.tell('a')
        one.tell('x' * 2000)
        one.tell('b')

        assert other.news() == ['a', 'b']
        assert 'cannot be shared with other workers' in caplog.text

    def test_that_cannot_be_pickled_are_left_out(self, one, other, caplog):
        one.tell(threading.Lock())
        one.tell('b')

        assert other.news() == ['b']
        assert 'cannot be shared with other workers' in caplog.text

    def test_between_threads_are_all_told(self, picks, other):
        def tell(number):
            mine = picks.sharing()
            for index in range(5):
                mine.tell((number, index))

        threads = [threading.Thread(target=tell, args=(number,))
                   for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert sorted(other.news()) == [
            (number, index) for number in range(4) for index in range(5)]


class TestAWorkerThatHasTheRing:
    def test_and_is_stopped_is_not_waited_for(self, picks, one, other,
                                              monkeypatch, caplog):
        monkeypatch.setattr(shared_region, 'PATIENCE', 0.01)
        one.tell('before')
        with stopped_in(picks.alone):
            one.tell('what nobody hears')

            assert other.news() == ['before']
        assert 'continuing without it' in caplog.text
        one.tell('after')
        assert other.news() == ['after']


class TestTheExchange:
    def test_is_told_what_workers_tell_and_tells_all_of_them(self, picks, one,
                                                             other):
        exchange = picks.exchange()
        one.tell('a')
        exchange.tell('b')

        assert exchange.news() == ['a']
        assert (one.news(), other.news()) == (['b'], ['a', 'b'])

    def test_waits_for_no_worker(self, picks, one, other):
        exchange = picks.exchange()
        one.tell('before')
        with stopped_in(picks.alone):
            exchange.tell('meanwhile')

            assert exchange.news() == ['before']
            assert other.news() == ['before', 'meanwhile']

    def test_that_takes_the_place_of_another_is_told_of_before(self, picks,
                                                               one):
        one.tell('a')

        assert picks.exchange().news() == ['a']


class TestOneWorker:
    def test_tells_and_waits_for_nobody(self):
        picks = SharedPicks(1, size=1000)
        exchange, worker = picks.exchange(), picks.sharing()
        with picks.turn(0), picks.alone():
            worker.tell('a')

        assert exchange.news() == ['a']
        assert worker.news() == []


def test_what_takes_the_place_of_an_entry_is_told_once(monkeypatch):
    """Though all of it lies where what is being read has lain."""
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


def test_who_reads_while_others_write_is_told_all_or_the_latest(picks):
    """Though the oldest entries make room while they are read."""
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
    """Whether other workers let this one decide by itself."""
    with picks.turn(0) as given:
        return given


class TestTurns:
    def test_are_given_one_worker_at_a_time(self, picks):
        with in_worker(lambda: picks.turn(0)):
            assert not is_given(picks)

    def test_are_given_as_soon_as_the_other_one_has_decided(self, picks):
        assert is_given(picks)
        assert is_given(picks)

    def test_are_as_long_as_the_worker_asks_for(self, picks):
        """Its own threads and other workers wait for the same time."""
        with in_worker(lambda: picks.turn(0.5)):
            begin = time.monotonic()
            assert not is_given(picks)

        assert time.monotonic() - begin > 0.3

    def test_of_several_workers_are_each_waited_for(self, picks, monkeypatch):
        """Though all of them together take longer than one may."""
        monkeypatch.setattr(shared_region, 'PATIENCE', 0.05)

        @contextlib.contextmanager
        def deciding():
            for _ in range(20):
                with picks.turn(5):
                    time.sleep(0.02)
            yield

        given = []
        with in_worker(deciding, lambda: given.append(is_given(picks))):
            assert given
            assert all(given)

    def test_of_a_killed_worker_are_over(self, picks):
        with in_worker(lambda: picks.turn(60)):
            pass

        assert is_given(picks)
