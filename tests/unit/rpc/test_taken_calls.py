"""The table of taken calls that the workers of a service share."""

from concurrent import futures
import functools
import os
import signal
import uuid

import pytest

from nova_sched.rpc import taken_calls
from nova_sched.rpc.taken_calls import Holder
from tests.builders.forks import stopped_in

CALL = 'f2ca1bb6c7e907d06dafe4687e579fce'


@pytest.fixture
def calls():
    return taken_calls.TakenCalls()


class Worker:
    """A forked process that executes orders.

    calls: TakenCalls.
    """

    def __init__(self, calls):
        self._orders, orders = os.pipe()
        results, self._results = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            self._work(calls)
        self._orders, self._results = orders, results

    def _work(self, calls):
        try:
            while order := os.read(self._orders, 1000).decode():
                method, call_id = order.split()
                result = getattr(calls, method)(call_id)
                os.write(self._results, str(result).encode())
        finally:
            os._exit(0)

    def __call__(self, method, call_id=CALL):
        """Call a method of TakenCalls; return its result as text."""
        os.write(self._orders, f'{method} {call_id}'.encode())
        return os.read(self._results, 1000).decode()

    def kill(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = None


@pytest.fixture
def worker(calls):
    """Function that forks a Worker."""
    made = []

    def fork():
        made.append(Worker(calls))
        return made[-1]

    yield fork
    for each in made:
        each.kill()


def test_call_is_taken_once(calls):
    assert calls.take(CALL) is None
    assert calls.take(CALL) is Holder.THIS_WORKER
    calls.answered(CALL)
    assert calls.take(CALL) is Holder.THIS_WORKER
    assert calls.take('another') is None


def test_call_of_another_worker_is_not_taken(calls, worker):
    one, two = worker(), worker()
    assert one('take') == 'None'
    assert two('take') == 'Holder.ANOTHER_WORKER'
    assert one('take') == 'Holder.THIS_WORKER'
    assert calls.take(CALL) is Holder.ANOTHER_WORKER


def test_call_of_a_dead_worker_is_taken_again(calls, worker):
    """Its replacement has another number."""
    one = worker()
    assert one('take') == 'None'
    one.kill()
    two = worker()
    assert two('take', 'another') == 'None'
    assert calls.take(CALL) is None
    assert two('take') == 'Holder.ANOTHER_WORKER'


def test_answered_call_of_a_dead_worker_is_not_taken(calls, worker):
    one = worker()
    one('take')
    one('answered')
    one.kill()
    assert calls.take(CALL) is Holder.ANOTHER_WORKER


def test_only_its_worker_answers_a_call(calls, worker):
    one, two = worker(), worker()
    one('take')
    two('answered')
    one.kill()
    assert two('take') == 'None'


def test_stopped_worker_blocks_no_other(calls, monkeypatch):
    monkeypatch.setattr(taken_calls, '_BUCKETS', 1)
    with stopped_in(calls._region.locked):
        assert calls.take(CALL) is None
        assert calls.take(CALL) is Holder.THIS_WORKER


def test_call_is_kept_for_ten_minutes(calls, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(taken_calls.time, 'monotonic', lambda: now[0])
    assert calls.take(CALL) is None
    now[0] += 599
    assert calls.take(CALL) is Holder.THIS_WORKER
    now[0] += 2
    assert calls.take(CALL) is None
    assert calls.take(CALL) is Holder.THIS_WORKER


def test_oldest_of_17_calls_in_a_bucket_is_replaced(calls, monkeypatch):
    monkeypatch.setattr(taken_calls, '_BUCKETS', 1)
    ids = [uuid.uuid4().hex for _ in range(17)]
    assert [calls.take(each) for each in ids] == [None] * 17
    assert {calls.take(each) for each in ids[1:]} == {Holder.THIS_WORKER}
    assert calls.take(ids[0]) is None


def test_nearly_all_of_sixty_thousand_calls_are_kept(calls):
    """A hundred per second, for ten minutes."""
    ids = [str(number) for number in range(60_000)]
    for each in ids:
        calls.take(each)
    assert sum(calls.take(each) is not None for each in ids) > 59_400


def test_one_of_concurrent_takers_succeeds(calls, worker):
    """Threads of a process, and processes."""
    takers = [calls.take, calls.take, *(
        functools.partial(each, 'take') for each in (worker(), worker()))]
    with futures.ThreadPoolExecutor(len(takers)) as pool:
        for number in range(50):
            results = pool.map(lambda take, number=number: str(
                take(f'call-{number}')), takers)
            assert list(results).count('None') == 1
