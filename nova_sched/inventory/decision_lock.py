"""Serialized decisions; a slow decision delays the others only briefly."""

import collections
import contextlib
import threading
import time

from nova_sched.concurrency import turns

#: Times in seconds: SLICE, after which a decision of many instances releases
#: the lock; PATIENCE, for which the next request waits for the holder of the
#: lock; LAST_PATIENCE, the same for a holder that decides a second time, after
#: a conflict.
SLICE, PATIENCE, LAST_PATIENCE = 0.1, 0.2, 1.0


class Hold:
    """One hold of the decision lock, for (a slice of) one request.

    patience: seconds for which the next request waits for it.
    """

    def __init__(self, patience):
        self._patience, self._begun = patience, None

    def begin(self):
        """Start the clock."""
        self._begun = time.monotonic()

    def patience_left(self):
        """Return the seconds for which the next request still waits.

        Zero or less if it no longer waits.
        """
        if self._begun is None:
            return self._patience
        return self._begun + self._patience - time.monotonic()

    def slice_expired(self):
        """Return whether a decision of many instances must end its slice."""
        return time.monotonic() - self._begun >= SLICE


class DecisionLock:
    """A queue of requests that are decided one after the other."""

    def __init__(self):
        self._lock = threading.Lock()
        # Waiting requests in order, (Hold, Event); the Hold that decides.
        self._queue, self._holder = collections.deque(), None

    @contextlib.contextmanager
    def acquire(self, patience):
        """Hold the lock for a block that decides a request; yield its Hold.

        The next request waits for at most ``patience`` seconds after the block
        calls ``begin``, then decides in parallel.
        """
        hold = Hold(patience)
        waiter = hold, threading.Event()
        with self._lock:
            self._queue.append(waiter)
        while (seconds := self._seconds_to_wait(waiter)) > 0:
            with turns.waiting():
                waiter[1].wait(seconds)
        try:
            yield hold
        finally:
            with self._lock:
                if self._holder is hold:
                    self._holder = None
                    if self._queue:
                        self._queue[0][1].set()

    def _seconds_to_wait(self, waiter):
        """Return the seconds to wait before the next check; 0 to decide.

        Only the first in the queue is signalled, as each woken thread costs
        the others time; the others poll every PATIENCE seconds.
        """
        hold, event = waiter
        with self._lock:
            event.clear()
            if self._queue[0] is not waiter:
                return PATIENCE
            if self._holder is not None and (
                    left := self._holder.patience_left()) > 0:
                return left
            self._queue.popleft()
            self._holder = hold
            return 0
