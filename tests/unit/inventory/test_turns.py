"""Turns: one decision after the other, in order, but not behind a slow one."""

import threading
import time

import pytest

from nova_sched.inventory import turns
from tests.builders.services import wait_for

LONG = 10


def made():
    lock = threading.RLock()
    return turns.Turns(lock), lock


def start(target, *args):
    thread = threading.Thread(target=target, args=args, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def patient(monkeypatch):
    """Nobody is so slow that others go on without it."""
    monkeypatch.setattr(turns, 'PATIENCE', 99 * LONG)


def test_come_one_after_the_other_in_the_order_of_asking(patient):
    """However long the queue is."""
    found, order, inside = made()[0], [], []
    all_wait = threading.Event()

    def decide(number):
        with found.one():
            inside.append(number)
            assert len(inside) == 1
            all_wait.wait(LONG)
            order.append(inside.pop())

    threads = []
    for number in range(10):
        threads.append(start(decide, number))
        wait_for(lambda behind=number: inside and (
            len(found._queue) == behind))
    all_wait.set()
    for thread in threads:
        thread.join(LONG)

    assert order == list(range(10))


def test_are_not_waited_for_when_one_is_slow():
    found, begun, over = made()[0], threading.Event(), threading.Event()

    def decide():
        with found.one():
            begun.set()
            over.wait(LONG)

    begin = time.monotonic()
    slow = start(decide)
    assert begun.wait(LONG)
    for _ in range(5):
        with found.one():
            pass
    over.set()
    slow.join(LONG)

    assert turns.PATIENCE / 2 < time.monotonic() - begin < LONG / 2
    with found.one():
        pass


@pytest.mark.parametrize('kind', ['one', 'alone'])
def test_are_over_before_others_lose_patience(kind, monkeypatch):
    """For decisions that can go on later."""
    assert turns.PORTION < turns.PATIENCE
    with getattr(made()[0], kind)() as turn:
        monkeypatch.setattr(turns, 'PORTION', LONG)
        assert not turn.is_over()
        monkeypatch.setattr(turns, 'PORTION', 0)
        assert turn.is_over()


def test_alone_others_commit_only_when_it_is_over(monkeypatch):
    monkeypatch.setattr(turns, 'ALONE', LONG)
    found, lock = made()
    order = []

    def commit():
        with lock:
            found.wait_for_alone()
            order.append('commit')

    with found.alone():
        other = start(commit)
        other.join(0.1)
        with lock:
            found.wait_for_alone()
            order.append('alone')
    other.join(LONG)

    assert order == ['alone', 'commit']


def test_alone_one_waits_for_another_that_is(monkeypatch):
    monkeypatch.setattr(turns, 'ALONE', LONG)
    found, _ = made()
    order = []

    def decide():
        with found.alone():
            order.append('second')

    with found.alone():
        other = start(decide)
        other.join(0.1)
        order.append('first')
    other.join(LONG)

    assert order == ['first', 'second']


@pytest.mark.parametrize('other', ['commits', 'decides alone'])
def test_alone_one_that_begins_again_lets_those_that_waited_go_first(
        other, monkeypatch):
    """However soon it does so."""
    monkeypatch.setattr(turns, 'ALONE', LONG)
    found, lock = made()
    order = []

    def wait():
        if other == 'commits':
            with lock:
                found.wait_for_alone()
                order.append('other')
        else:
            with found.alone():
                order.append('other')

    with found.alone():
        waiting = start(wait)
        wait_for(lambda: found._committing or found._next)
    with found.alone():
        order.append('again')
    waiting.join(LONG)

    assert order == ['other', 'again']


@pytest.mark.parametrize(('times', 'factor'), [
    ((), 1), ((1,), 1), ((2,), 2), ((8,), 128)])
def test_alone_one_may_take_twice_as_long_each_further_time(times, factor):
    found, _ = made()

    with found.alone(*times) as turn:
        left = turn.left()

    most = turns.ALONE * factor
    assert most - turns.ALONE / 2 < left <= most


@pytest.mark.parametrize('other', ['commits', 'decides alone'])
def test_alone_one_that_is_slow_is_not_waited_for(other):
    found, lock = made()
    done = []

    def decide():
        if other == 'commits':
            with lock:
                found.wait_for_alone()
        else:
            with found.alone():
                pass
        done.append(other)

    with found.alone():
        start(decide).join(LONG)

    assert done == [other]
    with found.alone():
        pass


class TestWaitingForIdle:
    def test_lasts_until_all_that_were_asked_for_are_over(self, patient):
        found, order, over = made()[0], [], threading.Event()

        def decide(number):
            with found.one():
                over.wait(LONG)
                order.append(number)

        threads = [start(decide, number) for number in range(3)]
        wait_for(lambda: found._holder and len(found._queue) == 2)
        threading.Timer(0.02, over.set).start()
        found.wait_for_idle(LONG)
        assert len(order) == 3
        for thread in threads:
            thread.join(LONG)

    def test_ends_when_it_has_taken_long_enough(self):
        found = made()[0]
        with found.one():
            start(found.wait_for_idle, 0.01).join(LONG)
            begin = time.monotonic()
            found.wait_for_idle(0.01)
        assert time.monotonic() - begin < LONG / 2

    def test_is_over_at_once_when_nobody_decides(self):
        begin = time.monotonic()
        made()[0].wait_for_idle(LONG)
        assert time.monotonic() - begin < LONG / 2
