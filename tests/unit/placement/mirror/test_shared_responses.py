"""Responses of Placement shared between workers."""

import os
import signal
import time

import pytest

from nova_sched import exception
from nova_sched.placement.mirror import shared_responses
from tests.builders.forks import in_child
from tests.builders.forks import stopped_in
from tests.builders.waiting import in_threads

QUESTION, SOURCE = 'which', 'a placement'
NEVER = -1.0


@pytest.fixture
def answers():
    return shared_responses.SharedResponses((QUESTION,), workers=2)


def test_answer_is_shared_between_workers(answers):
    first = answers.get(QUESTION, SOURCE, lambda: {'a': (1, None)}, NEVER)

    def other():
        taken = answers.get(QUESTION, SOURCE, pytest.fail, NEVER)
        return taken != first

    assert in_child(other) == 0


def test_old_answer_is_replaced(answers):
    first = answers.get(QUESTION, SOURCE, lambda: 'old', NEVER)

    second = answers.get(QUESTION, SOURCE, lambda: 'new', first.began)

    assert (second.value, second.began > first.began) == ('new', True)
    assert answers.get(QUESTION, SOURCE, pytest.fail, first.began) == second


def test_answer_of_other_placement_is_not_used(answers):
    answers.get(QUESTION, SOURCE, lambda: 'its', NEVER)

    assert answers.get(QUESTION, 'another', lambda: 'theirs',
                       NEVER).value == 'theirs'


def test_failure_is_raised_and_not_kept(answers):
    def fail():
        raise exception.PlacementError('It is away.')

    with pytest.raises(exception.PlacementError):
        answers.get(QUESTION, SOURCE, fail, NEVER)

    assert answers.get(QUESTION, SOURCE, lambda: 'there', NEVER).value == (
        'there')


def test_concurrent_queries_wait_for_answer(answers):
    asked, found = [], []

    def ask():
        asked.append(1)
        time.sleep(0.05)
        return 'one'

    in_threads(*[lambda: found.append(
        answers.get(QUESTION, SOURCE, ask, NEVER).value)] * 4)

    assert (asked, found) == ([1], ['one'] * 4)


def test_killed_worker_delays_nobody(answers):
    def killed():
        answers.get(QUESTION, SOURCE, lambda: os.kill(
            os.getpid(), signal.SIGKILL), NEVER)

    assert in_child(killed) == -signal.SIGKILL
    assert answers.get(QUESTION, SOURCE, lambda: 'mine', NEVER).value == (
        'mine')


def test_slow_worker_is_waited_for_briefly(answers, monkeypatch):
    """The watchdog replaces a worker that is stopped."""
    monkeypatch.setattr(shared_responses, 'PATIENCE', 0.05)
    with stopped_in(answers._by_query[QUESTION].locked):
        assert answers.get(QUESTION, SOURCE, lambda: 'mine', NEVER).value == (
            'mine')


def test_answer_may_be_large(answers):
    large = {str(number): number for number in range(100_000)}
    answers.get(QUESTION, SOURCE, lambda: large, NEVER)

    assert answers.get(QUESTION, SOURCE, pytest.fail, NEVER).value == large


def test_single_worker_keeps_no_answer():
    alone = shared_responses.SharedResponses((QUESTION,))

    assert [alone.get(QUESTION, SOURCE, lambda value=value: value,
                      NEVER).value for value in (1, 2)] == [1, 2]
