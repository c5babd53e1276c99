"""How long the work on a request may take.

A request is charged for its own thread's work (``Budget``).  What is looped
over within a step, hosts above all, calls ``check`` at each turn, so that a
step which takes long ends within it.
"""

import contextlib
import threading
import time

from nova_sched import exception

_working = threading.local()


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
        spent = exception.InvalidInput(reason=(
            f'the request took more than the {self._seconds:g} s of '
            f'[nova_sched] request_time_budget, in step {step}{where}; ask '
            'for less at a time, or have the option raised'))
        spent.is_budget_spent = True
        raise spent

    @contextlib.contextmanager
    def not_spent(self):
        """Do not charge the request for what a block takes."""
        before = time.thread_time()
        try:
            yield
        finally:
            self._began += time.thread_time() - before

    def step(self, name, index=None):
        """Check at the end of a block, and where ``check`` is called in it.

        A context manager.  Arguments, and what is raised, as of
        ``Budget.check``.
        """
        return _Step(self, name, index)


class _Step:
    """A class, for there are some twenty steps in a request."""

    __slots__ = ('_before', '_budget', '_index', '_name')

    def __init__(self, budget, name, index):
        self._budget, self._name, self._index = budget, name, index

    def check(self):
        self._budget.check(self._name, self._index)

    def __enter__(self):
        self._before = getattr(_working, 'check', None)
        _working.check = self.check

    def __exit__(self, kind, *exc_info):
        _working.check = self._before
        if kind is None:
            self.check()


def check():
    """Raise InvalidInput if this thread's request has spent its budget.

    Does nothing outside of a ``Budget.step``.
    """
    ask = getattr(_working, 'check', None)
    if ask is not None:
        ask()


class CheckedList(list):
    """A list that a rule goes through for as long as the request may go on.
    """

    def __iter__(self):
        return checked(super().__iter__())


def checked(items):
    """Yield items for as long as the request may go on."""
    for item in items:
        check()
        yield item
