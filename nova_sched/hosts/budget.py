"""The time that one request may take of the processor."""

import contextlib
import threading
import time

from nova_sched import exception


class Budget:
    """So many seconds of one thread's work; 0 for any number.

    Only work counts: whoever waits for its turn, a lock, the database,
    Placement or the network spends nothing of it.
    """

    def __init__(self, seconds=0):
        self._seconds, self._thread = seconds, threading.get_ident()
        self._began = time.thread_time()
        # Not before this moment can it be spent: work takes its time.
        self._not_before = time.monotonic() + (seconds or float('inf'))

    def check(self, step, index=None):
        """Raise InvalidInput if more has been spent, up to and in a step.

        step: its name.  index: of the instance that it was for.
        """
        now = time.monotonic()
        # A plug-in's own thread has a clock of its own.
        if (now < self._not_before
                or threading.get_ident() != self._thread):
            return
        left = self._began + self._seconds - time.thread_time()
        if left >= 0:
            self._not_before = now + left
            return
        where = '' if index is None else f' of instance {index + 1}'
        raise exception.InvalidInput(reason=(
            f'the request took more than the {self._seconds:g} s of '
            f'[nova_sched] request_time_budget, in step {step}{where}; ask '
            'for less at a time, or have the option raised'))

    @contextlib.contextmanager
    def not_spent(self):
        """What a block takes is not the request's to pay."""
        before = time.thread_time()
        try:
            yield
        finally:
            self._began += time.thread_time() - before
