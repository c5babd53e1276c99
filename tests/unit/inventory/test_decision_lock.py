"""Turns: one decision after the other, in order, but not behind a slow one."""

import threading
import time

import pytest

from nova_sched.inventory import decision_lock
from tests.builders.services import wait_for

LONG = 10


def made():
    return decision_lock.DecisionLock()


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
    found, order, inside = made(), [], []
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
    found, begun, over = made(), threading.Event(), threading.Event()

    def decide():
        with found.shared() as turn:
            turn.begin()
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


def test_a_slice_is_over_after_its_time(monkeypatch):
    with made().shared() as turn:
        turn.begin()
        monkeypatch.setattr(decision_lock, 'SLICE', LONG)
        assert not turn.is_over()
        monkeypatch.setattr(decision_lock, 'SLICE', 0)
        assert turn.is_over()
