"""Threads that take turns to compute, and wait side by side.

Of threads that compute side by side none gets more done: they hand the
interpreter to one another, and numpy lets go of it in each operation on more
than a few hundred hosts.  In a busy worker that is a third of its time.  So a
thread of ``TurnExecutor`` has the turn while it computes.  It lets others go
on while it waits for an answer (``waiting``), and for good when nothing is
left to be computed (``end_turn``).  What a plug-in waits for may not be known
here: a turn of more than PATIENCE seconds is not waited for.
"""

import collections
from concurrent import futures
import contextlib
import functools
import queue
import threading
import time

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: Seconds after which others go on beside a thread that has the turn.
PATIENCE = 0.01

#: ``turn``: the _Turn of the call that this thread works on.
_here = threading.local()


@contextlib.contextmanager
def waiting():
    """Let others compute while a block waits.

    Does nothing in a thread that has no turn.  Not for a block in which a
    lock is held that others take in their turns.
    """
    turn = getattr(_here, 'turn', None)
    if turn is None or turn.is_waiting:
        yield
        return
    turn.pause()
    try:
        yield
    finally:
        turn.go_on()


def end_turn():
    """Let others compute from now on; what is left of a call is to wait."""
    turn = getattr(_here, 'turn', None)
    if turn is not None:
        _here.turn = None
        turn.pause()


def waited():
    """Return the seconds that this thread's call waited until it began."""
    turn = getattr(_here, 'turn', None)
    return 0.0 if turn is None else turn.waited


class _Turn:
    """The turn of one call.

    waited: seconds from when the call was submitted until now.
    until: when it is over, by time.monotonic().
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
        self._executor.pass_on(self)

    def go_on(self):
        self._next = threading.Event()
        self._executor.queue_first(self)
        self._next.wait()
        self._next, self.is_waiting = None, False


class TurnExecutor(futures.Executor):
    """A pool of threads that take turns.

    max_workers: threads at most, those that wait included.
    Calls begin in the order in which they were submitted.  One that has
    waited for something goes on before others begin.
    """

    def __init__(self, max_workers):
        self._most, self._threads = max_workers, []
        self._lock, self._is_shut = threading.Lock(), False
        # The _Turn that computes; those that go on next; the calls that
        # begin after them; how many calls have begun and not ended.
        self._holder, self._going_on = None, collections.deque()
        self._calls, self._working = collections.deque(), 0
        # By idle thread, where it gets its next call; who worked last is the
        # first to go on.
        self._idle = []
        self._queued, self._watcher = threading.Event(), None
        self._ask_again = 0.0

    def submit(self, fn, /, *args, **kwargs):
        return self._submit(self._calls.append, fn, args, kwargs)

    def submit_first(self, fn, /, *args, **kwargs):
        """As ``submit``, for one that begins before those submitted so far.
        """
        return self._submit(self._calls.appendleft, fn, args, kwargs)

    def _submit(self, queue_up, function, args, kwargs):
        future = futures.Future()
        with self._lock:
            if self._is_shut:
                raise RuntimeError('no call is taken after a shutdown')
            queue_up((time.monotonic(), future,
                      functools.partial(function, *args, **kwargs)))
            self._give_turn()
            if not self._threads:
                self._calls.clear()
                raise RuntimeError('there is no thread for a call')
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        with self._lock:
            self._is_shut = True
            if cancel_futures:
                for _, future, _ in self._calls:
                    future.cancel()
            self._dismiss()
        if wait:
            for thread in self._threads:
                thread.join()

    def pass_on(self, turn):
        """Give the turn to whoever is next, if this is the one that has it.
        """
        with self._lock:
            if self._holder is turn:
                self._holder = None
                self._give_turn()

    def queue_first(self, turn):
        """Have a turn that has waited go on before any call begins."""
        with self._lock:
            self._going_on.append(turn)
            self._give_turn()

    def _give_turn(self):
        """Have the next one compute if nobody does; lock held."""
        if self._holder is None:
            if self._going_on:
                self._holder = self._going_on.popleft()
                self._holder.begin()
            elif self._calls and (self._idle or self._has_one_more()):
                self._idle.pop().put(self._begun())
        if self._holder is not None and (self._going_on or self._calls):
            self._queued.set()

    def _has_one_more(self):
        """Return whether there is one more thread, idle; lock held.

        The system may have none; calls wait for those that there are, and it
        is asked again after a second.
        """
        number, mine = len(self._threads), queue.SimpleQueue()
        if number == self._most or time.monotonic() < self._ask_again:
            return False
        try:
            if self._watcher is None:
                self._watcher = _thread('turns', self._watch)
            self._threads.append(_thread(f'call {number}', self._run, mine))
        except RuntimeError as error:
            self._ask_again = time.monotonic() + 1
            LOG.warning('Calls have %(number)d threads instead of %(most)d: '
                        '%(error)s', {'number': number, 'most': self._most,
                                      'error': error})
            return False
        self._idle.append(mine)
        return True

    def _begun(self):
        """Return the next call with its turn, which has begun; lock held."""
        submitted, future, function = self._calls.popleft()
        self._holder = _Turn(self, time.monotonic() - submitted)
        self._holder.begin()
        self._working += 1
        if self._calls:
            self._queued.set()
        return self._holder, future, function

    def _run(self, mine):
        """Work on calls until a shutdown.

        mine: queue of what ``_begun`` returns; None for the end.
        """
        begun = mine.get()
        while begun is not None:
            turn, future, function = begun
            _here.turn = turn
            _work(future, function)
            _here.turn = None
            # An idle thread keeps nothing of its last call.
            del begun, future, function
            begun = self._next(turn, mine) or mine.get()

    def _next(self, turn, mine):
        """Return the next call, if this thread is to go on with it at once.

        turn: that of the call which this thread has worked on.
        mine: where it gets the next one, if not.
        """
        with self._lock:
            self._working -= 1
            if self._holder is turn:
                self._holder = None
            if self._holder is None and self._calls and not self._going_on:
                return self._begun()
            self._idle.append(mine)
            self._give_turn()
            if self._is_shut:
                self._dismiss()
        return None

    def _dismiss(self):
        """End the idle threads if no call is left for them; lock held."""
        if not self._calls:
            for idle in self._idle:
                idle.put(None)
            self._idle.clear()
            self._queued.set()

    def _watch(self):
        """Have others go on beside a turn that is over."""
        while self._queued.wait():
            with self._lock:
                if self._is_shut and not (self._calls or self._working):
                    return
                left = self._look()
            time.sleep(left)

    def _look(self):
        """Return the seconds until the next look; lock held."""
        if self._holder is None or not (self._going_on or self._calls):
            self._queued.clear()
            return 0
        left = self._holder.until - time.monotonic()
        if left <= 0:
            self._holder = None
            self._give_turn()
        return max(left, 0)


def _thread(name, target, *args):
    """Return a new daemon thread that runs; RuntimeError if there is none."""
    thread = threading.Thread(target=target, args=args, name=name,
                              daemon=True)
    thread.start()
    return thread


def _work(future, function):
    """Have a Future come to what a function comes to."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = function()
    except BaseException as error:
        future.set_exception(error)
        # The error's traceback has this frame.
        del future, function
    else:
        future.set_result(result)
