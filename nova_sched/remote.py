"""Remote parties that may not respond: databases, brokers, services.

- ``Contact`` records whether a party responds.  Health reports read it and
  query nothing.
- ``Call`` runs a function in a thread and gives it up at its ``Deadline``.  A
  thread that waits for a hung server cannot be cancelled, but its caller need
  not wait for it, and ``ended_by`` can end the wait.
- ``Guard`` passes queries on to a database while it responds.  A query that
  fails on its connection is repeated at once on a new one.  If the retry fails
  as well, this request continues without the database.  After a timeout or a
  slow refusal (a host that is switched off), no request queries it until a
  probe in the background succeeds.
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
from nova_sched.concurrency import threads
from nova_sched.concurrency import turns

LOG = logging.getLogger(__name__)

#: Maximum number of characters of Contact.error.
LONGEST = 500

#: Seconds between two probes of a database that does not respond.  They
#: double, up to the maximum, while a database responds only to probes.
PROBE_INTERVAL = 1
MAX_PROBE_INTERVAL = 60

#: Seconds after which a refusal counts as slow, like a timeout.  A running
#: server refuses at once; an unreachable one only when the driver's connect
#: timeout of at most 10 seconds ends.
SLOW_REFUSAL = 5


class Contact:
    """State of the contact with one remote party, in this process.

    last_success: time of its last response, seconds since the epoch, or None.
    error: text of the last failure; None while it responds.
    failures: number of failures since the last response.
    failing_since: time of the first of these failures, by time.monotonic().
    last_failure: time of the last failure, seconds since the epoch, or None.

    Each attribute is written atomically, not all of them together.
    """

    def __init__(self):
        self.last_success = self.error = self.last_failure = None
        self.failures, self.failing_since = 0, 0.0

    def answered(self):
        """Record a response."""
        self.last_success = time.time()
        self.error, self.failures = None, 0

    def failed(self, error):
        """Record a failure; error: an exception or a text."""
        if not self.failures:
            self.failing_since = time.monotonic()
        self.last_failure = time.time()
        self.error = (str(error)[:LONGEST] or self.error
                      or type(error).__name__)
        self.failures += 1

    @property
    def failing_for(self):
        """Seconds since the first failure; 0 while it responds."""
        return time.monotonic() - self.failing_since if self.failures else 0.0


class DeadlineExceeded(exception.NovaSchedException):
    """A function has not ended in time."""


class Deadline:
    """The time by which an operation must end.

    seconds: from now on.  clock: function that returns seconds.
    """

    def __init__(self, seconds, clock=time.monotonic):
        self._end, self._clock = clock() + seconds, clock

    def left(self):
        """Return the remaining seconds; 0 or less after the deadline."""
        return self._end - self._clock()


#: ``call``: the Call that this thread runs; not set in other threads.
_thread_state = threading.local()


@contextlib.contextmanager
def ended_by(end, seconds):
    """Call a function when a block is given up.

    In a Call, the block is given up with the Call and ``seconds`` is ignored.
    Outside of a Call, it is given up after ``seconds``; None means never.
    end: runs in another thread and must unblock this one.
    """
    call = getattr(_thread_state, 'call', None)
    if call is not None:
        waiting = call.ended_by(end)
    elif seconds is not None:
        waiting = timers.after(seconds, end)
    else:
        waiting = contextlib.nullcontext()
    with waiting:
        yield


class Timers:
    """Functions that are called after some time, all in one thread.

    One thread per function would cost more than most queries.
    """

    def __init__(self):
        self._forget()
        # A forked child has none of the threads.
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self):
        # Unique key -> (time, function).
        self._lock, self._due = threading.Condition(), {}
        self._next_wakeup, self._thread = 0.0, None

    @contextlib.contextmanager
    def after(self, seconds, function):
        """Call a function if a block takes longer than ``seconds``.

        Not called if the system cannot start the thread.
        """
        key, at = object(), time.monotonic() + seconds
        with self._lock:
            self._due[key] = at, function
            if self._thread is None:
                with contextlib.suppress(RuntimeError):
                    self._thread = threads.start('timers', self._run)
            elif at < self._next_wakeup:
                self._lock.notify()
        try:
            yield
        finally:
            with self._lock:
                self._due.pop(key, None)

    def _run(self):
        with self._lock:
            while True:
                now = time.monotonic()
                for key, (at, function) in tuple(self._due.items()):
                    if at <= now:
                        del self._due[key]
                        function()
                self._next_wakeup = min(
                    (at for at, _ in self._due.values()),
                    default=now + threading.TIMEOUT_MAX)
                self._lock.wait(min(self._next_wakeup - now,
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
        threads.start(name, self._run, [(function, name)])

    def _run(self, first):
        """Run functions until enough other threads are idle.

        first: list with the first (function, name), so that the frame of the
            caller keeps no reference to it.
        """
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


#: Keeps enough idle threads for the usual number of concurrent calls.
_threads = _Threads(16)


class Call(Deadline):
    """A function that runs in a daemon thread, with a deadline.

    seconds: from now on.  name: name of the thread.
    Raises RuntimeError if the system has no thread for it.
    """

    def __init__(self, seconds, function, *args, name='call'):
        super().__init__(seconds)
        self.function, self._seconds = function, seconds
        self._future, self._lock = futures.Future(), threading.Lock()
        # Functions that unblock the thread.
        self._ends, self._given_up = [], False
        _threads.run(functools.partial(self._run, *args), name)

    def _run(self, *args):
        _thread_state.call = self
        turns.execute(self._future, functools.partial(self.function, *args))
        del _thread_state.call

    @contextlib.contextmanager
    def ended_by(self, end):
        """Call a function if the Call is given up during a block.

        At once if it is given up already.
        """
        with self._lock:
            self._ends.append(end)
            if self._given_up:
                end()
        try:
            yield
        finally:
            with self._lock:
                self._ends.remove(end)

    def give_up(self):
        """Unblock the function's thread, unless the function has ended."""
        if not self._future.done():
            with self._lock:
                self._given_up = True
                for end in self._ends:
                    end()

    def result(self):
        """Return the function's result, or raise its exception.

        Raises DeadlineExceeded if it has not ended in time.
        """
        # If the function itself raised TimeoutError, the future is done.
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

    Inside of a Call it has that Call's remaining time and is given up with
    it; elsewhere it has no limit.  It is given up at the end of the block.
    Raises RuntimeError if the system has no thread for it.
    """
    outer = getattr(_thread_state, 'call', None)
    call = Call(threading.TIMEOUT_MAX if outer is None
                else max(outer.left(), 0), function, *args, name=name)
    try:
        with ended_by(call.give_up, None):
            yield call
    finally:
        call.give_up()


class Guard:
    """Passes queries on to one database while it responds.

    name: what the database belongs to, e.g. 'cell UUID(name)'.  what: the data
        that is read from it.  Both are for log lines.
    probe: function that raises DatabaseUnavailable if the database cannot be
        queried.
    timeout: seconds for each query with its retry, and for each probe.
    """

    def __init__(self, name, what, probe, timeout):
        self.name, self._what = name, what
        self._probe, self._timeout = probe, timeout
        self._lock, self._closed = threading.Lock(), threading.Event()
        #: Why the database is considered unavailable, text, or None.
        self.down_reason = None
        #: Contact with the database.
        self.contact = Contact()
        #: Whether it is only probed, after a timeout or a slow refusal.
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
        once while the database is only probed.  After a StatementFailed the
        database still counts as available.
        """
        down_reason = self.down_reason
        call = None if self.hangs else self._call(query, self._timeout)
        return functools.partial(self._result, call, down_reason)

    def _call(self, query, seconds):
        return Call(seconds, query, name=f'ask {self.name}')

    def _result(self, call, down_reason):
        """Return the result of a call.

        call: None if the database is only probed, because of down_reason.
        """
        if call is None:
            raise exception.DatabaseUnavailable(down_reason)
        try:
            result = self._result_with_retry(call)
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
                self._mark_unavailable(str(error))
            raise
        else:
            self._mark_available(call.function)
            return result
        self.log_failure(call.function, failed)
        # Callers expect DatabaseUnavailable only.
        raise exception.DatabaseUnavailable(str(failed)) from failed

    def _result_with_retry(self, call):
        """Return the result of a call, repeated after a failed connection.

        Both attempts share the call's deadline.
        """
        try:
            return call.result()
        except exception.StatementFailed:
            raise
        except exception.DatabaseUnavailable as error:
            LOG.debug('%s is queried again: %s', self.name, error)
        return self._call(call.function, max(call.left(), 0)).result()

    def log_failure(self, query, error):
        """Log the failure of a query, unless it is logged already.

        It is logged again after the query has succeeded.  Unexpected errors
        are logged with a traceback.
        """
        name = _name(query)
        with self._lock:
            if name in self._failing:
                return
            self._failing.add(name)
        expected = isinstance(error, exception.DatabaseUnavailable)
        LOG.log(logging.WARNING if expected else logging.ERROR,
                'Failed to get %s for %s; further failures of %s are not '
                'logged until it succeeds: %s', self._what, self.name, name,
                error if expected else repr(error),
                exc_info=None if expected else error)

    def _mark_unavailable(self, reason):
        """Record that the database refused a query; later requests query it.
        """
        with self._lock:
            if self.down_reason is not None or self._closed.is_set():
                return
            self.down_reason = reason
        LOG.warning('Failed to get %s for %s; retrying on each request, not '
                    'logged again until recovery: %s', self._what, self.name,
                    reason)

    def _mark_available(self, query):
        """Record that the database has responded to a query."""
        if self._failing:
            self._failing.discard(_name(query))
        self.contact.answered()
        if self.down_reason is None:
            return
        with self._lock:
            if self.down_reason is None or self.hangs:
                return
            self.down_reason = None
        LOG.info('The database for %s is available again', self.name)

    def _give_up(self, reason):
        """Stop querying; start probing until the database responds."""
        with self._lock:
            if self.hangs or self._closed.is_set():
                return
            before = self.down_reason, self._interval
            self._interval = self._next_interval()
            self.down_reason, self.hangs = reason, True
        try:
            threads.start(f'probe {self.name}', self._probe_until_up)
        except RuntimeError as error:
            # No probe: the next request must query.
            (self.down_reason, self._interval), self.hangs = before, False
            self._mark_unavailable(f'{reason}, and no probe: {error}')
            return
        LOG.warning('Failed to get %s for %s; not querying its database until '
                    'a probe succeeds: %s', self._what, self.name, reason)

    def _next_interval(self):
        """Return the seconds between probes.

        They double if the database failed soon after a successful probe.
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
            with self._lock:
                self.hangs, self._up_since = False, time.monotonic()
            self._mark_available(self._probe)
            return


def _name(query):
    """Return the name of a query's function for the log."""
    while isinstance(query, functools.partial):
        query = query.func
    return getattr(query, '__qualname__', repr(query))
