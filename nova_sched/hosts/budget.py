"""How long the work on a request may take.

A request is charged for the work of the thread that decides it (``charged``).
A loop within a step, over hosts above all, calls ``check`` at each turn, so
that a step which takes long ends within it.
"""

import contextlib
import math
import threading
import time

from oslo_log import log as logging

from nova_sched import exception

LOG = logging.getLogger(__name__)

#: Seconds of the clock after which a step is named in the log, and for which
#: the same step is not named again.
SLOW, SILENCE = 3, 60

#: ``budget``: the Budget that this thread's work is charged to.
_here = threading.local()

#: Step -> when it was named.
_named = {}


class Budget:
    """So many seconds of one thread's work; 0 for any number.

    Only work counts: waiting for a turn, a lock, the database, Placement or
    the network spends nothing of it.

    where: the step, and the index of the instance or None, that ``check``
        names.
    """

    def __init__(self, seconds=0):
        self._seconds, self.where = seconds, ('request', None)
        # When the step that runs is to be named.
        self.slow_at = math.inf
        self._began = time.thread_time()
        # Not before this moment can it be spent: work takes its time.
        self._not_before = time.monotonic() + (seconds or float('inf'))

    def check(self, step=None, index=None):
        """Raise InvalidInput if more has been spent.

        step: name of the step that it was spent in; None for the one of
            ``where``.  index: of the instance that it was for, or None.
        """
        now = time.monotonic()
        if now >= self.slow_at:
            self._name_slow(now)
        if now < self._not_before:
            return
        left = self._began + self._seconds - time.thread_time()
        if left >= 0:
            self._not_before = now + left
            return
        name, index = self.where if step is None else (step, index)
        where = '' if index is None else f' of instance {index + 1}'
        spent = exception.InvalidInput(reason=(
            f'the request took more than the {self._seconds:g} s of '
            f'[nova_sched] request_time_budget, in step {name}{where}; ask '
            'for less at a time, or have the option raised'))
        spent.is_budget_spent = True
        raise spent

    def _name_slow(self, now):
        """Warn once a minute that the step takes long."""
        took = now - self.slow_at + SLOW
        self.slow_at = math.inf
        name, _ = self.where
        if now - _named.get(name, -math.inf) >= SILENCE:
            _named[name] = now
            LOG.warning('%(step)s takes long: %(seconds)d s so far for one '
                        'request, by the clock',
                        {'step': name, 'seconds': took})

    def extend(self, seconds):
        """Have so many more seconds of work."""
        self._began += seconds


@contextlib.contextmanager
def charged(budget):
    """Charge this thread's work in a block to a Budget."""
    before = getattr(_here, 'budget', None)
    _here.budget = budget
    try:
        yield
    finally:
        _here.budget = before


def check(step=None, index=None):
    """Raise InvalidInput if this thread's request has spent its budget.

    The arguments are those of ``Budget.check``.  Does nothing in a thread that
    works on no request.
    """
    budget = getattr(_here, 'budget', None)
    if budget is not None:
        budget.check(step, index)


class Step:
    """Check at the end of a block, a context manager.

    ``check`` names this step in the block.
    name: of the step.  index: of the instance that it is for, or None.
    Raises InvalidInput as of ``Budget.check``.
    """

    __slots__ = ('_before', '_budget', '_where')

    def __init__(self, name, index=None):
        self._where = name, index

    def __enter__(self):
        self._budget = getattr(_here, 'budget', None)
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
    """Do not charge the request for what a block takes."""
    budget, before = getattr(_here, 'budget', None), time.thread_time()
    try:
        yield
    finally:
        if budget is not None:
            budget.extend(time.thread_time() - before)


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
