"""HTTP connections that are shut down when the time for a response is over.

The timeouts of ``requests`` apply to each read from a socket.  A server that
sends a byte now and then could keep its client waiting for ever.
"""

import contextlib
import socket
import threading

from urllib3 import connection
from urllib3 import connectionpool

from nova_sched import remote

#: ``limit``: the TimeLimit of the requests of this thread.
_thread_state = threading.local()


class TimeLimit:
    """The total time of a thread's HTTP requests in a block.

    It applies to connections of POOLS.
    """

    def __init__(self, seconds):
        self._seconds, self._is_over = seconds, False
        self._socket, self._url = None, 'the service'

    @contextlib.contextmanager
    def applied(self):
        """Apply the limit to a block.

        Raises TimeoutError instead of the block's exception or result when the
        time is over.
        """
        _thread_state.limit = self
        try:
            with (remote.ended_by(self._end, None),
                  remote.timers.after(self._seconds, self._end)):
                yield
        finally:
            _thread_state.limit = None
            if self._is_over:
                raise TimeoutError(f'Request to {self._url} timed out')

    def use(self, used_socket, url=None):
        """Set the socket in use, and the requested URL."""
        self._socket, self._url = used_socket, url or self._url
        if self._is_over:
            self._end()

    def _end(self):
        self._is_over = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                # Bypass TLS: its state belongs to the other thread.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


def _limit():
    """Return this thread's TimeLimit, or a new one that never applies."""
    return getattr(_thread_state, 'limit', None) or TimeLimit(None)


class _Timed:
    """Adds the time limit to a connection of urllib3."""

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
        new_socket = super()._new_conn()
        # The TLS wrapper detaches this socket before the handshake; the
        # duplicate can still be shut down.
        self._handshake = new_socket.dup()
        _limit().use(self._handshake)
        return new_socket

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


#: Pools by scheme, with connections that obey a TimeLimit.
POOLS = {'http': _Pool, 'https': _TLSPool}
