"""Queries that the threads of a worker share while they wait.

Reading the hosts or listing candidates takes up to seconds.  Threads that wait
with the same query share one flight of it, which begins after they came.  So
its answer is as fresh for them as one of their own.
"""

import threading

from oslo_log import log as logging

from nova_sched import exception
from nova_sched import remote
from nova_sched.concurrency import turns
from nova_sched.service_adapter import FailureReason

LOG = logging.getLogger(__name__)

#: Flights that are under way at a time, at most.
MOST = 2

#: Failures after which nobody who waits by then waits again.
_TOO_LATE = (FailureReason.TOO_LATE, FailureReason.KEYSTONE_TOO_LATE)


class _Abandoned(Exception):
    """The thread that led a flight has ended, without an answer."""


class WaitedTooLong(remote.DeadlineExceeded):
    """The queries of others have had no answer in time."""


class _Flight:
    """One query, for all that share it.

    cleared: set when it may begin.  over: set when it has ended.
    """

    def __init__(self):
        self.count, self.answer, self.failure = 1, None, _Abandoned()
        self.cleared, self.over = threading.Event(), threading.Event()

    def result(self):
        if self.failure is not None:
            # A copy: each one that is raised gets a traceback.
            raise exception.copied(self.failure) from self.failure
        return self.answer


class SingleFlight:
    """The queries of one worker, of each key one flight at a time."""

    def __init__(self):
        self._lock = threading.Lock()
        # Key -> _Flight that has not begun, the oldest first; that is under
        # way, or cleared for it.
        self._waiting, self._under_way = {}, {}

    def get(self, key, ask, limit=None):
        """Return what ``ask`` returns, to this call or to one that waits too.

        key: of the query.  Those that share an answer must not change it.
        ask: function without arguments.  What it raises is raised to all that
            share it.  If it is not answered in time, all that wait by then
            fail with it: each would wait as long once more.
        limit: remote.Deadline of waiting for others.
        Raises WaitedTooLong.
        """
        with self._lock:
            flight = self._waiting.get(key)
            is_leader = flight is None
            if is_leader:
                flight = self._waiting[key] = _Flight()
                self._clear()
            else:
                flight.count += 1
        if is_leader:
            return self._lead(key, flight, ask, limit)
        _wait(flight.over, limit)
        if isinstance(flight.failure, _Abandoned):
            return self.get(key, ask, limit)
        return flight.result()

    def _clear(self):
        """Clear the flights that may begin; lock held."""
        for key, flight in self._waiting.items():
            if len(self._under_way) < MOST and key not in self._under_way:
                self._under_way[key] = flight
                flight.cleared.set()

    def _lead(self, key, flight, ask, limit):
        failure = flight.failure
        try:
            if not flight.cleared.is_set():
                _wait(flight.cleared, limit)
            with self._lock:
                if flight.over.is_set():
                    return flight.result()
                # From now on nobody joins it.
                del self._waiting[key]
            if flight.count > 1:
                LOG.debug('%d requests share a query', flight.count)
            flight.answer, failure = ask(), None
            return flight.answer
        except WaitedTooLong:
            raise
        except Exception as error:
            failure = error
            raise
        finally:
            self._end(key, flight, failure)

    def _end(self, key, flight, failure):
        """End a flight, and with it those that it is too late for."""
        ended = [(key, flight)]
        with self._lock:
            if flight.over.is_set():
                return
            if getattr(failure, 'reason', None) in _TOO_LATE:
                ended += self._waiting.items()
            for key, each in ended:
                for flights in (self._waiting, self._under_way):
                    if flights.get(key) is each:
                        del flights[key]
                each.failure = failure
                each.cleared.set()
                each.over.set()
            self._clear()


def _wait(event, limit):
    """Wait for an event that another thread sets."""
    with turns.waiting():
        if not event.wait(None if limit is None else max(limit.left(), 0)):
            raise WaitedTooLong('The queries before it are not answered')
