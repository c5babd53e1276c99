"""Waiting threads share a query."""

from concurrent import futures
import threading

import pytest

from nova_sched import exception
from nova_sched import single_flight
from nova_sched.placement.adapter import PlacementUnreachable
from nova_sched.service_adapter import FailureReason
from nova_sched.single_flight import SingleFlight
from tests.builders.waiting import until

LATE = PlacementUnreachable(FailureReason.TOO_LATE, 'after 30 seconds')


class Placement:
    """Responds on request with the number of earlier queries.

    begun: started queries in order.
    """

    def __init__(self):
        self.begun, self._gates, self._lock = [], {}, threading.Lock()

    def ask(self, question, failure=None):
        with self._lock:
            number = len(self.begun)
            self.begun.append(question)
            gate = self._gates.setdefault((question, number),
                                          threading.Event())
        assert gate.wait(60)
        if failure is not None:
            raise failure
        return question, number

    def answer(self, number):
        until(lambda: len(self.begun) > number, f'question {number}')
        self._gates[self.begun[number], number].set()


@pytest.fixture
def scene():
    with futures.ThreadPoolExecutor(64) as pool:
        yield Scene(pool)
class Scene:
    def __init__(self, pool):
        self._pool = pool
        self.flights, self.placement = SingleFlight(), Placement()
        self._asked = 0

    def ask(self, question, **kwargs):
        """Send a query in a thread; return a Future when it waits or runs."""
        self._asked += 1
        future = self._pool.submit(
            self.flights.get, question,
            lambda: self.placement.ask(question, **kwargs))
        until(lambda: self._waiting() + len(self.placement.begun)
              == self._asked, 'it to wait, or to be under way')
        return future

    def _waiting(self):
        return sum(flight.count for flight in list(
            self.flights._waiting.values()))


def test_waiting_calls_share_answer(scene):
    for number in range(single_flight.MOST):
        scene.ask(f'other {number}')
    crowd = [scene.ask('q') for _ in range(30)]

    for number in range(single_flight.MOST + 1):
        scene.placement.answer(number)

    assert {future.result() for future in crowd} == {('q', single_flight.MOST)}
    assert scene.placement.begun.count('q') == 1


def test_call_during_flight_gets_next_answer(scene):
    """The first answer may be older than the second call."""
    first, second = scene.ask('q'), scene.ask('q')
    scene.placement.answer(0)
    scene.placement.answer(1)

    assert first.result() == ('q', 0)
    assert second.result() == ('q', 1)


def test_flights_are_limited_and_start_in_order(scene):
    asked = [scene.ask(question) for question in 'abcdc']

    assert scene.placement.begun == ['a', 'b']
    scene.placement.answer(1)
    until(lambda: scene.placement.begun == ['a', 'b', 'c'], 'the third')
    for number in (0, 2, 3):
        scene.placement.answer(number)

    assert [future.result()[0] for future in asked] == list('abcdc')
    assert scene.placement.begun == ['a', 'b', 'c', 'd']


def test_one_flight_per_key(scene):
    """Other keys go first."""
    asked = [scene.ask(question) for question in 'aab']

    assert scene.placement.begun == ['a', 'b']
    for number in range(3):
        scene.placement.answer(number)
    assert [future.result()[0] for future in asked] == list('aab')


def test_failure_is_shared(scene):
    scene.ask('a')
    scene.ask('b')
    crowd = [scene.ask('q', failure=exception.PlacementError('no'))
             for _ in range(3)]
    for number in range(3):
        scene.placement.answer(number)

    errors = [future.exception() for future in crowd]
    assert [str(error) for error in errors] == ['no'] * 3
    # Each exception has its own traceback.
    assert len({id(error) for error in errors}) == 3
    assert SingleFlight().get('q', lambda: 7) == 7


def test_timeout_fails_all_waiting_calls(scene):
    """Each would wait as long."""
    first = scene.ask('a', failure=LATE)
    second = scene.ask('b')
    others = [scene.ask(question) for question in 'cdec']

    scene.placement.answer(0)

    for future in (first, *others):
        with pytest.raises(PlacementUnreachable):
            future.result()
    scene.placement.answer(1)
    assert second.result() == ('b', 1)
    assert scene.placement.begun == ['a', 'b']
    assert scene.flights.get('f', lambda: 7) == 7


def test_next_call_leads_after_exit(scene):
    scene.ask('a')
    scene.ask('b')
    leader = scene.ask('q', failure=SystemExit())
    other = scene.ask('q')
    for number in range(4):
        scene.placement.answer(number)

    with pytest.raises(SystemExit):
        leader.result()
    assert other.result() == ('q', 3)


def test_answer_is_newer_than_call():
    flights, lock, count = SingleFlight(), threading.Lock(), [0]

    def ask():
        with lock:
            count[0] += 1
            return count[0]

    def work(number):
        for _ in range(200):
            before = count[0]
            assert flights.get(number % 3, ask) > before

    with futures.ThreadPoolExecutor(16) as pool:
        for future in [pool.submit(work, number) for number in range(16)]:
            future.result()
