"""HTTP connections that are shut down when the time for an answer is over.

The time-outs of ``requests`` hold for each read from a socket, so a server
that sends a byte now and then keeps its client for as long as it likes.
"""

import contextlib
import socket
import threading

from urllib3 import connection
from urllib3 import connectionpool

from nova_sched import remote

#: ``limit``: the TimeLimit of the requests that this thread sends.
_here = threading.local()


class TimeLimit:
    """The seconds that a thread's HTTP requests in a block take together.

    They count for connections of POOLS.
    """

    def __init__(self, seconds):
        self._seconds, self._is_over = seconds, False
        self._socket, self._url = None, 'the service'

    @contextlib.contextmanager
    def applied(self):
        """Apply the limit to a block.

        Raises TimeoutError in place of what the block raises or returns when
        the time is over.
        """
        _here.limit = self
        try:
            with (remote.ended_by(self._end, None),
                  remote.timers.after(self._seconds, self._end)):
                yield
        finally:
            _here.limit = None
            if self._is_over:
                raise TimeoutError(f'Request to {self._url} timed out')

    def use(self, connected, url=None):
        """Note the socket that the thread uses, and what it requests."""
        self._socket, self._url = connected, url or self._url
        if self._is_over:
            self._end()

    def _end(self):
        self._is_over = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                # Past TLS, whose state is the other thread's.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


def _limit():
    """Return this thread's TimeLimit, or one that never applies."""
    return getattr(_here, 'limit', None) or TimeLimit(None)


class _Timed:
    """What a connection adds to one of urllib3."""

    _scheme = 'http'

    def connect(self):
        super().connect()
        _limit().use(self.sock)

    def request(self, method, url, *args, **kwargs):
        _limit().use(self.sock,
                     f'{self._scheme}://{self.host}:{self.port}{url}')
        return super().request(method, url, *args, **kwargs)


class _Connection(_Timed, connection.HTTPConnection):
    """A connection without TLS."""


class _TLSConnection(_Timed, connection.HTTPSConnection):
    """A connection with TLS."""

    _scheme, _handshake = 'https', None

    def _new_conn(self):
        made = super()._new_conn()
        # TLS takes the descriptor from its socket before the handshake.
        self._handshake = made.dup()
        _limit().use(self._handshake)
        return made

    def connect(self):
        try:
            super().connect()
        finally:
            if self._handshake is not None:
                self._handshake.close()


class _Pool(connectionpool.HTTPConnectionPool):

    ConnectionCls = _Connection


class _TLSPool(connectionpool.HTTPSConnectionPool):

    ConnectionCls = _TLSConnection


#: By scheme, pools whose connections heed a TimeLimit.
POOLS = {'http': _Pool, 'https': _TLSPool}
