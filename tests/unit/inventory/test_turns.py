"""Turns: one decision after the other, in order, but not behind a slow one."""

import threading
import time

from nova_sched.inventory import turns

LONG = 10


def made():
    lock = threading.RLock()
    return turns.Turns(lock), lock


def start(target, *args):
    thread = threading.Thread(target=target, args=args, daemon=True)
    thread.start()
    return thread


def test_come_one_after_the_other_in_the_order_of_asking():
    """However long the queue is."""
    found, order, inside = made()[0], [], []

    def decide(number):
        with found.one():
            inside.append(number)
            assert len(inside) == 1
            time.sleep(turns.PATIENCE / 4)
            order.append(inside.pop())

    threads = []
    for number in range(10):
        threads.append(start(decide, number))
        time.sleep(0.005)
    for thread in threads:
        thread.join(LONG)

    assert order == list(range(10))


def test_are_not_waited_for_when_one_is_slow():
    found, over = made()[0], threading.Event()

    def decide():
        with found.one():
            over.wait(LONG)

    slow = start(decide)
    time.sleep(0.01)
    begin = time.monotonic()
    for _ in range(5):
        with found.one():
            pass
    over.set()
    slow.join(LONG)

    assert turns.PATIENCE / 2 < time.monotonic() - begin < LONG / 2
    with found.one():
        pass


def test_of_many_instances_may_take_longer():
    found, begun, over = made()[0], threading.Event(), threading.Event()

    def decide():
        with found.one(count=LONG * 100):
            begun.set()
            over.wait(LONG)

    slow = start(decide)
    assert begun.wait(LONG)
    other = start(lambda: found.one().__enter__())
    other.join(3 * turns.PATIENCE)
    waits = other.is_alive()
    over.set()
    slow.join(LONG)
    other.join(LONG)

    assert waits
    assert not other.is_alive()


def test_alone_others_commit_only_when_it_is_over():
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


class TestWaitingForIdle:
    def test_lasts_until_all_that_were_asked_for_are_over(self):
        found, order = made()[0], []

        def decide(number):
            with found.one():
                time.sleep(turns.PATIENCE / 8)
                order.append(number)

        threads = [start(decide, number) for number in range(3)]
        time.sleep(turns.PATIENCE / 16)
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
