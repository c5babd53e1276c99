"""Remote parties that may not answer: databases, brokers, services.

- ``Contact`` notes whether a party answers; health reports read the notes and
  query nobody.
- ``Call`` runs a function in a thread and gives it up at its ``Deadline``.  A
  thread that waits for a hung server cannot be cancelled, but nobody has to
  wait for the thread, and ``ended_by`` can end what it waits for.
- ``Guard`` passes queries on to a database while it answers.  A connection
  that is found dead is made anew at once: its query is sent once more.  A
  database that refuses that, too, is left out of this request, and queried by
  the next one.  Where a query is not answered in time, or is refused slowly,
  as by a host that is switched off, the database is not queried again until a
  probe in the background finds that it answers.
"""

from concurrent import futures
import contextlib
import functools
import os
import queue
import threading
import time

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.concurrency import turns

LOG = logging.getLogger(__name__)

#: Characters that are kept of an error.
LONGEST = 500

#: Seconds between two probes of a database that does not answer, and the
#: longest interval for one that answers nothing but probes.
PROBE_INTERVAL = 1
MAX_PROBE_INTERVAL = 60

#: Seconds after which a refusal is slow.  A server that is there refuses at
#: once, and no driver takes longer than 10 seconds to connect.
SLOW_REFUSAL = 5


class Contact:
    """Notes about one remote party, of this process.

    heard: when it answered last, seconds since the epoch; None before.
    error: why it did not answer last, text; None while it does.
    failures: how often it has failed since it answered.
    since: when the first of these was, by time.monotonic().
    noted: when the last of these was, seconds since the epoch.

    Each is written at once; who reads in between sees a moment too early.
    """

    def __init__(self):
        self.heard = self.error = self.noted = None
        self.failures, self.since = 0, 0.0

    def answered(self):
        """Note that it answers."""
        self.heard = time.time()
        self.error, self.failures = None, 0

    def failed(self, error):
        """Note that it does not; error: whatever says why."""
        if not self.failures:
            self.since = time.monotonic()
        self.noted = time.time()
        self.error = (str(error)[:LONGEST] or self.error
                      or type(error).__name__)
        self.failures += 1

    @property
    def lasting(self):
        """Seconds since it does not answer; 0 while it does."""
        return time.monotonic() - self.since if self.failures else 0.0


class DeadlineExceeded(exception.NovaSchedException):
    """A function has not ended in time."""


class Deadline:
    """A moment by which something must be over.

    seconds: from now on.  clock: function that gives seconds.
    """

    def __init__(self, seconds, clock=time.monotonic):
        self._end, self._clock = clock() + seconds, clock

    def left(self):
        """Return the seconds that are left; 0 or less when it is over."""
        return self._end - self._clock()


class _Ends:
    """Functions that end what a thread waits for, as long as it does."""

    def __init__(self):
        self._lock, self._functions, self._over = threading.Lock(), [], False

    @contextlib.contextmanager
    def with_one(self, end):
        """Have one more for a block; it is called now if all is over."""
        with self._lock:
            self._functions.append(end)
            if self._over:
                end()
        try:
            yield
        finally:
            with self._lock:
                self._functions.remove(end)

    def call(self):
        """Call them, and those that come later."""
        with self._lock:
            self._over = True
            for end in self._functions:
                end()


#: ``call``: the Call that runs in a thread; ``ends``: what ends it.
_here = threading.local()


@contextlib.contextmanager
def ended_by(end, seconds):
    """Have a function called when what a block does is given up.

    In a Call that is when the Call is, else after so many seconds; None for
    never.
    end: called in another thread; has this one go on.
    """
    ends = getattr(_here, 'ends', None)
    if ends is not None:
        waiting = ends.with_one(end)
    elif seconds is not None:
        waiting = timers.after(seconds, end)
    else:
        waiting = contextlib.nullcontext()
    with waiting:
        yield


class Timers:
    """Functions that are called after some time, in one thread.

    To start a thread for each costs more than most queries.
    """

    def __init__(self):
        self._forget()
        # A child of this process has none of its threads.
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self):
        # By a key for each block: when its function is called, and which.
        self._lock, self._due = threading.Condition(), {}
        self._looks_at, self._thread = 0.0, None

    @contextlib.contextmanager
    def after(self, seconds, function):
        """Have a function called if a block takes so many seconds.

        Not where the system has no thread for it.
        """
        key, at = object(), time.monotonic() + seconds
        with self._lock:
            self._due[key] = at, function
            if self._thread is None:
                self._start()
            elif at < self._looks_at:
                self._lock.notify()
        try:
            yield
        finally:
            with self._lock:
                self._due.pop(key, None)

    def _start(self):
        self._thread = threading.Thread(target=self._run, daemon=True,
                                        name='timers')
        try:
            self._thread.start()
        except RuntimeError:
            self._thread = None

    def _run(self):
        with self._lock:
            while True:
                now = time.monotonic()
                for key, (at, function) in tuple(self._due.items()):
                    if at <= now:
                        del self._due[key]
                        function()
                self._looks_at = min(
                    (at for at, _ in self._due.values()),
                    default=now + threading.TIMEOUT_MAX)
                self._lock.wait(min(self._looks_at - now,
                                    threading.TIMEOUT_MAX))


#: Of this process.
timers = Timers()


class _Threads:
    """Daemon threads; one that has run a function waits for the next.

    To start one costs more than most queries of a database.
    most: how many wait.
    """

    def __init__(self, most):
        self._most = most
        self._forget()
        # A child of this process has none of its threads.
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self):
        self._lock, self._functions = threading.Lock(), queue.SimpleQueue()
        self._waiting = 0

    def run(self, function, name):
        """Run a function in a thread of that name.

        Raises RuntimeError if the system has no thread for it.
        """
        with self._lock:
            if self._waiting:
                self._waiting -= 1
                self._functions.put((function, name))
                return
        threading.Thread(target=self._run, args=([(function, name)],),
                         daemon=True).start()

    def _run(self, first):
        """Run functions, the first of which is in a list alone."""
        function, threading.current_thread().name = first.pop()
        while True:
            function()
            # Nothing of it is held while the thread waits.
            del function
            threading.current_thread().name = 'waiting for a call'
            with self._lock:
                if self._waiting == self._most:
                    return
                self._waiting += 1
            function, threading.current_thread().name = self._functions.get()


#: As many as requests usually make calls at the same time.
_threads = _Threads(16)


class Call(Deadline):
    """A function that runs in a daemon thread, and has so many seconds.

    name: of the thread.
    """

    def __init__(self, seconds, function, *args, name='call'):
        super().__init__(seconds)
        self.function, self._seconds = function, seconds
        self._ends, self._future = _Ends(), futures.Future()
        _threads.run(functools.partial(self._run, *args), name)

    def _run(self, *args):
        _here.call, _here.ends = self, self._ends
        try:
            self._future.set_result(self.function(*args))
        except BaseException as error:
            self._future.set_exception(error)
        finally:
            del _here.call, _here.ends

    def give_up(self):
        """End what the function waits for, if it has not ended."""
        if not self._future.done():
            self._ends.call()

    def result(self):
        """Return what the function returns, or raise what it raises.

        Raises DeadlineExceeded when it has not ended in time.
        """
        # A TimeoutError of the function's own is what it returns here.
        with contextlib.suppress(futures.TimeoutError), (
                contextlib.nullcontext() if self._future.done()
                else turns.waiting()):
            self._future.exception(max(0, self.left()))
        if not self._future.done():
            self.give_up()
            raise DeadlineExceeded(f'no answer within {self._seconds} seconds')
        return self._future.result()


@contextlib.contextmanager
def aside(function, *args, name='call'):
    """Run a function in another thread while a block runs: a Call.

    In a Call it has as many seconds as that has left, and is given up with
    it; elsewhere any number.  It is given up if the block ends before it.
    """
    outer = getattr(_here, 'call', None)
    call = Call(threading.TIMEOUT_MAX if outer is None
                else max(outer.left(), 0), function, *args, name=name)
    try:
        with ended_by(call.give_up, None):
            yield call
    finally:
        call.give_up()


class Guard:
    """Queries of one database, passed on while it answers.

    name: of the database in the log.  what: is read of it, in the log.
    probe: function that raises DatabaseUnavailable if the database cannot be
        queried.
    timeout: seconds that an answer may take.
    """

    def __init__(self, name, what, probe, timeout):
        self.name, self._what = name, what
        self._probe, self._timeout = probe, timeout
        self._lock, self._closed = threading.Lock(), threading.Event()
        #: Why the database did not answer last, in words; None if it did.
        self.down = None
        #: Contact with it.
        self.contact = Contact()
        #: Whether it hangs: it is probed then, not queried.
        self.hangs = False
        self._interval, self._up_since = PROBE_INTERVAL, None
        # Names of the queries whose failure is logged already.
        self._failing = set()

    def close(self):
        """End the probes."""
        self._closed.set()

    def ask(self, query):
        """Call a function in another thread; return one of its result.

        That one raises DatabaseUnavailable.  If there was no answer in time,
        or a slow refusal, the database is not queried until a probe succeeds,
        and it raises that at once.  A StatementFailed is of that query alone.
        """
        down = self.down
        call = None if self.hangs else self._call(query, self._timeout)
        return functools.partial(self._result, call, down)

    def _call(self, query, seconds):
        return Call(seconds, query, name=f'ask {self.name}')

    def _result(self, call, down):
        """Return the result of a call; None stands for one not made."""
        if call is None:
            raise exception.DatabaseUnavailable(down)
        try:
            result = self._twice(call)
        except exception.StatementFailed as error:
            failed = error
        except DeadlineExceeded:
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
            if self._failing:
                self._failing.discard(_name(call.function))
            self.contact.answered()
            self._take_back()
            return result
        self.log_failure(call.function, failed)
        # Callers of the service know no other name.
        raise exception.DatabaseUnavailable(str(failed)) from failed

    def _twice(self, call):
        """Return the result of a call, made again if the first one fails.

        Its time is for both.
        """
        try:
            return call.result()
        except exception.StatementFailed:
            raise
        except exception.DatabaseUnavailable as error:
            LOG.debug('%s is asked again: %s', self.name, error)
        return self._call(call.function, max(call.left(), 0)).result()

    def log_failure(self, query, error):
        """Log the error of a query, once until it is answered.

        With a traceback, unless it is a DatabaseUnavailable.
        """
        name = _name(query)
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
        """Query no more; probe until the database answers."""
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
            # Only the next request can find that it answers.
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
                    DeadlineExceeded) as error:
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


def _name(query):
    """Return the name of a query in the log, however it is wrapped."""
    while isinstance(query, functools.partial):
        query = query.func
    return getattr(query, '__qualname__', repr(query))
