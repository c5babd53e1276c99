"""Decisions one after the other, none of which waits long for a slow one."""

import collections
import contextlib
import threading
import time

from nova_sched import turns

#: Seconds after which a decision of many instances lets the others go first,
#: after which the others go on beside a slow one, and for which nobody else
#: commits beside an exclusive one, the first time.
PORTION, PATIENCE, EXCLUSIVE = 0.1, 0.2, 0.5


class Turn:
    """The time that the others give to a decision under way."""

    def __init__(self):
        self.begun = self.until = 0.0

    def begin(self, patience):
        self.begun = time.monotonic()
        self.until = self.begun + patience

    def left(self):
        """Return the seconds that others still wait; 0 or less if it is slow.
        """
        return self.until - time.monotonic()

    def is_over(self):
        """Return whether a decision that can go on later lets others go first.
        """
        return time.monotonic() - self.begun >= PORTION


class DecisionLock:
    """The queue of requests to be decided.

    lock: RLock under which decisions are committed.
    """

    def __init__(self, lock):
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        # Those who wait, in order: (Turn, Event); the one who decides.
        self._queue = collections.deque()
        self._holder = None
        # The one who decides exclusively, and its thread: others commit
        # behind it.
        self._exclusive, self._exclusive_thread = None, None
        # Those who do so next, in order; how many wait to commit.
        self._next, self._committing = collections.deque(), 0
        self._over = threading.Condition(lock)

    @contextlib.contextmanager
    def shared(self):
        """Decide while nobody else does, except for slow ones: a Turn."""
        me = Turn()
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
                    if not self._queue:
                        self._idle.notify_all()

    def _left(self, mine):
        """Return the seconds to wait before the next look; 0 if it is my turn.

        The first in the queue finds out when it has waited: each thread that
        is woken costs the others time.
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
            me.begin(PATIENCE)
            return 0

    def wait_idle(self, seconds):
        """Wait until nobody decides or waits, for so long at most."""
        with self._lock:
            self._idle.wait_for(
                lambda: self._holder is None and not self._queue, seconds)

    def _wake_first(self):
        if self._queue:
            self._queue[0][1].set()

    @contextlib.contextmanager
    def exclusive(self, times=1):
        """Decide while nobody else commits, unless it is slow: a Turn.

        times: how many times the same request does so, this one included.
        It may take twice as long each time: one that is just too slow would
        lose every time.
        """
        me = Turn()
        with self._over:
            self._next.append(me)
            try:
                self._wait_for(lambda: self._may_be_exclusive(me))
            finally:
                self._next.remove(me)
                self._over.notify_all()
            self._exclusive, self._exclusive_thread = me, threading.get_ident()
            me.begin(EXCLUSIVE * 2 ** (times - 1))
        try:
            yield me
        finally:
            with self._over:
                if self._exclusive is me:
                    self._exclusive = self._exclusive_thread = None
                    self._over.notify_all()

    def wait_for_exclusive(self):
        """Wait until no other thread decides exclusively; lock held.

        Not for a slow one: others commit, and it may be decided once more.
        """
        me = threading.get_ident()
        if self._exclusive_thread == me or self._exclusive_is_over():
            return
        self._committing += 1
        try:
            self._wait_for(self._exclusive_is_over)
        finally:
            self._committing -= 1
            if not self._committing:
                self._over.notify_all()

    def _exclusive_is_over(self):
        return self._exclusive is None or self._exclusive.left() <= 0

    def _may_be_exclusive(self, me):
        """Return whether all who waited to commit have done so.

        Whoever ends and begins again would get the lock before they wake.
        """
        return (self._exclusive_is_over() and not self._committing
                and self._next[0] is me)

    def _wait_for(self, is_over):
        while not is_over():
            # Its time may run out without anybody telling.
            self._over.wait(None if self._exclusive is None
                            else max(self._exclusive.left(), 0.01))
