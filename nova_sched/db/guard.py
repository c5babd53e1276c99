"""Asking a database that may not answer.

A connection that is found dead is made anew at once: the question that found
it is asked once more.  A database that refuses that, too, is left out of this
request, and asked by the next one.

A question that is not answered in time is given up, and so is one that is
refused slowly, as by a host that is switched off.  From then on nobody waits,
until a probe in the background finds that the database answers again.
"""

import contextlib
import functools
import threading
import time

from oslo_log import log as logging

from nova_sched import contact
from nova_sched import deadline
from nova_sched import exception
from nova_sched.db import engine

LOG = logging.getLogger(__name__)

#: Seconds between two probes of a database that does not answer, and the
#: longest interval for one that answers nothing but probes.
PROBE_INTERVAL = 1
MAX_PROBE_INTERVAL = 60

#: Seconds after which a refusal is slow.  A server that is there refuses at
#: once, and no driver takes longer than 10 seconds to connect.
SLOW_REFUSAL = 5


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
        #: Why the database did not answer last, in words; None if it did.
        self.down = None
        #: contact.Contact with it.
        self.contact = contact.Contact()
        #: Whether it hangs: it is not asked then, but probed.
        self.hangs = False
        self._interval, self._up_since = PROBE_INTERVAL, None
        # Names of the questions whose failure is logged already.
        self._failing = set()

    def close(self):
        """End the probes."""
        self._closed.set()

    def ask(self, question):
        """Call a function in another thread: a deadline.Call.

        Raises DatabaseUnavailable while the database hangs.
        """
        down = self.down
        if self.hangs:
            raise exception.DatabaseUnavailable(down)
        return self._call(question, self._timeout)

    def _call(self, question, seconds):
        return deadline.Call(seconds, question, name=f'ask {self.name}')

    def answer(self, call):
        """Return what a question comes to.

        Raises DatabaseUnavailable; if there was no answer in time, or a slow
        refusal, the database is not asked until a probe succeeds.
        StatementFailed is of that question alone.
        """
        try:
            result = self._twice(call)
        except engine.StatementFailed as error:
            failed = error
        except deadline.DeadlineExceeded:
            reason = f'no answer within {self._timeout} seconds'
            self.contact.failed(reason)
            self._give_up(reason)
            raise exception.DatabaseUnavailable(reason) from None
        except exception.DatabaseUnavailable as error:
            self.contact.failed(str(error))
            if self._timeout - call.left() > SLOW_REFUSAL:
                self._give_up(str(error))
            else:
                self._leave_out(str(error))
            raise
        else:
            self._failing.discard(_name(call.function))
            self.contact.answered()
            self._take_back()
            return result
        self.log_failure(call.function, failed)
        raise failed

    def _twice(self, call):
        """Return what a call comes to, at the second try if need be.

        Its time is for both.
        """
        try:
            return call.result()
        except engine.StatementFailed:
            raise
        except exception.DatabaseUnavailable as error:
            LOG.debug('%s is asked again: %s', self.name, error)
        return self._call(call.function, max(call.left(), 0)).result()

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

    def _leave_out(self, reason):
        """Note that the database refused, for this request alone."""
        with self._lock:
            if self.down is not None or self._closed.is_set():
                return
            self.down = reason
        LOG.warning('Failed to get %(what)s for %(name)s; each request asks '
                    'again, and the next line will be when it is answered: '
                    '%(reason)s', {'what': self._what, 'name': self.name,
                                   'reason': reason})

    def _take_back(self):
        """Note that the database answers."""
        if self.down is None:
            return
        with self._lock:
            if self.down is None or self.hangs:
                return
            self.down = None
        LOG.info('The database for %s answers again', self.name)

    def _give_up(self, reason):
        """Ask no more; probe until the database answers."""
        with self._lock:
            if self.hangs or self._closed.is_set():
                return
            before = self.down, self._interval
            self._interval = self._next_interval()
            self.down, self.hangs = reason, True
        try:
            threading.Thread(target=self._probe_until_up, daemon=True,
                             name=f'probe {self.name}').start()
        except RuntimeError as error:
            # Nobody would find that it answers but the next request.
            (self.down, self._interval), self.hangs = before, False
            self._leave_out(f'{reason}, and no probe: {error}')
            return
        LOG.warning('Timeout getting %(what)s for %(name)s, whose database is '
                    'not asked again until it answers: %(reason)s', {
                        'what': self._what, 'name': self.name,
                        'reason': reason})

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
                self._call(self._probe, self._timeout).result()
            except (exception.DatabaseUnavailable,
                    deadline.DeadlineExceeded) as error:
                LOG.debug('%s: %s', self.name, error)
                continue
            except Exception as error:
                self.log_failure(self._probe, error)
                continue
            self._failing.discard(_name(self._probe))
            with self._lock:
                self.hangs, self._up_since = False, time.monotonic()
            self.contact.answered()
            self._take_back()
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
    """Return a function that asks one database through its guard.

    It raises DatabaseUnavailable, also for a statement that failed.
    """
    @functools.wraps(function)
    def ask(*args):
        return begun(guard, functools.partial(function, *args))()
    return ask


def begun(guard, question):
    """Begin to ask; return a function that returns the answer, or raises as
    those of ``asking``.
    """
    call = unavailable = None
    try:
        call = guard.ask(question)
    except exception.DatabaseUnavailable as error:
        unavailable = error

    def answer():
        if unavailable is not None:
            raise unavailable
        try:
            return guard.answer(call)
        except engine.StatementFailed as error:
            # Callers of the service know no other name.
            raise exception.DatabaseUnavailable(str(error)) from error
    return answer
