"""How long one request goes on asking a Placement that is in trouble."""

import time

from oslo_log import log as logging

from nova_sched import exception

LOG = logging.getLogger(__name__)

#: Seconds that Placement has for an answer after a failure, and to take
#: something back: both take it milliseconds.
SHORT_TIMEOUT = 10
#: After so many failures in a row nothing more is asked.
MAX_FAILURES = 3
#: Seconds up to which an answer does not count as waiting: many instances
#: are many requests, and Placement may be well.
QUICK = 1
#: Seconds after which an exhausted ReleaseRetryBudget can be renewed.
PAUSE = 1


class RetriesExhausted(exception.PlacementError):
    """Placement is not asked any more for one request."""


class RetryBudget:
    """Requests to Placement on behalf of one request, within bounds.

    Nothing more is asked after MAX_FAILURES failures since the last write
    that was answered: a server that hangs while reads work is in trouble.
    Nor after 2 x [placement] timeout + 30 seconds in requests that were not
    quick.

    adapter: PlacementAdapter.  request_id: text or None.
    """

    def __init__(self, adapter, request_id, clock=time.monotonic):
        self._adapter, self._request_id = adapter, request_id
        self._clock, self._failures, self._waited = clock, 0, 0
        self._exhausted_at = None

    @property
    def exhausted(self):
        """Whether nothing more is asked."""
        return self._exhausted_at is not None

    def request(self, method, path, microversion=None, **kwargs):
        """As PlacementAdapter.request; raises RetriesExhausted, too."""
        if self.exhausted:
            raise RetriesExhausted(self._reason())
        begin, failed = self._clock(), True
        try:
            response = self._adapter.request(
                method, path, microversion, request_id=self._request_id,
                timeout=self._timeout(), **kwargs)
            failed = response.status >= 500
            return response
        finally:
            self._count(method, failed, begin)

    def _count(self, method, failed, begin):
        """Count a request that was sent at a time."""
        took = self._clock() - begin
        if took > QUICK:
            self._waited += took
        if failed:
            self._failures += 1
        elif method != 'GET':
            self._failures = 0
        if self._failures >= MAX_FAILURES or self._waited >= self._max_wait():
            self._exhaust()

    def _exhaust(self):
        self._exhausted_at = self._clock()
        LOG.error('%s', self._reason())

    def _reason(self):
        return (f'Placement has failed {self._failures} times in a row and '
                f'is not asked again for this request'
                if self._failures >= MAX_FAILURES
                else f'Placement has had this request wait for '
                f'{self._waited:.0f} seconds and is not asked again for it')

    def _max_wait(self):
        """Return the seconds of waiting after which nothing more is asked."""
        return 2 * self._adapter.timeout + 30

    def _timeout(self):
        """Return the seconds to wait for an answer; None for the usual."""
        return SHORT_TIMEOUT if self._failures else None


class ReleaseRetryBudget(RetryBudget):
    """A budget for releasing claims: short time-outs, many tries."""

    def renew(self):
        """Allow one more request, and others if it works.

        Not before a PAUSE after the budget was exhausted.
        """
        if self.exhausted and self._clock() >= self._exhausted_at + PAUSE:
            self._exhausted_at, self._waited = None, 0
            # Reads work again before writes do.
            self._failures = min(self._failures, MAX_FAILURES - 1)

    def _exhaust(self):
        # The caller tells which claims are left.
        self._exhausted_at = self._clock()

    def _reason(self):
        return 'Placement fails and is left alone for a moment'

    def _max_wait(self):
        return MAX_FAILURES * SHORT_TIMEOUT

    def _timeout(self):
        return SHORT_TIMEOUT
