"""Remote parties that may not respond: databases, brokers, services.

- ``Contact`` records whether a party responds.  Health reports read it and
  query nothing.
- ``Call`` runs a function in a thread and gives it up at its ``Deadline``.  A
  thread that waits for a hung server cannot be cancelled, but its caller need
  not wait for it, and ``ended_by`` can end the wait.
- ``Guard`` passes queries on to a database while it responds.  A dead
  connection is replaced at once and its query repeated.  A database that
  refuses the repetition is left out of this request only.  After a timeout or
  a slow refusal, as of a host that is switched off, the database is not
  queried until a probe in the background succeeds.
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

#: Maximum number of characters of an error.
LONGEST = 500

#: Seconds between two probes of a database that does not respond, and the
#: maximum if a database responds only to probes.
PROBE_INTERVAL = 1
MAX_PROBE_INTERVAL = 60

#: Seconds after which a refusal counts as slow.  A running server refuses at
#: once, and no driver takes longer than 10 seconds to connect.
SLOW_REFUSAL = 5


class Contact:
    """State of the contact with one remote party, in this process.

    heard: time of its last response, seconds since the epoch, or None.
    error: text of the last failure; None while it responds.
    failures: number of failures since the last response.
    since: time of the first of these failures, by time.monotonic().
    noted: time of the last failure, seconds since the epoch.

    Each attribute is written atomically, not all of them together.
    """

    def __init__(self):
        self.heard = self.error = self.noted = None
        self.failures, self.since = 0, 0.0

    def answered(self):
        """Record a response."""
        self.heard = time.time()
        self.error, self.failures = None, 0

    def failed(self, error):
        """Record a failure; error: an exception or a text."""
        if not self.failures:
            self.since = time.monotonic()
        self.noted = time.time()
        self.error = (str(error)[:LONGEST] or self.error
                      or type(error).__name__)
        self.failures += 1

    @property
    def lasting(self):
        """Seconds since the first failure; 0 while it responds."""
        return time.monotonic() - self.since if self.failures else 0.0


class DeadlineExceeded(exception.NovaSchedException):
    """A function has not ended in time."""


class Deadline:
    """A moment by which an operation must end.

    seconds: from now on.  clock: function that returns seconds.
    """

    def __init__(self, seconds, clock=time.monotonic):
        self._end, self._clock = clock() + seconds, clock

    def left(self):
        """Return the remaining seconds; 0 or less when it is over."""
        return self._end - self._clock()


class _Ends:
    """Functions that end the waits of a thread when its call is given up."""

    def __init__(self):
        self._lock, self._functions, self._over = threading.Lock(), [], False

    @contextlib.contextmanager
    def with_one(self, end):
        """Add a function for a block; call it at once if it is too late."""
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
        """Call the functions, and all that are added later."""
        with self._lock:
            self._over = True
            for end in self._functions:
                end()


#: ``call``: the Call that this thread runs; ``ends``: its _Ends.
_here = threading.local()


@contextlib.contextmanager
def ended_by(end, seconds):
    """Call a function if a block is given up.

    A block in a Call is given up with the Call, any other block after so
    many seconds; None for never.
    end: called in another thread; must make this thread continue.
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
    """Functions that are called after some time, all in one thread.

    A thread for each would cost more than most queries.
    """

    def __init__(self):
        self._forget()
        # A forked child has none of the threads.
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self):
        # Unique key -> (time, function).
        self._lock, self._due = threading.Condition(), {}
        self._looks_at, self._thread = 0.0, None

    @contextlib.contextmanager
    def after(self, seconds, function):
        """Call a function if a block takes longer than so many seconds.

        No call if the system has no thread for it.
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


#: The timers of this process.
timers = Timers()


class _Threads:
    """Daemon threads, reused for further functions.

    Starting a thread costs more than most queries of a database.
    most: maximum number of idle threads.
    """

    def __init__(self, most):
        self._most = most
        self._forget()
        # A forked child has none of the threads.
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self):
        self._lock, self._functions = threading.Lock(), queue.SimpleQueue()
        self._waiting = 0

    def run(self, function, name):
        """Run a function in a thread with a name.

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
        """Run functions, starting with the only item of a list."""
        function, threading.current_thread().name = first.pop()
        while True:
            function()
            # An idle thread must not keep the function's objects alive.
            del function
            threading.current_thread().name = 'waiting for a call'
            with self._lock:
                if self._waiting == self._most:
                    return
                self._waiting += 1
            function, threading.current_thread().name = self._functions.get()


#: As many as requests usually need at the same time.
_threads = _Threads(16)


class Call(Deadline):
    """A function that runs in a daemon thread, with a deadline.

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
        """End the wait of the function, unless it has ended."""
        if not self._future.done():
            self._ends.call()

    def result(self):
        """Return the function's result, or raise its exception.

        Raises DeadlineExceeded if it has not ended in time.
        """
        # If the function raises TimeoutError itself, it is done here.
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
    """Run a function in another thread during a block; yield the Call.

    Inside of a Call it has that call's remaining time and is given up with
    it; elsewhere it has no limit.  It is given up at the end of the block.
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
    """Passes queries on to one database while it responds.

    name, what: the database and the data read from it, for log lines.
    probe: function that raises DatabaseUnavailable if the database cannot be
        queried.
    timeout: seconds for each query.
    """

    def __init__(self, name, what, probe, timeout):
        self.name, self._what = name, what
        self._probe, self._timeout = probe, timeout
        self._lock, self._closed = threading.Lock(), threading.Event()
        #: Reason why the last query failed, text; None if it succeeded.
        self.down = None
        #: Contact with the database.
        self.contact = Contact()
        #: Whether it is only probed, because it hangs.
        self.hangs = False
        self._interval, self._up_since = PROBE_INTERVAL, None
        # Names of the queries whose failure is logged.
        self._failing = set()

    def close(self):
        """End the probes."""
        self._closed.set()

    def ask(self, query):
        """Run a query in another thread; return a function for its result.

        That function raises DatabaseUnavailable if the query fails, and at
        once while the database hangs.  A StatementFailed concerns only its
        own query.
        """
        down = self.down
        call = None if self.hangs else self._call(query, self._timeout)
        return functools.partial(self._result, call, down)

    def _call(self, query, seconds):
        return Call(seconds, query, name=f'ask {self.name}')

    def _result(self, call, down):
        """Return the result of a call; ``call`` is None if it hangs."""
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
        # Callers expect DatabaseUnavailable only.
        raise exception.DatabaseUnavailable(str(failed)) from failed

    def _twice(self, call):
        """Return the result of a call, repeated after the first failure.

        Both share its time.
        """
        try:
            return call.result()
        except exception.StatementFailed:
            raise
        except exception.DatabaseUnavailable as error:
            LOG.debug('%s is queried again: %s', self.name, error)
        return self._call(call.function, max(call.left(), 0)).result()

    def log_failure(self, query, error):
        """Log the failure of a query, once until it succeeds.

        Unexpected errors are logged with a traceback.
        """
        name = _name(query)
        with self._lock:
            if name in self._failing:
                return
            self._failing.add(name)
        expected = isinstance(error, exception.DatabaseUnavailable)
        LOG.log(logging.WARNING if expected else logging.ERROR,
                'Failed to get %s for %s; the next line about %s follows on '
                'recovery: %s', self._what, self.name, name,
                error if expected else repr(error),
                exc_info=None if expected else error)

    def _leave_out(self, reason):
        """Record that the database has refused a query of this request."""
        with self._lock:
            if self.down is not None or self._closed.is_set():
                return
            self.down = reason
        LOG.warning('Failed to get %s for %s; each request queries it again, '
                    'and the next line follows on recovery: %s', self._what,
                    self.name, reason)

    def _take_back(self):
        """Record that the database responds."""
        if self.down is None:
            return
        with self._lock:
            if self.down is None or self.hangs:
                return
            self.down = None
        LOG.info('The database for %s answers again', self.name)

    def _give_up(self, reason):
        """Stop querying; start probing until the database responds."""
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
            # No probe: the next request must query.
            (self.down, self._interval), self.hangs = before, False
            self._leave_out(f'{reason}, and no probe: {error}')
            return
        LOG.warning('Timeout getting %s for %s, whose database is not queried '
                    'again until it answers: %s', self._what, self.name,
                    reason)

    def _next_interval(self):
        """Return the seconds between probes.

        They grow if the database failed soon after a successful probe.
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
    """Return the name of a query for the log."""
    while isinstance(query, functools.partial):
        query = query.func
    return getattr(query, '__qualname__', repr(query))
