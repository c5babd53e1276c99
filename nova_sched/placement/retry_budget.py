"""For how long one request goes on asking a Placement that is in trouble."""

import time

from oslo_log import log as logging

from nova_sched import exception

LOG = logging.getLogger(__name__)

#: Seconds that Placement has for an answer where it has just given none, and
#: to take something back: both take it milliseconds.
SHORT = 10
#: After so many failures in a row no more is asked.
GIVE_UP = 3
#: Seconds up to which an answer is no waiting: many instances are many
#: requests, and Placement may be well.
QUICK = 1
#: Seconds after which something that is to be taken back is tried again.
PAUSE = 1


class GivenUp(exception.PlacementError):
    """Placement is not asked any more for one request."""


class Patience:
    """Asks on behalf of one request, but not for ever.

    Nothing more is asked after GIVE_UP failures since the last write that
    was answered: one that hangs while reads work is in trouble. Nor after
    2 x [placement] timeout + 30 seconds in requests that were not quick.

    server: connection.Connection.  request_id: text or None.
    """

    def __init__(self, server, request_id, clock=time.monotonic):
        self._server, self._request_id = server, request_id
        self._clock, self._failed, self._waited = clock, 0, 0
        self._given_up_at = None

    @property
    def given_up(self):
        """Whether nothing more is asked."""
        return self._given_up_at is not None

    def ask(self, method, path, version=None, **kwargs):
        """As Connection.ask; raises GivenUp after too much silence."""
        if self.given_up:
            raise GivenUp(self._words())
        begin, failed = self._clock(), True
        try:
            answer = self._server.ask(
                method, path, version, request_id=self._request_id,
                patience=self._seconds(), **kwargs)
            failed = answer.status >= 500
            return answer
        finally:
            self._count(method, failed, begin)

    def _count(self, method, failed, begin):
        """Note how a request that was sent at a time went."""
        took = self._clock() - begin
        if took > QUICK:
            self._waited += took
        if failed:
            self._failed += 1
        elif method != 'GET':
            self._failed = 0
        if self._failed >= GIVE_UP or self._waited >= self._most():
            self._give_up()

    def _give_up(self):
        self._given_up_at = self._clock()
        LOG.error('%s', self._words())

    def _words(self):
        return (f'Placement has failed {self._failed} times in a row and is '
                f'not asked again for this request' if self._failed >= GIVE_UP
                else f'Placement has had this request wait for '
                f'{self._waited:.0f} seconds and is not asked again for it')

    def _most(self):
        """After how many seconds of waiting no more is asked."""
        return 2 * self._server.timeout + 30

    def _seconds(self):
        """How long to wait for an answer; None for as long as usual."""
        return SHORT if self._failed else None


class Insistence(Patience):
    """For what must be taken back: little time for an answer, many tries."""

    def resume(self):
        """Allow one more request, and others if it works.

        Not before a PAUSE after it was given up.
        """
        if self.given_up and self._clock() >= self._given_up_at + PAUSE:
            self._given_up_at, self._waited = None, 0
            # Reading works first, which says little of writing.
            self._failed = min(self._failed, GIVE_UP - 1)

    def _give_up(self):
        # Whoever wants it back says what is left.
        self._given_up_at = self._clock()

    def _words(self):
        return 'Placement fails and is left alone for a moment'

    def _most(self):
        return GIVE_UP * SHORT

    def _seconds(self):
        return SHORT
