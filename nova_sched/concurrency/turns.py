"""A thread pool in which one thread at a time computes.

CPU-bound threads gain nothing under the GIL: they hand it to one another, as
numpy releases it in each operation on more than a few hundred hosts.  In a
busy worker that costs a third of the time.  So a thread of ``TurnExecutor``
holds the turn while it computes.  It releases the turn while it waits for I/O
(``waiting``), and before its call ends if only I/O is left (``end_turn``).
A plug-in's I/O may not be announced: a turn expires after PATIENCE seconds.
"""

import collections
from concurrent import futures
import contextlib
import functools
import queue
import threading
import time

from oslo_log import log as logging

from nova_sched.concurrency import threads

LOG = logging.getLogger(__name__)

#: Seconds after which a turn expires, and another thread may compute as well.
PATIENCE = 0.01

#: ``turn``: the _Turn of the call that this thread executes.
_local = threading.local()


@contextlib.contextmanager
def waiting():
    """Release this thread's turn during a block that waits for I/O.

    Does nothing in a thread without a turn.  Do not hold a lock in the block
    that other threads take during their turns.
    """
    turn = getattr(_local, 'turn', None)
    if turn is None or turn.is_waiting:
        yield
        return
    turn.pause()
    try:
        yield
    finally:
        turn.resume()


def end_turn():
    """Release this thread's turn until the end of its call."""
    turn = getattr(_local, 'turn', None)
    if turn is not None:
        _local.turn = None
        turn.pause()


def waited():
    """Return the seconds from submission to start of this thread's call."""
    turn = getattr(_local, 'turn', None)
    return 0.0 if turn is None else turn.waited


class _Turn:
    """The turn of one call.

    waited: seconds from the call's submission to its start.
    until: when the turn expires, by time.monotonic().
    """

    is_waiting, until = False, 0.0

    def __init__(self, executor, waited):
        self._executor, self.waited, self._next = executor, waited, None

    def begin(self):
        self.until = time.monotonic() + PATIENCE
        if self._next is not None:
            self._next.set()

    def pause(self):
        self.is_waiting = True
        self._executor.release(self)

    def resume(self):
        self._next = threading.Event()
        self._executor.queue_resumed(self)
        self._next.wait()
        self._next, self.is_waiting = None, False


class TurnExecutor(futures.Executor):
    """A pool of threads of which one at a time computes.

    max_workers: maximum number of threads, including waiting ones.
    Calls start in the order of their submission.  A call that has waited for
    I/O resumes before further calls start.
    """

    def __init__(self, max_workers):
        self._max_threads, self._threads = max_workers, []
        self._lock, self._is_shut = threading.Lock(), False
        # The _Turn that computes; turns that resume next; calls that start
        # after them; number of calls that have started and not ended.
        self._holder, self._resuming = None, collections.deque()
        self._calls, self._working = collections.deque(), 0
        # A queue per idle thread for its next call; the thread that became
        # idle last is used first.
        self._idle = []
        self._queued, self._watcher = threading.Event(), None
        self._retry_at = 0.0

    def submit(self, fn, /, *args, **kwargs):
        future = futures.Future()
        with self._lock:
            if self._is_shut:
                raise RuntimeError('the executor is shut down')
            self._calls.append((time.monotonic(), future,
                                functools.partial(fn, *args, **kwargs)))
            self._give_turn()
            if not self._threads:
                self._calls.clear()
                raise RuntimeError('there is no thread for a call')
        return future

    def shutdown(self, wait=True):
        """Refuse further calls, and end when all calls have ended."""
        with self._lock:
            self._is_shut = True
            self._dismiss()
        if wait:
            for thread in self._threads:
                thread.join()

    def release(self, turn):
        """Give the turn to the next call if this turn holds it."""
        with self._lock:
            if self._holder is turn:
                self._holder = None
                self._give_turn()

    def queue_resumed(self, turn):
        """Resume a turn that has waited, before any further call starts."""
        with self._lock:
            self._resuming.append(turn)
            self._give_turn()

    def _give_turn(self):
        """Start or resume the next call if no turn is held; lock held."""
        if self._holder is None:
            if self._resuming:
                self._holder = self._resuming.popleft()
                self._holder.begin()
            elif self._calls and (self._idle or self._add_thread()):
                submitted, future, function = self._calls.popleft()
                self._holder = _Turn(self, time.monotonic() - submitted)
                self._holder.begin()
                self._working += 1
                self._idle.pop().put((self._holder, future, function))
        if self._holder is not None and (self._resuming or self._calls):
            self._queued.set()

    def _add_thread(self):
        """Add an idle thread, and return whether there is one; lock held.

        If the system has no more threads, calls wait for the existing ones,
        and the next attempt is made after a second.
        """
        number, inbox = len(self._threads), queue.SimpleQueue()
        if number == self._max_threads or time.monotonic() < self._retry_at:
            return False
        try:
            if self._watcher is None:
                self._watcher = threads.start('turns', self._expire_turns)
            self._threads.append(threads.start(
                f'call {number}', self._run, inbox))
        except RuntimeError as error:
            self._retry_at = time.monotonic() + 1
            LOG.warning('Only %(number)d of %(most)d threads can be started '
                        'for calls: %(error)s', {
                            'number': number, 'error': error,
                            'most': self._max_threads})
            return False
        self._idle.append(inbox)
        return True

    def _run(self, inbox):
        """Execute calls until a shutdown.

        inbox: queue of (_Turn, Future, function); None ends the thread.
        """
        while (started := inbox.get()) is not None:
            turn, future, function = started
            _local.turn = turn
            execute(future, function)
            _local.turn = None
            # An idle thread must not keep its last call in memory.
            del started, future, function
            self._end_call(turn, inbox)

    def _end_call(self, turn, inbox):
        """End a call; start the next one, in this thread or another.

        turn: of the call that ended.  inbox: queue of this thread.
        """
        with self._lock:
            self._working -= 1
            if self._holder is turn:
                self._holder = None
            self._idle.append(inbox)
            self._give_turn()
            if self._is_shut:
                self._dismiss()

    def _dismiss(self):
        """End the idle threads if no call is queued; lock held."""
        if not self._calls:
            for idle in self._idle:
                idle.put(None)
            self._idle.clear()
            self._queued.set()

    def _expire_turns(self):
        """Expire turns that are held for too long while others queue."""
        while self._queued.wait():
            with self._lock:
                if self._is_shut and not (self._calls or self._working):
                    return
                seconds = self._expire()
            time.sleep(seconds)

    def _expire(self):
        """End an expired turn; return seconds until the next check."""
        if self._holder is None or not (self._resuming or self._calls):
            self._queued.clear()
            return 0
        seconds = self._holder.until - time.monotonic()
        if seconds <= 0:
            self._holder = None
            self._give_turn()
        return max(seconds, 0)


def execute(future, function):
    """Call a function, and set its result or error on a Future."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = function()
    except BaseException as error:
        future.set_exception(error)
        # The error's traceback refers to this frame: avoid a cycle.
        del future, function
    else:
        future.set_result(result)
