"""Answers of Placement that several workers take."""

import os
import signal
import threading
import time

import pytest

from nova_sched import exception
from nova_sched.placement.mirror.shared_answers import SharedAnswers

QUESTION, SOURCE = 'which', 'a placement'
NEVER = -1.0


@pytest.fixture
def answers():
    return SharedAnswers((QUESTION,), workers=2)


def in_child(function):
    """Call a function in a forked process; its exit status."""
    pid = os.fork()
    if not pid:
        try:
            os._exit(function())
        except BaseException:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_what_one_worker_was_answered_another_takes(answers):
    first = answers.get(QUESTION, SOURCE, lambda: {'a': (1, None)}, NEVER)

    def other():
        taken = answers.get(QUESTION, SOURCE, pytest.fail, NEVER)
        return int(taken != first)

    assert in_child(other) == 0


def test_what_is_too_old_is_asked_anew(answers):
    first = answers.get(QUESTION, SOURCE, lambda: 'old', NEVER)

    second = answers.get(QUESTION, SOURCE, lambda: 'new', first.began)

    assert (second.value, second.began > first.began) == ('new', True)
    assert answers.get(QUESTION, SOURCE, pytest.fail,
                       first.began) == second


def test_the_answer_of_another_placement_is_not_taken(answers):
    answers.get(QUESTION, SOURCE, lambda: 'its', NEVER)

    assert answers.get(QUESTION, 'another', lambda: 'theirs',
                       NEVER).value == 'theirs'


def test_a_failure_is_raised_and_not_kept(answers):
    def fail():
        raise exception.PlacementError('It is away.')

    with pytest.raises(exception.PlacementError):
        answers.get(QUESTION, SOURCE, fail, NEVER)

    assert answers.get(QUESTION, SOURCE, lambda: 'there', NEVER).value == (
        'there')


def test_those_that_ask_meanwhile_wait_for_the_answer(answers):
    asked, found = [], []

    def ask():
        asked.append(1)
        time.sleep(0.05)
        return 'one'

    threads = [threading.Thread(target=lambda: found.append(
        answers.get(QUESTION, SOURCE, ask, NEVER).value)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (asked, found) == ([1], ['one'] * 4)


def test_a_worker_that_is_killed_while_it_asks_holds_up_nobody(answers):
    def killed():
        answers.get(QUESTION, SOURCE, lambda: os.kill(
            os.getpid(), signal.SIGKILL), NEVER)

    assert in_child(killed) == -signal.SIGKILL
    assert answers.get(QUESTION, SOURCE, lambda: 'mine', NEVER).value == (
        'mine')


def test_an_answer_that_was_half_written_is_none(answers, monkeypatch):
    """A worker that is killed then leaves what another one cannot take."""
    answers.get(QUESTION, SOURCE, lambda: 'whole', NEVER)
    write = os.pwrite

    def killed(file, data, at):
        write(file, data[:1], at)
        os.kill(os.getpid(), signal.SIGKILL)

    def other():
        monkeypatch.setattr(os, 'pwrite', killed)
        answers.get(QUESTION, SOURCE, lambda: 'half', time.monotonic())

    assert in_child(other) == -signal.SIGKILL
    assert answers.get(QUESTION, SOURCE, lambda: 'mine', NEVER).value == (
        'mine')


def test_an_answer_may_be_large(answers):
    large = {str(number): number for number in range(100_000)}
    answers.get(QUESTION, SOURCE, lambda: large, NEVER)

    assert answers.get(QUESTION, SOURCE, pytest.fail, NEVER).value == large


def test_a_single_worker_keeps_none():
    alone = SharedAnswers((QUESTION,))

    assert [alone.get(QUESTION, SOURCE, lambda value=value: value,
                      NEVER).value for value in (1, 2)] == [1, 2]
