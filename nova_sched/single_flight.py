"""Queries that the threads of a worker share while they wait.

Reading the hosts or listing candidates takes up to seconds.  Threads that wait
with the same query share one flight: one query that begins after all of them
have joined.  So its result is as fresh as that of a query of their own.
"""

import threading

from oslo_log import log as logging

from nova_sched import exception
from nova_sched import remote
from nova_sched.concurrency import turns
from nova_sched.service_adapter import FailureReason

LOG = logging.getLogger(__name__)

#: Maximum number of concurrent flights.
MOST = 2

#: Failures that also end the waiting flights.
_TOO_LATE = (FailureReason.TOO_LATE, FailureReason.KEYSTONE_TOO_LATE)


class _Abandoned(Exception):
    """The thread that led a flight has ended without a result."""


class WaitedTooLong(remote.DeadlineExceeded):
    """The queries of other threads have not ended in time."""


class _Flight:
    """One query, for all threads that share it.

    cleared: set when it may begin.  over: set when it has ended.
    """

    def __init__(self):
        self.count, self.answer, self.failure = 1, None, _Abandoned()
        self.cleared, self.over = threading.Event(), threading.Event()

    def result(self):
        if self.failure is not None:
            # A copy, as raising an exception sets its traceback.
            raise exception.copied(self.failure) from self.failure
        return self.answer


class SingleFlight:
    """The queries of one worker, one flight at a time for each key."""

    def __init__(self):
        self._lock = threading.Lock()
        # Key -> _Flight: not begun, the oldest first; cleared or under way.
        self._waiting, self._under_way = {}, {}

    def get(self, key, ask, limit=None):
        """Return the result of ``ask``, shared with calls that wait too.

        key: of the query.  Callers that share a result must not change it.
        ask: function without arguments.  Its exception is raised in all calls
            that share it.  A timeout also fails all calls that are waiting
            then: each would wait as long again.
        limit: remote.Deadline for waiting for other calls.
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
                # From now on no call joins it.
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
        """End a flight; after a timeout, also the waiting flights."""
        ended = [(key, flight)]
        with self._lock:
            if flight.over.is_set():
                return
            if getattr(failure, 'reason', None) in _TOO_LATE:
                ended += self._waiting.items()
            for key, other in ended:
                for flights in (self._waiting, self._under_way):
                    if flights.get(key) is other:
                        del flights[key]
                other.failure = failure
                other.cleared.set()
                other.over.set()
            self._clear()


def _wait(event, limit):
    """Wait for an event that another thread sets."""
    with turns.waiting():
        if not event.wait(None if limit is None else max(limit.left(), 0)):
            raise WaitedTooLong('Earlier queries have not ended')
