"""The watchdog, with real worker processes that beat on order."""

import logging
import multiprocessing
import os
import signal

import pytest

from nova_sched.daemon import systemd
from nova_sched.daemon import watchdog

FORK = multiprocessing.get_context('fork')


class Notifier(systemd.Notifier):
    """Counts heartbeats to systemd."""

    def __init__(self, seconds=None):
        super().__init__(None, seconds)
        self.beats = 0

    def alive(self):
        self.beats += 1


class Worker:
    """A process that beats on each order."""

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


def test_beating_worker_is_left_alone(dog, worker):
    for _ in range(3 * watchdog.SILENT):
        worker.beat()
        dog.check()
    assert worker.running
    assert dog._notifier.beats == 3 * watchdog.SILENT


def test_silent_worker_is_killed_with_a_line(dog, worker, caplog):
    """systemd gets no heartbeat then, so that it can end the service."""
    os.kill(worker.pid, signal.SIGSTOP)
    for _ in range(watchdog.SILENT):
        dog.check()
    assert worker.running
    assert not caplog.records
    beats = dog._notifier.beats

    dog.check()

    assert worker.killed
    assert dog._notifier.beats == beats
    [line] = caplog.records
    assert line.levelno == logging.ERROR
    assert line.getMessage().startswith(
        f'Worker {worker.pid} sent no heartbeat for 30 seconds')
    dog.check()
    assert dog._notifier.beats == beats + 1


def test_only_living_workers_are_killed(dog, worker, caplog):
    """The process id of an ended worker may be reused."""
    dog.check()
    worker.end()
    dog._silent[os.getppid()] = 10 ** 6
    for _ in range(2 * watchdog.SILENT):
        dog.check()
    assert not caplog.records
    assert dog._silent == {}


def test_full_pipe_blocks_no_worker(dog, caplog):
    caplog.set_level(logging.DEBUG, 'nova_sched')
    assert dog._read_beats() == set()
    while not caplog.messages:
        dog.beat()
    assert caplog.messages[0].startswith('Cannot send a heartbeat to the ma')
    assert dog._read_beats() == {os.getpid()}


def test_seconds_are_those_of_systemd():
    assert watchdog.Watchdog(Notifier(7)).seconds == 7
    assert watchdog.Watchdog(Notifier()).seconds == watchdog.SECONDS


class Pause:
    """An Event that records waits, and is set at the third."""

    def __init__(self):
        self.waits = []

    def wait(self, seconds):
        self.waits.append(seconds)
        return len(self.waits) == 3


@pytest.fixture
def pause(monkeypatch):
    """A Pause; threads run at once, in the thread that starts them."""
    made = Pause()
    monkeypatch.setattr(watchdog.threading, 'Event', lambda: made)
    monkeypatch.setattr(watchdog.threads, 'start',
                        lambda name, function: function())
    return made


def test_master_checks_ten_times_within_the_seconds(pause, caplog):
    """A failing check is logged, and the next one follows."""
    dog = watchdog.Watchdog(Notifier(7))
    errors = [ZeroDivisionError, None]

    def check():
        if error := errors.pop(0):
            raise error
    dog.check = check
    dog.watch()
    assert pause.waits == [0.7] * 3
    assert errors == []
    [line] = caplog.records
    assert line.getMessage() == 'Checking the workers failed'
    assert line.exc_info[0] is ZeroDivisionError


def test_worker_beats_twice_for_each_check_while_it_is_alive(pause):
    dog, beats = watchdog.Watchdog(Notifier(7)), []
    states = [False, True, False]

    def alive():
        beats.append(dog._read_beats())
        return states.pop(0)
    dog.beat_while(alive, pause)
    assert pause.waits == [0.35] * 3
    assert beats == [set(), set(), {os.getpid()}]
