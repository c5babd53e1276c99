"""Deadlines, and calls that are given up at their deadline."""

import functools
import os
import threading
import weakref

import pytest

from nova_sched import remote
from tests.builders.services import no_thread
from tests.builders.services import wait_for


def test_deadline_returns_remaining_seconds():
    now = [100]
    made = remote.Deadline(5, clock=lambda: now[0])
    assert made.left() == 5
    now[0] = 107
    assert made.left() == -2


@pytest.mark.parametrize('error', [ZeroDivisionError, TimeoutError,
                                   SystemExit])
def test_exception_of_function_is_raised(error):
    def fail():
        raise error
    with pytest.raises(error):
        remote.Call(10, fail).result()
def test_hanging_function_is_given_up():
    with pytest.raises(remote.DeadlineExceeded,
                       match=r'^no answer within 0\.1 seconds$'):
        remote.Call(0.1, threading.Event().wait).result()


def test_time_of_call_starts_at_creation():
    go_on = threading.Event()
    calls = [remote.Call(0.1, go_on.wait) for _ in range(5)]
    for call in calls:
        call._end = 0
        with pytest.raises(remote.DeadlineExceeded):
            call.result()
    go_on.set()


def test_finished_call_has_result_after_deadline():
    call = remote.Call(10, lambda: 'result')
    assert call.result() == 'result'
    call._end = 0
    assert call.result() == 'result'


def test_call_runs_in_named_daemon_thread():
    """The end of the process does not wait for it."""
    def seen():
        thread = threading.current_thread()
        return thread.name, thread.daemon

    assert remote.Call(10, seen, name='apart').result() == ('apart', True)


def test_thread_is_reused():
    """A reused thread starts faster."""
    threads, seen = remote._Threads(2), []
    for number in range(3):
        threads.run(lambda: seen.append(threading.get_ident()), 'call')
        wait_for(lambda: threads._waiting == 1)
        assert seen == [seen[0]] * (number + 1)


def test_idle_thread_holds_no_objects():
    class Result:
        pass

    def ask():
        made = Result()
        assert remote.Call(10, lambda: made).result() is made
        return weakref.ref(made)

    found = [ask(), ask()]
    wait_for(lambda: not any(ref() for ref in found))


def test_calls_do_not_wait_for_each_other():
    threads = remote._Threads(2)
    together = threading.Barrier(5, timeout=10)
    for _ in range(2):
        for _ in range(4):
            threads.run(together.wait, 'call')
        together.wait()


def test_idle_threads_are_limited():
    threads, go_on = remote._Threads(2), threading.Event()
    began = [threading.Event() for _ in range(5)]

    def call(event):
        event.set()
        go_on.wait(10)

    for event in began:
        threads.run(functools.partial(call, event), 'one of five')
        assert event.wait(10)
    go_on.set()

    wait_for(lambda: threads._waiting == 2 and not [
        thread for thread in threading.enumerate()
        if thread.name == 'one of five'])


def test_missing_thread_does_not_affect_later_calls():
    """A call without a thread is not run later either."""
    threads, seen = remote._Threads(2), []
    for _ in range(3):
        with no_thread(), pytest.raises(RuntimeError, match='new thread'):
            threads.run(lambda: seen.append('late'), 'call')

    together = threading.Barrier(3, timeout=10)
    for _ in range(3):
        threads.run(lambda: seen.append(together.wait()), 'call')

    wait_for(lambda: len(seen) == 3)
    assert sorted(seen) == [0, 1, 2]


def test_forked_child_has_own_threads():
    """Threads of the parent do not exist in the child."""
    remote.Call(10, bool).result()
    wait_for(lambda: remote._threads._waiting)
    child = os.fork()
    if not child:
        status = 1
        try:
            status = remote.Call(10, lambda: 0).result()
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


class TestEndedBy:
    """Waits of a call can be ended from outside."""

    @staticmethod
    def wait(seconds=None, ended=None):
        """Wait in a block that can be ended; return its Event."""
        ended = ended or threading.Event()
        with remote.ended_by(ended.set, seconds):
            ended.wait(20)
        return ended

    def test_wait_ends_with_call(self):
        ended = threading.Event()
        call = remote.Call(0.1, self.wait, None, ended)

        with pytest.raises(remote.DeadlineExceeded):
            call.result()

        assert call._future.result(20) is ended
        assert ended.is_set()

    def test_late_wait_ends_at_once(self):
        """Like a statement on a connection that came late."""
        go_on, ended = threading.Event(), threading.Event()

        def late():
            go_on.wait(20)
            return self.wait(None, ended)

        call = remote.Call(0.1, late)
        with pytest.raises(remote.DeadlineExceeded):
            call.result()
        go_on.set()

        assert call._future.result(20).is_set()

    def test_wait_outside_of_call_has_timeout(self):
        assert self.wait(0.1).is_set()

    @pytest.mark.parametrize('seconds', [None, 1])
    def test_finished_block_is_left_alone(self, seconds):
        """Its connection may belong to another query by now."""
        ended, over = threading.Event(), threading.Event()

        def within():
            with remote.ended_by(ended.set, seconds):
                pass
            over.wait(20)

        over.set()
        within()
        over.clear()
        with pytest.raises(remote.DeadlineExceeded):
            remote.Call(1, within).result()
        over.set()

        assert not ended.is_set()

    def test_nested_waits_all_end(self):
        ended = [threading.Event(), threading.Event()]

        def within():
            with remote.ended_by(ended[0].set, None):
                self.wait(None, ended[1])

        with pytest.raises(remote.DeadlineExceeded):
            remote.Call(0.1, within).result()

        assert all(event.wait(20) for event in ended)


class TestAside:
    """Functions that run parallel to a block."""

    def test_function_runs_parallel_to_block(self):
        both = threading.Barrier(2, timeout=10)

        def ask():
            with remote.aside(both.wait) as beside:
                return {both.wait(), beside.result()}

        assert ask() == {0, 1}
        assert remote.Call(10, ask).result() == {0, 1}

    def test_function_ends_with_outer_call(self):
        ended = threading.Event()

        def ask():
            with remote.aside(TestEndedBy.wait, None, ended) as beside:
                beside.result()

        with pytest.raises(remote.DeadlineExceeded):
            remote.Call(0.1, ask).result()

        assert ended.wait(20)

    def test_failing_block_gives_function_up(self):
        ended = threading.Event()
        with pytest.raises(KeyError), remote.aside(
                TestEndedBy.wait, None, ended):
            raise KeyError('x')

        assert ended.wait(20)
