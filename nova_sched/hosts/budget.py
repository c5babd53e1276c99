"""The CPU time budget of a request.

The budget is charged for the CPU time of the thread that decides the request
(``charged``).  Loops, above all loops over hosts, call ``check`` in each
iteration, so that a long step ends when the budget is spent.
"""

import contextlib
import math
import threading
import time

from oslo_log import log as logging

from nova_sched import exception

LOG = logging.getLogger(__name__)

#: Seconds of wall-clock time after which a step is logged as slow, and minimum
#: seconds between two such lines about the same step.
SLOW, SILENCE = 3, 60

#: ``budget``: the Budget that this thread's CPU time is charged to.
_thread_state = threading.local()

#: Step -> time of its last line in the log.
_named = {}


class Budget:
    """A budget of seconds of one thread's CPU time; 0 for unlimited.

    Waiting for a turn, a lock, the database, Placement or the network does not
    count.

    where: the step, and the index of the instance or None, for the text of
        ``check``.
    """

    def __init__(self, seconds=0):
        self._seconds, self.where = seconds, ('request', None)
        # Time at which the running step is logged as slow.
        self.slow_at = math.inf
        self._began = time.thread_time()
        # Earliest time at which it can be spent, since CPU time is at most
        # wall-clock time: most checks need not read the CPU time.
        self._not_before = time.monotonic() + (seconds or float('inf'))

    def check(self, step=None, index=None):
        """Raise InvalidInput if the budget is spent.

        step: name of the step; None for the step of ``where``.
        index: number of the instance, or None.
        """
        now = time.monotonic()
        if now >= self.slow_at:
            self._warn_slow(now)
        if now < self._not_before:
            return
        remaining = self._began + self._seconds - time.thread_time()
        if remaining >= 0:
            self._not_before = now + remaining
            return
        name, index = self.where if step is None else (step, index)
        where = '' if index is None else f' of instance {index + 1}'
        spent = exception.InvalidInput(reason=(
            f'the request took more than the {self._seconds:g} s of '
            f'[nova_sched] request_time_budget, in step {name}{where}; '
            'request less at a time, or have the option raised'))
        spent.is_budget_spent = True
        raise spent

    def _warn_slow(self, now):
        """Warn that the step is slow, at most once a minute."""
        took = now - self.slow_at + SLOW
        self.slow_at = math.inf
        name, _ = self.where
        if now - _named.get(name, -math.inf) >= SILENCE:
            _named[name] = now
            LOG.warning('%(step)s is slow: %(seconds)d s of wall-clock time '
                        'so far for one request',
                        {'step': name, 'seconds': took})


@contextlib.contextmanager
def charged(budget):
    """Charge this thread's CPU time in a block to a Budget."""
    before = getattr(_thread_state, 'budget', None)
    _thread_state.budget = budget
    try:
        yield
    finally:
        _thread_state.budget = before


def check(step=None, index=None):
    """Raise InvalidInput if this thread's request has spent its budget.

    See ``Budget.check``.  Does nothing in a thread without a request.
    """
    budget = getattr(_thread_state, 'budget', None)
    if budget is not None:
        budget.check(step, index)


class Step:
    """A context manager for a step, which checks the budget at its end.

    name: name of the step, which ``check`` uses within the block.
    index: number of the instance, or None.
    Raises InvalidInput as ``Budget.check`` does.
    """

    __slots__ = ('_before', '_budget', '_where')

    def __init__(self, name, index=None):
        self._where = name, index

    def __enter__(self):
        self._budget = getattr(_thread_state, 'budget', None)
        if self._budget is not None:
            self._before = self._budget.where, self._budget.slow_at
            self._budget.where = self._where
            self._budget.slow_at = time.monotonic() + SLOW

    def __exit__(self, kind, *exc_info):
        if self._budget is None:
            return
        try:
            if kind is None:
                self._budget.check(*self._where)
        finally:
            self._budget.where, self._budget.slow_at = self._before


@contextlib.contextmanager
def not_charged():
    """Do not charge the request for a block."""
    budget, before = getattr(_thread_state, 'budget', None), time.thread_time()
    try:
        yield
    finally:
        if budget is not None:
            budget._began += time.thread_time() - before


class CheckedList(list):
    """A list that checks the budget for each item of an iteration."""

    def __iter__(self):
        return checked(super().__iter__())


def checked(items):
    """Yield items, and check the budget before each."""
    for item in items:
        check()
        yield item
