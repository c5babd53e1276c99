"""Turns: one decision after the other, in order, but not behind a slow one."""

import threading
import time

import pytest

from nova_sched.inventory import decision_lock
from tests.builders.services import wait_for

LONG = 10


def made():
    lock = threading.RLock()
    return decision_lock.DecisionLock(lock), lock


def start(target, *args):
    thread = threading.Thread(target=target, args=args, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def patient(monkeypatch):
    """Nobody is so slow that others go on without it."""
    monkeypatch.setattr(decision_lock, 'PATIENCE', 99 * LONG)


def test_come_one_after_the_other_in_the_order_of_asking(patient):
    """However long the queue is."""
    found, order, inside = made()[0], [], []
    all_wait = threading.Event()

    def decide(number):
        with found.shared():
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
        with found.shared():
            begun.set()
            over.wait(LONG)

    begin = time.monotonic()
    slow = start(decide)
    assert begun.wait(LONG)
    for _ in range(5):
        with found.shared():
            pass
    over.set()
    slow.join(LONG)

    assert decision_lock.PATIENCE / 2 < time.monotonic() - begin < LONG / 2
    with found.shared():
        pass


@pytest.mark.parametrize('kind', ['shared', 'exclusive'])
def test_are_over_before_others_lose_patience(kind, monkeypatch):
    """For decisions that can go on later."""
    assert decision_lock.PORTION < decision_lock.PATIENCE
    with getattr(made()[0], kind)() as turn:
        monkeypatch.setattr(decision_lock, 'PORTION', LONG)
        assert not turn.is_over()
        monkeypatch.setattr(decision_lock, 'PORTION', 0)
        assert turn.is_over()


def test_alone_others_commit_only_when_it_is_over(monkeypatch):
    monkeypatch.setattr(decision_lock, 'EXCLUSIVE', LONG)
    found, lock = made()
    order = []

    def commit():
        with lock:
            found.wait_for_exclusive()
            order.append('commit')

    with found.exclusive():
        other = start(commit)
        other.join(0.1)
        with lock:
            found.wait_for_exclusive()
            order.append('exclusive')
    other.join(LONG)

    assert order == ['exclusive', 'commit']


def test_alone_one_waits_for_another_that_is(monkeypatch):
    monkeypatch.setattr(decision_lock, 'EXCLUSIVE', LONG)
    found, _ = made()
    order = []

    def decide():
        with found.exclusive():
            order.append('second')

    with found.exclusive():
        other = start(decide)
        other.join(0.1)
        order.append('first')
    other.join(LONG)

    assert order == ['first', 'second']


@pytest.mark.parametrize('other', ['commits', 'decides alone'])
def test_alone_one_that_begins_again_lets_those_that_waited_go_first(
        other, monkeypatch):
    """However soon it does so."""
    monkeypatch.setattr(decision_lock, 'EXCLUSIVE', LONG)
    found, lock = made()
    order = []

    def wait():
        if other == 'commits':
            with lock:
                found.wait_for_exclusive()
                order.append('other')
        else:
            with found.exclusive():
                order.append('other')

    with found.exclusive():
        waiting = start(wait)
        wait_for(lambda: found._committing or found._next)
    with found.exclusive():
        order.append('again')
    waiting.join(LONG)

    assert order == ['other', 'again']


@pytest.mark.parametrize(('times', 'factor'), [
    ((), 1), ((1,), 1), ((2,), 2), ((8,), 128)])
def test_alone_one_may_take_twice_as_long_each_further_time(times, factor):
    found, _ = made()

    with found.exclusive(*times) as turn:
        left = turn.left()

    most = decision_lock.EXCLUSIVE * factor
    assert most - decision_lock.EXCLUSIVE / 2 < left <= most


@pytest.mark.parametrize('other', ['commits', 'decides alone'])
def test_alone_one_that_is_slow_is_not_waited_for(other):
    found, lock = made()
    done = []

    def decide():
        if other == 'commits':
            with lock:
                found.wait_for_exclusive()
        else:
            with found.exclusive():
                pass
        done.append(other)

    with found.exclusive():
        start(decide).join(LONG)

    assert done == [other]
    with found.exclusive():
        pass


class TestWaitingForIdle:
    def test_lasts_until_all_that_were_asked_for_are_over(self, patient):
        found, order, over = made()[0], [], threading.Event()

        def decide(number):
            with found.shared():
                over.wait(LONG)
                order.append(number)

        threads = [start(decide, number) for number in range(3)]
        wait_for(lambda: found._holder and len(found._queue) == 2)
        threading.Timer(0.02, over.set).start()
        found.wait_idle(LONG)
        assert len(order) == 3
        for thread in threads:
            thread.join(LONG)

    def test_ends_when_it_has_taken_long_enough(self):
        found = made()[0]
        with found.shared():
            start(found.wait_idle, 0.01).join(LONG)
            begin = time.monotonic()
            found.wait_idle(0.01)
        assert time.monotonic() - begin < LONG / 2

    def test_is_over_at_once_when_nobody_decides(self):
        begin = time.monotonic()
        made()[0].wait_idle(LONG)
        assert time.monotonic() - begin < LONG / 2
