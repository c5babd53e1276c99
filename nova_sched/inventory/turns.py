"""Decisions one after the other, without waiting long for a slow one."""

import collections
import contextlib
import threading
import time

#: Seconds that one decision may take before the others go on without it, and
#: more for each instance.
PATIENCE, PER_INSTANCE = 0.2, 0.01


class Turns:
    """Whose turn it is to decide.

    lock: RLock under which decisions are committed.
    """

    def __init__(self, lock):
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        # Who waits, in order; who decides, and until when that is not slow.
        self._queue = collections.deque()
        self._holder, self._until = None, 0.0
        # The thread that decides alone, if any: others commit behind it.
        self._alone, self._over = None, threading.Condition(lock)

    @contextlib.contextmanager
    def one(self, count=1):
        """Decide while nobody else does, but for those that are slow.

        count: of instances to decide about.
        """
        me = threading.Event()
        with self._lock:
            self._queue.append(me)
        while (left := self._left(me, count)) != 0:
            me.wait(left)
        try:
            yield
        finally:
            with self._lock:
                if self._holder is me:
                    self._holder = None
                    self._wake_first()
                    if not self._queue:
                        self._idle.notify_all()

    def _left(self, me, count):
        """Seconds to wait at most before asking again; 0 when it is my turn.

        Who comes first in the queue is not told so, because each thread that
        is woken costs the others time: it finds out when it has waited.
        """
        with self._lock:
            me.clear()
            if self._queue[0] is not me:
                return PATIENCE
            now = time.monotonic()
            if self._holder is not None and now < self._until:
                return self._until - now
            self._queue.popleft()
            self._holder = me
            self._until = now + PATIENCE + PER_INSTANCE * count
            return 0

    def wait_for_idle(self, seconds):
        """Return when nobody decides or waits, or so much later."""
        with self._lock:
            self._idle.wait_for(
                lambda: self._holder is None and not self._queue, seconds)

    def _wake_first(self):
        if self._queue:
            self._queue[0].set()

    @contextlib.contextmanager
    def alone(self):
        """Decide while nobody else may commit."""
        with self._over:
            while self._alone is not None:
                self._over.wait()
            self._alone = threading.get_ident()
        try:
            yield
        finally:
            with self._over:
                self._alone = None
                self._over.notify_all()

    def wait_for_alone(self):
        """Return when no other thread decides alone; with the lock held."""
        while self._alone not in (None, threading.get_ident()):
            self._over.wait()
