"""TurnExecutor: one thread at a time computes."""

import threading
import time
from unittest import mock
import weakref

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_sched.concurrency import turns

#: Timeout of waits, in seconds.
LONG = 20

#: The steps of a call.
STEPS = st.lists(st.sampled_from(
    ['compute', 'wait', 'wait in wait', 'fail']), max_size=4)


@pytest.fixture
def pool():
    made = turns.TurnExecutor(8)
    yield made
    made.shutdown()


class Stage:
    """A call that ends when ``go_on`` is set."""

    def __init__(self):
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self):
        self.begun.set()
        assert self.go_on.wait(LONG)
        return 'done'

    def waiting(self):
        with turns.waiting():
            return self()

    def ending(self):
        turns.end_turn()
        return self()


@pytest.fixture
def patient(monkeypatch):
    """Turns do not expire."""
    monkeypatch.setattr(turns, 'PATIENCE', 2 * LONG)


@pytest.fixture
def stage(patient):
    """A call whose turn does not expire."""
    made = Stage()
    yield made
    made.go_on.set()


def is_idle(pool):
    with pool._lock:
        return not pool._working


def until(condition):
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


class TestTurn:
    @pytest.mark.usefixtures('patient')
    def test_calls_start_in_order(self, pool):
        begun = []
        calls = [pool.submit(begun.append, number) for number in range(50)]
        for call in calls:
            call.result(LONG)
        assert begun == list(range(50))

    def test_next_call_waits_for_the_turn(self, pool, stage):
        call, other = pool.submit(stage), pool.submit(bool, 1)
        assert stage.begun.wait(LONG)
        time.sleep(0.02)
        assert not other.done()
        stage.go_on.set()
        assert (call.result(LONG), other.result(LONG)) == ('done', True)

    @pytest.mark.parametrize('release', [Stage.waiting, Stage.ending])
    def test_is_released_while_a_call_waits(self, pool, stage, release):
        call = pool.submit(release, stage)
        assert pool.submit(bool, 1).result(LONG)
        assert not call.done()
        stage.go_on.set()
        assert call.result(LONG) == 'done'

    def test_waiting_call_resumes_before_others_start(self, pool, stage):
        order, waited = [], threading.Event()

        def first():
            with turns.waiting():
                assert waited.wait(LONG)
            order.append('first')

        calls = [pool.submit(first), pool.submit(stage),
                 pool.submit(order.append, 'third')]
        assert stage.begun.wait(LONG)
        waited.set()
        until(lambda: pool._resuming)
        stage.go_on.set()
        for call in calls:
            call.result(LONG)
        assert order == ['first', 'third']

    def test_is_not_needed_after_end_turn(self, pool, stage):
        def ending():
            turns.end_turn()
            with turns.waiting():
                pass
            turns.end_turn()
            return 'ended'

        ended = pool.submit(ending)
        pool.submit(stage)
        assert ended.result(LONG) == 'ended'

    @pytest.mark.parametrize('patience', [2 * LONG, 0.0001])
    @given(calls=st.lists(STEPS, min_size=1, max_size=12))
    def test_belongs_to_one_call_until_it_expires_and_all_calls_end(
            self, patience, calls):
        computing, pool = [], turns.TurnExecutor(3)

        def compute():
            computing.append(1)
            time.sleep(0.0002)
            assert len(computing) == 1 or patience < LONG
            computing.pop()

        def work(steps):
            for step in steps:
                compute()
                if step == 'wait':
                    with turns.waiting():
                        time.sleep(0.0002)
                elif step == 'wait in wait':
                    with turns.waiting(), turns.waiting():
                        time.sleep(0.0001)
                elif step == 'fail':
                    with turns.waiting():
                        raise ValueError(steps)
                compute()
            return steps

        with mock.patch.object(turns, 'PATIENCE', patience):
            submitted = [(steps, pool.submit(work, steps)) for steps in calls]
            results = [(steps, call.exception(LONG))
                       for steps, call in submitted]
        pool.shutdown()
        for steps, error in results:
            assert isinstance(error, ValueError if 'fail' in steps
                              else type(None)), error

    def test_waited_returns_the_time_until_the_start(self, pool, stage):
        pool.submit(stage)
        waited = pool.submit(turns.waited)
        time.sleep(0.05)
        stage.go_on.set()
        assert 0.05 <= waited.result(LONG) < LONG
        until(lambda: is_idle(pool))
        assert pool.submit(turns.waited).result(LONG) < 0.05
        assert turns.waited() == 0


class TestExpiredTurn:
    @pytest.fixture
    def stage(self, monkeypatch):
        monkeypatch.setattr(turns, 'PATIENCE', 0.01)
        made = Stage()
        yield made
        made.go_on.set()

    def test_blocks_neither_new_nor_resuming_calls(self, pool, stage):
        waited = threading.Event()

        def waiting():
            with turns.waiting():
                assert waited.wait(LONG)
            return 'resumed'

        call = pool.submit(waiting)
        slow = pool.submit(stage)
        assert stage.begun.wait(LONG)
        assert [pool.submit(bool, 1).result(LONG) for _ in range(3)]
        waited.set()
        assert call.result(LONG) == 'resumed'
        assert not slow.done()

    def test_call_queues_for_a_turn_after_a_wait(self, pool, stage,
                                                 monkeypatch):
        over, other = threading.Event(), Stage()

        def slow():
            stage()
            with turns.waiting():
                pass
            over.set()

        pool.submit(slow)
        assert pool.submit(bool, 1).result(LONG)
        monkeypatch.setattr(turns, 'PATIENCE', 2 * LONG)
        pool.submit(other)
        assert other.begun.wait(LONG)
        stage.go_on.set()
        assert not over.wait(0.02)
        other.go_on.set()
        assert over.wait(LONG)

    def test_does_not_block_a_call_that_found_no_thread(self, stage):
        pool, waited = turns.TurnExecutor(2), threading.Event()

        def waiting():
            with turns.waiting():
                assert waited.wait(LONG)
            stage()

        ending = Stage()
        first, second = pool.submit(waiting), pool.submit(ending.ending)
        assert ending.begun.wait(LONG)
        third = pool.submit(bool, 1)
        waited.set()
        assert stage.begun.wait(LONG)
        ending.go_on.set()
        assert third.result(LONG)
        assert second.result(LONG) == 'done'
        assert not first.done()
        stage.go_on.set()
        pool.shutdown()


class TestThreads:
    def test_number_is_limited(self, stage):
        pool = turns.TurnExecutor(2)
        waiting = [pool.submit(stage.waiting) for _ in range(5)]
        until(lambda: pool._working == 2)
        time.sleep(0.02)
        assert len(pool._threads) == pool._working == 2
        stage.go_on.set()
        assert [call.result(LONG) for call in waiting] == ['done'] * 5
        pool.shutdown()

    @pytest.mark.usefixtures('patient')
    def test_one_is_enough_for_calls_without_waits(self, pool):
        for call in [pool.submit(bool, 1) for _ in range(20)]:
            call.result(LONG)
        until(lambda: is_idle(pool))
        for _ in range(5):
            pool.submit(bool, 1).result(LONG)
            until(lambda: is_idle(pool))
        assert len(pool._threads) == 1

    @pytest.mark.parametrize('error', [None, ValueError])
    def test_keep_nothing_of_a_finished_call(self, pool, error):
        class Message:
            def process(self):
                if error:
                    raise error

        message = Message()
        kept = weakref.ref(message)
        pool.submit(message.process).exception(LONG)
        del message
        until(lambda: kept() is None)

    def test_calls_wait_for_existing_ones(self, pool, stage, monkeypatch,
                                          caplog):
        first = pool.submit(stage.waiting)
        assert stage.begun.wait(LONG)
        monkeypatch.setattr(threading.Thread, 'start', mock.Mock(
            side_effect=RuntimeError("can't start new thread")))
        second = pool.submit(bool, 1)
        assert 'Only 1 of 8 threads can be started' in caplog.text
        stage.go_on.set()
        assert first.result(LONG) == 'done'
        assert second.result(LONG)

    def test_call_is_refused_without_any(self, pool, monkeypatch):
        start = threading.Thread.start
        monkeypatch.setattr(threading.Thread, 'start', mock.Mock(
            side_effect=RuntimeError("can't start new thread")))
        with pytest.raises(RuntimeError, match='no thread for a call'):
            pool.submit(bool, 1)
        monkeypatch.setattr(threading.Thread, 'start', start)
        monkeypatch.setattr(pool, '_retry_at', 0)
        assert pool.submit(bool, 2).result(LONG)

    @pytest.mark.parametrize('error', [ValueError, SystemExit])
    def test_survive_any_error(self, pool, error):
        def fail():
            raise error('no')

        assert isinstance(pool.submit(fail).exception(LONG), error)
        assert pool.submit(bool, 1).result(LONG)

    def test_outside_the_executor_have_no_turn(self):
        with turns.waiting():
            turns.end_turn()


class TestShutdown:
    def test_waits_for_all_calls_and_ends_all_threads(self):
        stage, before = Stage(), {*threading.enumerate()}
        pool = turns.TurnExecutor(4)
        calls = [pool.submit(stage.waiting), pool.submit(stage),
                 pool.submit(bool, 1)]
        ending = threading.Thread(target=pool.shutdown)
        ending.start()
        until(lambda: pool._is_shut)
        stage.go_on.set()
        ending.join(LONG)
        assert not ending.is_alive()
        assert [call.result(0) for call in calls] == ['done', 'done', True]
        until(lambda: {*threading.enumerate()} <= before)

    def test_refuses_further_calls(self, pool):
        pool.shutdown()
        with pytest.raises(RuntimeError, match='shut down'):
            pool.submit(bool)
