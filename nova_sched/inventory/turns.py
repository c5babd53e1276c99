"""Decisions one after the other, without waiting long for a slow one."""

import collections
import contextlib
import threading
import time

#: Seconds after which a decision of many instances lets the others go first,
#: that one decision may take before they go on without it, and that it may
#: take alone, the first time, before they commit again.
PORTION, PATIENCE, ALONE = 0.1, 0.2, 0.5


class Turn:
    """A decision under way: until when the others wait for it."""

    def __init__(self):
        self.begun = self.until = 0.0

    def begin(self, patience):
        self.begun = time.monotonic()
        self.until = self.begun + patience

    def left(self):
        """Seconds that the others wait yet: 0 or less when it is slow."""
        return self.until - time.monotonic()

    def is_over(self):
        """Whether a decision that can go on later should let others go first.
        """
        return time.monotonic() - self.begun >= PORTION


class Turns:
    """Whose turn it is to decide.

    lock: RLock under which decisions are committed.
    """

    def __init__(self, lock):
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        # Who waits, in order: (Turn, Event); who decides.
        self._queue = collections.deque()
        self._holder = None
        # Who decides alone, if any, and its thread: others commit behind it.
        self._alone, self._alone_thread = None, None
        # Who is to decide alone next, in order; how many wait to commit.
        self._next, self._committing = collections.deque(), 0
        self._over = threading.Condition(lock)

    @contextlib.contextmanager
    def one(self):
        """Decide while nobody else does, but for those that are slow: Turn.
        """
        me = Turn()
        mine = me, threading.Event()
        with self._lock:
            self._queue.append(mine)
        while (left := self._left(mine)) > 0:
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
        """Seconds to wait at most before asking again; 0 when it is my turn.

        Who comes first in the queue is not told so, because each thread that
        is woken costs the others time: it finds out when it has waited.
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

    def wait_for_idle(self, seconds):
        """Return when nobody decides or waits, or so much later."""
        with self._lock:
            self._idle.wait_for(
                lambda: self._holder is None and not self._queue, seconds)

    def _wake_first(self):
        if self._queue:
            self._queue[0][1].set()

    @contextlib.contextmanager
    def alone(self, times=1):
        """Decide while nobody else may commit, unless it is slow: Turn.

        times: which time the same request does so. It may take twice as long
        each time: one that is just too slow would lose every time.
        """
        me = Turn()
        with self._over:
            self._next.append(me)
            try:
                self._wait_for(lambda: self._may_be_alone(me))
            finally:
                self._next.remove(me)
                self._over.notify_all()
            self._alone, self._alone_thread = me, threading.get_ident()
            me.begin(ALONE * 2 ** (times - 1))
        try:
            yield me
        finally:
            with self._over:
                if self._alone is me:
                    self._alone = self._alone_thread = None
                    self._over.notify_all()

    def wait_for_alone(self):
        """Return when no other thread decides alone; with the lock held.

        One that is slow is not waited for: others commit, and it may have to
        decide once more.
        """
        me = threading.get_ident()
        if self._alone_thread == me or self._alone_is_over():
            return
        self._committing += 1
        try:
            self._wait_for(self._alone_is_over)
        finally:
            self._committing -= 1
            if not self._committing:
                self._over.notify_all()

    def _alone_is_over(self):
        return self._alone is None or self._alone.left() <= 0

    def _may_be_alone(self, me):
        """Whether all that waited for who was alone have had their turn.

        Whoever ends and begins again would get the lock before they wake.
        """
        return (self._alone_is_over() and not self._committing
                and self._next[0] is me)

    def _wait_for(self, is_over):
        while not is_over():
            # Its time may have run out since: then nobody might tell.
            self._over.wait(None if self._alone is None
                            else max(self._alone.left(), 0.01))
