"""Asking a database that may not answer: waited for once, then probed.

A thread that waits for a hung server cannot be cancelled.  So whoever asks
has a thread of its own wait, and gives up after a time; from then on nobody
waits, until a probe in the background finds that the database answers again.
"""

from concurrent import futures
import functools
import threading
import time

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.db import engine

LOG = logging.getLogger(__name__)

#: Seconds between two probes of a database that does not answer, and the
#: most that it comes to for one that answers nothing but probes.
PROBE_INTERVAL = 5
MOST_PROBE_INTERVAL = 60


class Guard:
    """Lets questions through to one database while it answers.

    name: what it is called in the log.  what: that is asked for, too.
    probe: function that returns if the database can be asked, and raises
        DatabaseUnavailable if not.
    timeout: seconds that an answer may take.
    """

    def __init__(self, name, what, probe, timeout):
        self.name, self._what = name, what
        self._probe, self._timeout = probe, timeout
        self._lock, self._closed = threading.Lock(), threading.Event()
        #: Why it is not asked, in words; None while it is.
        self.down = None
        self._interval, self._up_since = PROBE_INTERVAL, None
        # Names of the questions that fail, of which the log tells already.
        self._failing = set()

    def close(self):
        """End the probes."""
        self._closed.set()

    def ask(self, question):
        """Have a function called in a thread of its own: a Future of it.

        While the database does not answer it is not called, and the Future
        holds DatabaseUnavailable.
        """
        future = _Answer(question)
        down = self.down
        if down is not None:
            future.set_exception(exception.DatabaseUnavailable(down))
        else:
            threading.Thread(target=_fulfil, args=(future, question),
                             name=f'ask {self.name}', daemon=True).start()
        return future

    def answer(self, future, asked):
        """What a question asked at ``asked``, time.monotonic(), came to.

        Raises DatabaseUnavailable; after that the database is not asked
        until a probe succeeds.  StatementFailed is of that question alone.
        """
        left = asked + self._timeout - time.monotonic()
        try:
            result = future.result(max(0.0, left))
            self._failing.discard(future.question)
            return result
        except engine.StatementFailed as error:
            failed = error
        except futures.TimeoutError:
            future.cancel()
            reason = f'no answer within {self._timeout} seconds'
            self._give_up('Timeout getting', reason)
            raise exception.DatabaseUnavailable(reason) from None
        except exception.DatabaseUnavailable as error:
            reason = str(error)
            self._give_up('Failed to get', reason)
            raise exception.DatabaseUnavailable(reason) from None
        self.tell(future, failed)
        raise failed

    def tell(self, future, error):
        """Log what a question came to, once until it is answered.

        With a traceback, unless it is a DatabaseUnavailable.
        """
        with self._lock:
            if future.question in self._failing:
                return
            self._failing.add(future.question)
        expected = isinstance(error, exception.DatabaseUnavailable)
        LOG.log(logging.WARNING if expected else logging.ERROR,
                'Failed to get %(what)s for %(name)s; the next line about '
                '%(question)s will be after it has worked again: %(error)s', {
                    'what': self._what, 'name': self.name,
                    'question': future.question,
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
        """Seconds between probes; more if the last good one proved little."""
        if self._up_since is None or (
                time.monotonic() - self._up_since
                > self._timeout + self._interval):
            return PROBE_INTERVAL
        return min(2 * self._interval, MOST_PROBE_INTERVAL)

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


class _Answer(futures.Future):
    """What a question will come to.

    question: its name in the log.
    """

    def __init__(self, question):
        super().__init__()
        while isinstance(question, functools.partial):
            question = question.func
        self.question = getattr(question, '__qualname__', repr(question))


def _fulfil(future, question):
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = question()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


def answers(questions):
    """What several databases answer that are asked at the same time.

    questions: list of (key, Guard, function).
    Returns a dict key -> result, without those that do not answer or fail,
    which the log tells.
    """
    asked = time.monotonic()
    running = [(key, guard, guard.ask(question))
               for key, guard, question in questions]
    found = {}
    for key, guard, future in running:
        try:
            found[key] = guard.answer(future, asked)
        except exception.DatabaseUnavailable:
            # The guard has said so, and knows why.
            continue
        except Exception as exc:
            error = exc
        else:
            continue
        guard.tell(future, error)
    return found


def asking(guard, function):
    """A function that asks one database what another function asks it."""
    @functools.wraps(function)
    def ask(*args):
        asked = time.monotonic()
        return guard.answer(
            guard.ask(functools.partial(function, *args)), asked)
    return ask
