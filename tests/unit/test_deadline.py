"""Deadlines, and functions that are given up when theirs is over."""

import threading

import pytest

from nova_sched import deadline


def test_a_deadline_tells_the_seconds_that_are_left():
    now = [100]
    made = deadline.Deadline(5, clock=lambda: now[0])
    assert made.left() == 5
    now[0] = 107
    assert made.left() == -2


def test_a_function_that_ends_in_time_has_its_result():
    assert deadline.run_within(10, lambda number: number + 1, 1) == 2


@pytest.mark.parametrize('error', [ZeroDivisionError, TimeoutError,
                                   SystemExit])
def test_what_a_function_raises_is_raised_to_who_waits(error):
    def fail():
        raise error
    with pytest.raises(error):
        deadline.run_within(10, fail)


def test_a_function_that_hangs_is_given_up():
    with pytest.raises(deadline.DeadlineExceeded,
                       match=r'^no answer within 0\.1 seconds$'):
        deadline.run_within(0.1, threading.Event().wait)


def test_the_time_of_a_call_runs_from_when_it_is_made():
    """Of several, each has its seconds beside the others."""
    go_on = threading.Event()
    calls = [deadline.Call(0.1, go_on.wait) for _ in range(5)]
    for call in calls:
        call._deadline = deadline.Deadline(-1)
        with pytest.raises(deadline.DeadlineExceeded):
            call.result()
    go_on.set()


def test_a_call_that_has_ended_has_its_result_even_late():
    call = deadline.Call(10, lambda: 'result')
    assert call.result() == 'result'
    call._deadline = deadline.Deadline(-1)
    assert call.result() == 'result'


def test_a_call_runs_in_a_daemon_thread_of_its_name():
    """Nobody waits for it, not even the end of the process."""
    thread = deadline.run_within(10, threading.current_thread, name='apart')
    assert thread.name == 'apart'
    assert thread.daemon
