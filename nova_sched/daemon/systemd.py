"""Notifications to systemd: sd_notify(3), for several processes.

systemd hands a service the address of a socket in its environment. The
launcher of the worker processes would claim it and report the service ready
as soon as it has forked; ``Notifier.from_environ`` takes it out of the
environment before that, so that workers report when they really serve. The
unit must say NotifyAccess=all.
"""

import contextlib
import socket
import time

from oslo_log import log as logging

from nova_sched.concurrency import threads

LOG = logging.getLogger(__name__)


class Notifier:
    """A sender of states to the supervisor; it does nothing without one.

    address: path of a datagram socket, or '@name' for an abstract one; None
        when nobody supervises.
    watchdog: seconds within which the supervisor wants a sign of life, or
        None.

    Shared with forked workers: it keeps no connection.
    """

    def __init__(self, address=None, watchdog=None):
        self._address = address
        self.watchdog = watchdog

    @classmethod
    def from_environ(cls, environ):
        """Take the supervisor's variables out of an environment."""
        address = environ.pop('NOTIFY_SOCKET', None)
        microseconds = environ.pop('WATCHDOG_USEC', None)
        environ.pop('WATCHDOG_PID', None)
        watchdog = int(microseconds) / 1e6 if microseconds else None
        return cls(address, watchdog)

    def ready(self):
        """Tell that a worker answers requests (again)."""
        self._send('READY=1', 'STATUS=Serving requests')

    def waiting(self, what):
        """Tell that a worker cannot serve until something else is there."""
        self._send(f'STATUS=Waiting for {what}')

    def reloading(self):
        """Tell that the configuration is read again; READY=1 will follow."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._send('RELOADING=1', f'MONOTONIC_USEC={now}')

    def stopping(self):
        """Tell that the service as a whole has begun to stop."""
        self._send('STOPPING=1', 'STATUS=Finishing calls in flight')

    def alive(self):
        """Tell the supervisor's watchdog that the service is alive."""
        if self.watchdog:
            self._send('WATCHDOG=1')

    def keep_alive(self, stopped):
        """Send signs of life from a thread until an Event is set."""
        if not self._address or not self.watchdog:
            return
        threads.start('watchdog', self._keep_alive, stopped)

    def _keep_alive(self, stopped):
        while True:
            self._send('WATCHDOG=1')
            if stopped.wait(self.watchdog / 3):
                return

    def _send(self, *lines):
        if not self._address:
            return
        address = self._address
        if address.startswith('@'):
            address = '\0' + address[1:]
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with contextlib.closing(sock):
            try:
                sock.connect(address)
                sock.sendall('\n'.join(lines).encode())
            except OSError as error:
                LOG.warning('Cannot tell the supervisor %(what)s on '
                            '%(address)s: %(error)s',
                            {'what': lines[0], 'address': self._address,
                             'error': error})
