"""Threads that take turns to compute, and wait side by side."""

import contextlib
import threading
import time
from unittest import mock
import weakref

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_sched.concurrency import turns

#: Seconds in which something has happened that is to happen.
LONG = 20

#: What a call does, step by step.
STEPS = st.lists(st.sampled_from(
    ['compute', 'wait', 'wait in wait', 'fail']), max_size=4)


@pytest.fixture
def pool():
    made = turns.TurnExecutor(8)
    yield made
    made.shutdown()


class Stage:
    """A call that begins, and ends when it is told so."""

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
    """Nobody goes on beside a call for its taking long."""
    monkeypatch.setattr(turns, 'PATIENCE', 2 * LONG)


@pytest.fixture
def stage(patient):
    """A call that nobody goes on beside."""
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


class TestOneAfterTheOther:
    @pytest.mark.usefixtures('patient')
    def test_calls_begin_in_the_order_in_which_they_came(self, pool):
        begun = []
        calls = [pool.submit(begun.append, number) for number in range(50)]
        for call in calls:
            call.result(LONG)
        assert begun == list(range(50))

    def test_one_computes_and_the_next_one_waits(self, pool, stage):
        call, other = pool.submit(stage), pool.submit(bool, 1)
        assert stage.begun.wait(LONG)
        time.sleep(0.02)
        assert not other.done()
        stage.go_on.set()
        assert (call.result(LONG), other.result(LONG)) == ('done', True)

    @pytest.mark.parametrize('lets_go', [Stage.waiting, Stage.ending])
    def test_others_compute_while_one_waits(self, pool, stage, lets_go):
        call = pool.submit(lets_go, stage)
        assert pool.submit(bool, 1).result(LONG)
        assert not call.done()
        stage.go_on.set()
        assert call.result(LONG) == 'done'

    def test_who_has_waited_goes_on_before_others_begin(self, pool, stage):
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

    def test_who_has_let_go_for_good_needs_no_turn_again(self, pool, stage):
        def ending():
            turns.end_turn()
            with turns.waiting():
                pass
            turns.end_turn()
            return 'ended'

        ended = pool.submit(ending)
        pool.submit(stage)
        assert ended.result(LONG) == 'ended'

    @given(st.lists(STEPS, min_size=1, max_size=12))
    def test_at_most_one_computes_and_all_calls_end(self, calls):
        computing, pool = [], turns.TurnExecutor(3)

        def compute():
            computing.append(1)
            time.sleep(0.0002)
            assert len(computing) == 1
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

        with mock.patch.object(turns, 'PATIENCE', 2 * LONG):
            submitted = [(steps, pool.submit(work, steps)) for steps in calls]
            results = [(steps, call.exception(LONG))
                       for steps, call in submitted]
        pool.shutdown()
        for steps, error in results:
            assert isinstance(error, ValueError if 'fail' in steps
                              else type(None)), error

    @given(st.lists(STEPS, min_size=1, max_size=12))
    def test_all_calls_end_though_turns_are_over_at_once(self, calls):
        """One that has no turn any more queues for another one."""
        pool = turns.TurnExecutor(3)

        def work(steps):
            for step in steps:
                with contextlib.ExitStack() as stack:
                    if step != 'compute':
                        stack.enter_context(turns.waiting())
                    time.sleep(0.0003)
            return steps

        with mock.patch.object(turns, 'PATIENCE', 0.0001):
            submitted = [(steps, pool.submit(work, steps)) for steps in calls]
            for steps, call in submitted:
                assert call.result(LONG) == steps
        pool.shutdown()

    def test_one_may_begin_before_those_that_came_first(self, pool, stage):
        begun = []
        pool.submit(stage)
        assert stage.begun.wait(LONG)
        calls = [pool.submit(begun.append, 'call'),
                 pool.submit_first(begun.append, 'ping')]
        stage.go_on.set()
        for call in calls:
            call.result(LONG)
        assert begun == ['ping', 'call']

    def test_a_call_knows_how_long_it_has_waited_to_begin(self, pool, stage):
        pool.submit(stage)
        waited = pool.submit(turns.waited)
        time.sleep(0.05)
        stage.go_on.set()
        assert 0.05 <= waited.result(LONG) < LONG
        until(lambda: is_idle(pool))
        assert pool.submit(turns.waited).result(LONG) < 0.05
        assert turns.waited() == 0


class TestOneThatTakesLong:
    @pytest.fixture
    def stage(self, monkeypatch):
        monkeypatch.setattr(turns, 'PATIENCE', 0.01)
        made = Stage()
        yield made
        made.go_on.set()

    def test_is_not_waited_for(self, pool, stage):
        call = pool.submit(stage)
        assert [pool.submit(bool, 1).result(LONG) for _ in range(3)]
        assert not call.done()

    def test_is_not_waited_for_by_those_who_go_on(self, pool, stage):
        waited = threading.Event()

        def waiting():
            with turns.waiting():
                assert waited.wait(LONG)
            return 'went on'

        call = pool.submit(waiting)
        slow = pool.submit(stage)
        assert stage.begun.wait(LONG)
        waited.set()
        assert call.result(LONG) == 'went on'
        assert not slow.done()

    def test_waits_for_its_turn_when_it_goes_on(self, pool, stage,
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

    def test_is_not_waited_for_by_one_that_found_no_thread(self, stage):
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
    def test_there_are_no_more_than_it_may_have(self, stage):
        pool = turns.TurnExecutor(2)
        waiting = [pool.submit(stage.waiting) for _ in range(5)]
        until(lambda: pool._working == 2)
        time.sleep(0.02)
        assert len(pool._threads) == pool._working == 2
        stage.go_on.set()
        assert [call.result(LONG) for call in waiting] == ['done'] * 5
        pool.shutdown()

    @pytest.mark.usefixtures('patient')
    def test_one_is_enough_for_calls_that_wait_for_nothing(self, pool):
        for call in [pool.submit(bool, 1) for _ in range(20)]:
            call.result(LONG)
        until(lambda: is_idle(pool))
        for _ in range(5):
            pool.submit(bool, 1).result(LONG)
            until(lambda: is_idle(pool))
        assert len(pool._threads) == 1

    def test_keep_nothing_of_a_call_that_is_over(self, pool):
        class Message:
            pass

        message = Message()
        kept = weakref.ref(message)
        pool.submit(vars, message).result(LONG)
        del message
        until(lambda: kept() is None)

    def test_keep_nothing_of_a_call_that_failed(self, pool):
        class Message:
            def fail(self):
                raise ValueError

        message = Message()
        kept = weakref.ref(message)
        pool.submit(message.fail).exception(LONG)
        del message
        until(lambda: kept() is None)

    def test_calls_wait_for_those_that_there_are(self, pool, stage,
                                                 monkeypatch):
        first = pool.submit(stage.waiting)
        assert stage.begun.wait(LONG)
        monkeypatch.setattr(threading.Thread, 'start', mock.Mock(
            side_effect=RuntimeError("can't start new thread")))
        second = pool.submit(bool, 1)
        stage.go_on.set()
        assert first.result(LONG) == 'done'
        assert second.result(LONG)

    def test_a_call_is_refused_where_there_is_none(self, pool, monkeypatch):
        start = threading.Thread.start
        monkeypatch.setattr(threading.Thread, 'start', mock.Mock(
            side_effect=RuntimeError("can't start new thread")))
        with pytest.raises(RuntimeError, match='no thread for a call'):
            pool.submit(bool, 1)
        monkeypatch.setattr(threading.Thread, 'start', start)
        monkeypatch.setattr(pool, '_ask_again', 0)
        assert pool.submit(bool, 2).result(LONG)

    def test_there_is_none_before_the_first_call(self):
        before = threading.active_count()
        turns.TurnExecutor(4)
        assert threading.active_count() <= before

    @pytest.mark.parametrize('error', [ValueError, SystemExit])
    def test_go_on_after_any_error(self, pool, error):
        def fail():
            raise error('no')

        assert isinstance(pool.submit(fail).exception(LONG), error)
        assert pool.submit(bool, 1).result(LONG)

    def test_of_somebody_else_have_no_turn(self):
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

    def test_takes_no_call_any_more(self, pool):
        pool.shutdown()
        with pytest.raises(RuntimeError, match='after a shutdown'):
            pool.submit(bool)

    def test_gives_up_what_has_not_begun_if_told_to(self, pool, stage):
        call, other = pool.submit(stage), pool.submit(bool, 1)
        assert stage.begun.wait(LONG)
        pool.shutdown(wait=False, cancel_futures=True)
        stage.go_on.set()
        assert call.result(LONG) == 'done'
        assert other.cancelled()
