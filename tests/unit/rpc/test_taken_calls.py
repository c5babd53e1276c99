"""The table of taken calls that the workers of a service share."""

import contextlib
import os
import uuid

import pytest

from nova_sched.rpc import taken_calls
from tests.builders.forks import in_worker
from tests.builders.forks import stopped_in
from tests.builders.waiting import in_threads

CALL = 'f2ca1bb6c7e907d06dafe4687e579fce'


@pytest.fixture
def calls():
    return taken_calls.TakenCalls()


@contextlib.contextmanager
def taking(calls, answers=False):
    """Take the call, and answer it."""
    calls.take(CALL)
    if answers:
        calls.answered(CALL)
    yield


def test_call_is_taken_once(calls):
    assert calls.take(CALL)
    assert not calls.take(CALL)
    calls.answered(CALL)
    assert not calls.take(CALL)
    assert calls.take('another')


def test_call_of_another_worker_is_neither_taken_nor_answered(calls):
    with in_worker(lambda: taking(calls)):
        assert not calls.take(CALL)
        calls.answered(CALL)
    assert calls.take(CALL)


@pytest.mark.parametrize('answers', [False, True])
def test_call_of_dead_worker_is_taken_unless_answered(calls, answers):
    """Though its replacement has the same number."""
    with in_worker(lambda: taking(calls, answers)):
        pass
    assert calls.take(CALL) is not answers


def test_stopped_worker_blocks_no_other(calls, monkeypatch):
    monkeypatch.setattr(taken_calls, '_BUCKETS', 1)
    with stopped_in(calls._region.locked):
        assert calls.take(CALL)
        assert not calls.take(CALL)


def test_call_is_kept_for_ten_minutes(calls, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(taken_calls.time, 'monotonic', lambda: now[0])
    assert calls.take(CALL)
    now[0] += 599
    assert not calls.take(CALL)
    now[0] += 2
    assert calls.take(CALL)
    assert not calls.take(CALL)


def test_oldest_of_17_calls_in_a_bucket_is_replaced(calls, monkeypatch):
    monkeypatch.setattr(taken_calls, '_BUCKETS', 1)
    ids = [uuid.uuid4().hex for _ in range(17)]
    assert [calls.take(each) for each in ids] == [True] * 17
    assert [calls.take(each) for each in ids[1:]] == [False] * 16
    assert calls.take(ids[0])


def test_nearly_all_of_sixty_thousand_calls_are_kept(calls):
    """A hundred per second, for ten minutes."""
    ids = [str(number) for number in range(60_000)]
    for each in ids:
        calls.take(each)
    assert sum(not calls.take(each) for each in ids) > 59_400


def test_one_of_concurrent_takers_succeeds(calls):
    """Threads of a process, and processes."""
    ids, mine = [*map(str, range(3000))], []
    (counts, tell), (begin, go) = os.pipe(), os.pipe()

    def take():
        return [each for each in ids if calls.take(each)]

    @contextlib.contextmanager
    def counting():
        os.read(begin, 1)
        os.write(tell, str(len(take())).encode())
        yield

    with in_worker(counting, lambda: in_threads(
            lambda: os.write(go, b'x'),
            *[lambda: mine.extend(take())] * 2)):
        theirs = int(os.read(counts, 9))

    assert len(mine) == len({*mine}) == len(ids) - theirs
