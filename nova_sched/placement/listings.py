"""Listings of allocation candidates that waiting requests share.

A listing takes Placement hundreds of milliseconds, with thousands of hosts
seconds.  Few are under way at a time, of one query a single one, and requests
that wait with the same query take part in one: in one that begins after they
came, so that its answer is as fresh for them as one of their own.
"""

import collections
import threading

from oslo_log import log as logging

from nova_sched import exception
from nova_sched import turns
from nova_sched.service_adapter import FailureReason

LOG = logging.getLogger(__name__)

#: Listings that are under way in a worker, at most.
MOST = 2

#: Failures for which nobody waits again who waits already.
_TOO_LATE = (FailureReason.TOO_LATE, FailureReason.KEYSTONE_TOO_LATE)


class _Turn:
    """One listing, for all that wait for it."""

    def __init__(self):
        self.over, self.count = False, 1
        self._answer = self._failure = None

    def end(self, answer=None, failure=None):
        self._answer, self._failure, self.over = answer, failure, True

    def result(self):
        if self._failure is not None:
            # A copy: each that is raised is given a traceback.
            raise exception.copied(self._failure) from self._failure
        return self._answer


def _ended():
    return exception.PlacementError(
        'The request that listed candidates for others has ended')


class SharedListings:
    """The listings of one worker; safe for threads."""

    def __init__(self):
        self._changed = threading.Condition()
        # Key -> _Turn that has not begun, those that wait longest first.
        self._waiting = collections.OrderedDict()
        # Keys of those that have.
        self._under_way = set()

    def get(self, key, ask):
        """Return what ``ask`` answers, to this call or to another one.

        key: of the question; those that wait with the same share an answer,
            which nobody must change.
        ask: function without arguments.  What it raises is raised here, to
            all that share it.  When it is not answered in time, all that wait
            by then fail like it: each would wait as long.
        """
        with turns.waiting(), self._changed:
            turn = self._waiting.get(key)
            if turn is None:
                turn = self._waiting[key] = _Turn()
                self._wait_to_begin(key, turn)
            else:
                turn.count += 1
                self._changed.wait_for(lambda: turn.over)
            if turn.over:
                return turn.result()
            self._under_way.add(key)
        if turn.count > 1:
            LOG.debug('%d requests share a listing of allocation candidates',
                      turn.count)
        return self._lead(key, turn, ask)

    def _wait_to_begin(self, key, turn):
        """Wait until a turn is the next one, or over; it waits no more then.

        An exit of the thread that waits fails those that wait for it.
        """
        try:
            self._changed.wait_for(
                lambda: turn.over or self._may_begin(turn))
        except BaseException:
            turn.end(failure=_ended())
            raise
        finally:
            if self._waiting.get(key) is turn:
                del self._waiting[key]
            self._changed.notify_all()

    def _may_begin(self, turn):
        return len(self._under_way) < MOST and turn is next((
            waiting for key, waiting in self._waiting.items()
            if key not in self._under_way), None)

    def _lead(self, key, turn, ask):
        """Ask on behalf of all that share a turn."""
        answer, failure = None, _ended()
        try:
            answer, failure = ask(), None
        except Exception as exc:
            failure = exc
        finally:
            with self._changed:
                self._under_way.discard(key)
                turn.end(answer, failure)
                if getattr(failure, 'reason', None) in _TOO_LATE:
                    for waiting in self._waiting.values():
                        waiting.end(failure=failure)
                    self._waiting.clear()
                self._changed.notify_all()
        return turn.result()
