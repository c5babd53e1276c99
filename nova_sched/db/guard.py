"""Asking a database that may not answer: waited for once, then probed.

A thread that waits for a hung server cannot be cancelled.  So whoever asks
has a thread of its own wait, and gives up after a time; from then on nobody
waits, until a probe in the background finds that the database answers again.
"""

from concurrent import futures
import functools
import logging
import threading
import time

from nova_sched import exception

LOG = logging.getLogger(__name__)

#: Seconds between two probes of a database that does not answer.
PROBE_INTERVAL = 5


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

    def close(self):
        """End the probes."""
        self._closed.set()

    def ask(self, question):
        """Have a function called in a thread of its own: a Future of it.

        While the database does not answer it is not called, and the Future
        holds DatabaseUnavailable.
        """
        future = futures.Future()
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
        until a probe succeeds.
        """
        left = asked + self._timeout - time.monotonic()
        try:
            return future.result(max(0.0, left))
        except futures.TimeoutError:
            future.cancel()
            reason = f'no answer within {self._timeout} seconds'
            self._give_up('Timeout getting', reason)
        except exception.DatabaseUnavailable as error:
            reason = str(error)
            self._give_up('Failed to get', reason)
        raise exception.DatabaseUnavailable(reason)

    def _give_up(self, trouble, reason):
        with self._lock:
            if self.down is not None or self._closed.is_set():
                return
            self.down = reason
        LOG.warning('%(trouble)s %(what)s for %(name)s, whose database is not '
                    'asked again until it answers: %(reason)s', {
                        'trouble': trouble, 'what': self._what,
                        'name': self.name, 'reason': reason})
        threading.Thread(target=self._probe_until_up, daemon=True,
                         name=f'probe {self.name}').start()

    def _probe_until_up(self):
        while not self._closed.wait(PROBE_INTERVAL):
            try:
                self._probe()
            except exception.DatabaseUnavailable as error:
                LOG.debug('%s: %s', self.name, error)
                continue
            with self._lock:
                self.down = None
            LOG.info('The database for %s answers again', self.name)
            return


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
    Returns a dict key -> result, without those that do not answer.  An
    exception that is no DatabaseUnavailable is raised.
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
    return found


def asking(guard, function):
    """A function that asks one database what another function asks it."""
    @functools.wraps(function)
    def ask(*args):
        asked = time.monotonic()
        return guard.answer(
            guard.ask(functools.partial(function, *args)), asked)
    return ask
