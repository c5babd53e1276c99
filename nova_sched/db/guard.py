"""Asking a database that may not answer: waited for once, then probed.

A question that is not answered in time is given up.  From then on nobody
waits, until a probe in the background finds that the database answers again.
"""

import contextlib
import functools
import threading
import time

from oslo_log import log as logging

from nova_sched import deadline
from nova_sched import exception
from nova_sched.db import engine

LOG = logging.getLogger(__name__)

#: Seconds between two probes of a database that does not answer, and the
#: longest interval for one that answers nothing but probes.
PROBE_INTERVAL = 5
MAX_PROBE_INTERVAL = 60


class Guard:
    """Questions to one database, passed on while it answers.

    name: of the database in the log.  what: is read of it, in the log.
    probe: function that returns if the database can be asked, and raises
        DatabaseUnavailable if not.
    timeout: seconds that an answer may take.
    """

    def __init__(self, name, what, probe, timeout):
        self.name, self._what = name, what
        self._probe, self._timeout = probe, timeout
        self._lock, self._closed = threading.Lock(), threading.Event()
        #: Why the database is not asked, in words; None while it is.
        self.down = None
        self._interval, self._up_since = PROBE_INTERVAL, None
        # Names of the questions whose failure is logged already.
        self._failing = set()

    def close(self):
        """End the probes."""
        self._closed.set()

    def ask(self, question):
        """Call a function in a thread of its own: a deadline.Call.

        Raises DatabaseUnavailable while the database does not answer.
        """
        down = self.down
        if down is not None:
            raise exception.DatabaseUnavailable(down)
        return deadline.Call(self._timeout, question, name=f'ask {self.name}')

    def answer(self, call):
        """Return what a question comes to.

        Raises DatabaseUnavailable; after that the database is not asked
        until a probe succeeds.  StatementFailed is of that question alone.
        """
        try:
            result = call.result()
            self._failing.discard(_name(call.function))
            return result
        except engine.StatementFailed as error:
            failed = error
        except deadline.DeadlineExceeded as error:
            reason = str(error)
            self._give_up('Timeout getting', reason)
            raise exception.DatabaseUnavailable(reason) from None
        except exception.DatabaseUnavailable as error:
            reason = str(error)
            self._give_up('Failed to get', reason)
            raise exception.DatabaseUnavailable(reason) from None
        self.log_failure(call.function, failed)
        raise failed

    def log_failure(self, question, error):
        """Log what a question fails with, once until it is answered.

        With a traceback, unless it is a DatabaseUnavailable.
        """
        name = _name(question)
        with self._lock:
            if name in self._failing:
                return
            self._failing.add(name)
        expected = isinstance(error, exception.DatabaseUnavailable)
        LOG.log(logging.WARNING if expected else logging.ERROR,
                'Failed to get %(what)s for %(name)s; the next line about '
                '%(question)s will be after it has worked again: %(error)s', {
                    'what': self._what, 'name': self.name,
                    'question': name,
                    'error': error if expected else repr(error)},
                exc_info=None if expected else error)

    def _give_up(self, trouble, reason):
        with self._lock:
            if self.down is not None or self._closed.is_set():
                return
            self.down = reason
            self._interval = self._next_interval()
        LOG.warning('%(trouble)s %(what)s for %(name)s, whose database is not '
                    'asked again until it answers: %(reason)s', {
                        'trouble': trouble, 'what': self._what,
                        'name': self.name, 'reason': reason})
        threading.Thread(target=self._probe_until_up, daemon=True,
                         name=f'probe {self.name}').start()

    def _next_interval(self):
        """Return the seconds between probes.

        More of them where the database failed soon after a good probe.
        """
        if self._up_since is None or (
                time.monotonic() - self._up_since
                > self._timeout + self._interval):
            return PROBE_INTERVAL
        return min(2 * self._interval, MAX_PROBE_INTERVAL)

    def _probe_until_up(self):
        while not self._closed.wait(self._interval):
            try:
                self._probe()
            except exception.DatabaseUnavailable as error:
                LOG.debug('%s: %s', self.name, error)
                continue
            with self._lock:
                self.down, self._up_since = None, time.monotonic()
            LOG.info('The database for %s answers again', self.name)
            return


def _name(question):
    """Return the name of a question in the log, however it is wrapped."""
    while isinstance(question, functools.partial):
        question = question.func
    return getattr(question, '__qualname__', repr(question))


def answers(questions):
    """Ask several databases at the same time.

    questions: list of (key, Guard, function).
    Returns a dict key -> result, without those that do not answer or fail,
    which is logged.
    """
    calls, found = [], {}
    for key, guard, question in questions:
        # The guard has logged why it does not ask.
        with contextlib.suppress(exception.DatabaseUnavailable):
            calls.append((key, guard, guard.ask(question)))
    for key, guard, call in calls:
        try:
            found[key] = guard.answer(call)
        except exception.DatabaseUnavailable:
            # The guard has logged it.
            continue
        except Exception as exc:
            error = exc
        else:
            continue
        guard.log_failure(call.function, error)
    return found


def asking(guard, function):
    """Return a function that asks one database through its guard."""
    @functools.wraps(function)
    def ask(*args):
        return guard.answer(guard.ask(functools.partial(function, *args)))
    return ask
