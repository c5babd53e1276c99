"""Workers are real processes here, and give signs of life when told to."""

import itertools
import logging
import multiprocessing
import os
import signal
import threading
import types

import pytest

from nova_sched.daemon import systemd
from nova_sched.daemon import watchdog

FORK = multiprocessing.get_context('fork')


class Notifier(systemd.Notifier):
    """Counts what the supervisor is told."""

    def __init__(self, seconds=None):
        super().__init__(None, seconds)
        self.beats = 0

    def alive(self):
        self.beats += 1


class Worker:
    """A process that beats each time it is told to."""

    def __init__(self, dog):
        self._orders, orders = FORK.Pipe()
        self._process = FORK.Process(
            target=self._work, args=(dog, orders), daemon=True)
        self._process.start()
        self.pid = self._process.pid
        self.beat()

    def _work(self, dog, orders):
        while True:
            orders.recv()
            dog.beat()
            orders.send('done')

    def beat(self):
        self._orders.send('beat')
        self._orders.recv()

    def end(self):
        self._process.kill()
        self._process.join()

    @property
    def killed(self):
        self._process.join(20)
        return self._process.exitcode == -signal.SIGKILL

    @property
    def running(self):
        return self._process.is_alive()


@pytest.fixture
def dog():
    return watchdog.Watchdog(Notifier())


@pytest.fixture
def worker(dog):
    worker = Worker(dog)
    yield worker
    worker.end()


def test_a_worker_that_beats_is_left_alone(dog, worker):
    for _ in range(3 * watchdog.SILENT):
        worker.beat()
        dog.look()
    assert worker.running
    assert dog._notifier.beats == 3 * watchdog.SILENT


def test_one_that_is_silent_for_too_long_is_ended_with_a_line(
        dog, worker, caplog):
    os.kill(worker.pid, signal.SIGSTOP)
    for _ in range(watchdog.SILENT):
        dog.look()
    assert worker.running
    assert not caplog.records

    dog.look()

    assert worker.killed
    [line] = caplog.records
    assert line.levelno == logging.ERROR
    assert str(worker.pid) in line.getMessage()
    assert '30 seconds' in line.getMessage()


def test_the_supervisor_hears_nothing_while_somebody_hangs(dog, worker):
    """It ends the service if that cannot be helped."""
    for _ in range(watchdog.SILENT):
        dog.look()
    told = dog._notifier.beats

    dog.look()
    assert dog._notifier.beats == told

    assert worker.killed
    dog.look()
    assert dog._notifier.beats == told + 1


def test_one_that_has_ended_is_forgotten(dog, worker, caplog):
    """Somebody else's process may have its number."""
    dog.look()
    worker.end()
    for _ in range(2 * watchdog.SILENT):
        dog.look()
    assert not caplog.records
    assert dog._silent == {}


def test_somebody_elses_process_is_never_ended(dog, caplog):
    dog._silent[os.getppid()] = 10 ** 6
    dog.look()
    assert not caplog.records


def test_a_parent_that_does_not_read_holds_nobody_up(dog):
    for _ in range(10 ** 5):
        dog.beat()
    assert dog._heard() == {os.getpid()}


def test_it_beats_from_a_thread_while_that_is_true():
    dog, others = watchdog.Watchdog(Notifier(0.2)), threading.enumerate()
    stopped, asked = threading.Event(), threading.Semaphore(0)
    answers = iter([False, False, True])

    def alive():
        assert not dog._heard()
        asked.release()
        answer = next(answers)
        if answer:
            stopped.set()
        return answer

    dog.beat_while(alive, stopped)
    for _ in range(3):
        assert asked.acquire(timeout=20)
    for thread in threading.enumerate():
        if thread.name == 'watchdog' and thread not in others:
            thread.join(20)
    assert dog._heard() == {os.getpid()}


def test_it_looks_from_a_thread_until_the_process_ends():
    """Whatever becomes of one look, and the end waits for none."""
    notifier, told = Notifier(0.1), FORK.Event()
    dog, looks = watchdog.Watchdog(notifier), itertools.count()

    def alive():
        if not next(looks):
            raise ZeroDivisionError
        # A process that ends within ``set`` leaves the event locked.
        if not told.is_set():
            told.set()

    def work():
        dog.watch()
        told.wait(20)
    notifier.alive = alive
    process = FORK.Process(target=work, daemon=True)
    process.start()
    process.join(40)

    assert told.is_set()
    assert process.exitcode == 0


def test_what_the_supervisor_says_counts():
    assert watchdog.Watchdog(Notifier(7)).seconds == 7
    assert watchdog.Watchdog(Notifier()).seconds == watchdog.SECONDS


@pytest.fixture
def threads(monkeypatch):
    """Threads run at once, in the one that starts them; their daemon flags.
    """
    flags = []
    monkeypatch.setattr(
        watchdog.threading, 'Thread', lambda target, name, daemon: (
            flags.append(daemon), types.SimpleNamespace(start=target))[1])
    return flags


def test_a_look_that_fails_costs_a_line_and_is_not_the_last(
        threads, caplog):
    looks = iter([ZeroDivisionError, SystemExit])

    def look():
        raise next(looks)
    dog = watchdog.Watchdog(Notifier(0.01))
    dog.look = look
    with pytest.raises(SystemExit):
        dog.watch()
    assert threads == [True]
    [line] = caplog.records
    assert line.getMessage() == 'Looking after the workers failed'
    assert line.exc_info[0] is ZeroDivisionError


def test_a_parent_looks_ten_times_within_the_seconds(
        threads, monkeypatch):
    waits = []

    class Pause:
        def wait(self, seconds):
            waits.append(seconds)
            return len(waits) == 3
    dog, looks = watchdog.Watchdog(Notifier(7)), []
    dog.look = lambda: looks.append(1)
    monkeypatch.setattr(watchdog.threading, 'Event', Pause)
    dog.watch()
    assert waits == [0.7] * 3
    assert len(looks) == 2


def test_a_worker_beats_twice_for_each_look_of_its_parent(threads):
    waits = []

    class Stopped:
        def wait(self, seconds):
            waits.append(seconds)
            return len(waits) == 2
    dog = watchdog.Watchdog(Notifier(7))
    dog.beat_while(lambda: True, Stopped())
    assert waits == [0.35] * 2
    assert threads == [True]


def test_ends_of_the_pipe_hold_nobody_up():
    dog = watchdog.Watchdog(Notifier())
    for end in (dog._reading, dog._writing):
        assert not os.get_blocking(end)
    assert dog._heard() == set()


def test_a_worker_that_cannot_tell_its_parent_says_so_at_debug(dog, caplog):
    caplog.set_level(logging.DEBUG, 'nova_sched')
    with pytest.raises(BlockingIOError):
        while True:
            os.write(dog._writing, b'x' * 4096)
    dog.beat()
    [line] = caplog.messages
    assert line.startswith('The parent is not told of this worker: ')
