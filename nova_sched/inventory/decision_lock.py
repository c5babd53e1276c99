"""Decisions one after the other, none of which waits long for a slow one."""

import collections
import contextlib
import threading
import time

from nova_sched.concurrency import turns

#: Seconds after which a decision of many instances ends its slice, and after
#: which others go on beside a slow decision, or beside one that is repeated
#: because others went on beside it.
SLICE, PATIENCE, LAST_PATIENCE = 0.1, 0.2, 1.0


class Turn:
    """The time in which one request is decided.

    patience: seconds that others wait for it.
    """

    def __init__(self, patience):
        self._patience, self._begun = patience, None

    def begin(self):
        """Start its time."""
        self._begun = time.monotonic()

    def left(self):
        """Return the seconds that others still wait; 0 or less for none."""
        if self._begun is None:
            return self._patience
        return self._begun + self._patience - time.monotonic()

    def is_over(self):
        """Return whether the decision of many instances ends its slice."""
        return time.monotonic() - self._begun >= SLICE


class DecisionLock:
    """The queue of requests to be decided."""

    def __init__(self):
        self._lock = threading.Lock()
        # Those that wait, in order: (Turn, Event); the one that decides.
        self._queue, self._holder = collections.deque(), None

    @contextlib.contextmanager
    def shared(self, patience=None):
        """Decide while nobody else does, except for slow ones: a Turn.

        Its time starts when the block calls ``begin``.
        patience: seconds that others wait for it; None for PATIENCE.
        """
        me = Turn(PATIENCE if patience is None else patience)
        mine = me, threading.Event()
        with self._lock:
            self._queue.append(mine)
        while (left := self._left(mine)) > 0:
            with turns.waiting():
                mine[1].wait(left)
        try:
            yield me
        finally:
            with self._lock:
                if self._holder is me:
                    self._holder = None
                    self._wake_first()

    def _left(self, mine):
        """Return the seconds to wait before the next look; 0 if it is my turn.

        Only the first in the queue looks: each thread that is woken costs the
        others time.
        """
        me, event = mine
        with self._lock:
            event.clear()
            if self._queue[0] is not mine:
                return PATIENCE
            if self._holder is not None and (left := self._holder.left()) > 0:
                return left
            self._queue.popleft()
            self._holder = me
            return 0

    def _wake_first(self):
        if self._queue:
            self._queue[0][1].set()
