"""Deadlines, and functions that are given up when theirs is over.

A thread that waits for a hung server cannot be cancelled, but nobody has to
wait for the thread, and what it waits for can be ended (``ended_by``).
"""

from concurrent import futures
import contextlib
import functools
import os
import queue
import threading
import time

from nova_sched import exception
from nova_sched import turns


class DeadlineExceeded(exception.NovaSchedException):
    """A function has not ended in time."""


class Deadline:
    """A moment by which something must be over.

    seconds: from now on.  clock: function that gives seconds.
    """

    def __init__(self, seconds, clock=time.monotonic):
        self._end, self._clock = clock() + seconds, clock

    def left(self):
        """Return the seconds that are left; 0 or less when it is over."""
        return self._end - self._clock()


class _Ends:
    """Functions that end what a thread waits for, as long as it does."""

    def __init__(self):
        self._lock, self._functions, self._over = threading.Lock(), [], False

    @contextlib.contextmanager
    def with_one(self, end):
        """Have one more for a block; it is called now if all is over."""
        with self._lock:
            self._functions.append(end)
            if self._over:
                end()
        try:
            yield
        finally:
            with self._lock:
                self._functions.remove(end)

    def call(self):
        """Call them, and those that come later."""
        with self._lock:
            self._over = True
            for end in self._functions:
                end()


#: ``call``: the Call that runs in a thread; ``ends``: what ends it.
_here = threading.local()


@contextlib.contextmanager
def ended_by(end, seconds):
    """Have a function called when what a block does is given up.

    In a Call that is when the Call is, else after so many seconds; None for
    never.
    end: called in another thread; has this one go on.
    """
    ends, timer = getattr(_here, 'ends', None), None
    if ends is None:
        ends = _Ends()
        if seconds is not None:
            timer = threading.Timer(seconds, ends.call)
            timer.daemon = True
            timer.start()
    try:
        with ends.with_one(end):
            yield
    finally:
        if timer is not None:
            timer.cancel()


class _Threads:
    """Daemon threads; one that has run a function waits for the next.

    To start one costs more than most questions to a database.
    most: how many wait.
    """

    def __init__(self, most):
        self._most = most
        self._forget()
        # A child of this process has none of its threads.
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self):
        self._lock, self._functions = threading.Lock(), queue.SimpleQueue()
        self._waiting = 0

    def run(self, function, name):
        """Run a function in a thread of that name.

        Raises RuntimeError if the system has no thread for it.
        """
        with self._lock:
            if self._waiting:
                self._waiting -= 1
                self._functions.put((function, name))
                return
        threading.Thread(target=self._run, args=([(function, name)],),
                         daemon=True).start()

    def _run(self, first):
        """Run functions, the first of which is in a list alone."""
        function, threading.current_thread().name = first.pop()
        while True:
            function()
            # Nothing of it is held while the thread waits.
            del function
            threading.current_thread().name = 'waiting for a call'
            with self._lock:
                if self._waiting == self._most:
                    return
                self._waiting += 1
            function, threading.current_thread().name = self._functions.get()


#: As many as requests usually ask at the same time.
_threads = _Threads(16)


class Call:
    """A function that runs in a daemon thread, and has so many seconds.

    name: of the thread.
    """

    def __init__(self, seconds, function, *args, name='call'):
        self.function, self._seconds, self._ends = function, seconds, _Ends()
        self._deadline, self._future = Deadline(seconds), futures.Future()
        _threads.run(functools.partial(self._run, *args), name)

    def _run(self, *args):
        _here.call, _here.ends = self, self._ends
        try:
            self._future.set_result(self.function(*args))
        except BaseException as error:
            self._future.set_exception(error)
        finally:
            del _here.call, _here.ends

    def left(self):
        """Return the seconds that it has left; 0 or less when it has none."""
        return self._deadline.left()

    def give_up(self):
        """End what the function waits for, if it has not ended."""
        if not self._future.done():
            self._ends.call()

    def result(self):
        """Return what the function returns, or raise what it raises.

        Raises DeadlineExceeded when it has not ended in time.
        """
        # A TimeoutError of the function's own is what it returns here.
        with contextlib.suppress(futures.TimeoutError), (
                contextlib.nullcontext() if self._future.done()
                else turns.waiting()):
            self._future.exception(max(0, self._deadline.left()))
        if not self._future.done():
            self.give_up()
            raise DeadlineExceeded(f'no answer within {self._seconds} seconds')
        return self._future.result()


@contextlib.contextmanager
def aside(function, *args, name='call'):
    """Run a function in another thread while a block runs: a Call.

    In a Call it has as many seconds as that has left, and is given up with
    it; elsewhere any number.  It is given up if the block ends before it.
    """
    outer = getattr(_here, 'call', None)
    call = Call(threading.TIMEOUT_MAX if outer is None
                else max(outer.left(), 0), function, *args, name=name)
    try:
        with ended_by(call.give_up, None):
            yield call
    finally:
        call.give_up()


def run_within(seconds, function, *args, name='call'):
    """Return what a function returns within so many seconds; see Call."""
    return Call(seconds, function, *args, name=name).result()
