"""Notifications to systemd: sd_notify(3), for several processes.

systemd passes a service the address of a socket in its environment. The
launcher of the workers would report the service ready as soon as it has
forked. ``Notifier.from_environ`` removes the address from the environment
first, so that workers report when they consume requests. The unit needs
NotifyAccess=all.
"""

import socket
import time

from oslo_log import log as logging

from nova_sched.concurrency import threads

LOG = logging.getLogger(__name__)


class Notifier:
    """A sender of states to systemd; does nothing without an address.

    address: path of a datagram socket, or '@name' for an abstract socket;
        None if systemd does not supervise the service.
    watchdog: seconds within which systemd expects a heartbeat, or None.

    Keeps no connection, as forked workers share it.
    """

    def __init__(self, address=None, watchdog=None):
        self._address = address
        self.watchdog = watchdog

    @classmethod
    def from_environ(cls, environ):
        """Remove systemd's variables from an environment and use them."""
        address = environ.pop('NOTIFY_SOCKET', None)
        microseconds = environ.pop('WATCHDOG_USEC', None)
        environ.pop('WATCHDOG_PID', None)
        watchdog = int(microseconds) / 1e6 if microseconds else None
        return cls(address, watchdog)

    def ready(self):
        """Report that a worker serves requests."""
        self._send('READY=1', 'STATUS=Serving requests')

    def waiting(self, dependency):
        """Report that a worker waits for another service before it serves."""
        self._send(f'STATUS=Waiting for {dependency}')

    def reloading(self):
        """Report the begin of a reload; READY=1 follows."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._send('RELOADING=1', f'MONOTONIC_USEC={now}')

    def stopping(self):
        """Report that the service as a whole begins to stop."""
        self._send('STOPPING=1', 'STATUS=Finishing calls in flight')

    def alive(self):
        """Send a heartbeat to systemd's watchdog."""
        if self.watchdog:
            self._send('WATCHDOG=1')

    def keep_alive(self, stopped):
        """Send heartbeats from a thread until an Event is set."""
        if self._address and self.watchdog:
            threads.repeat('watchdog', self.watchdog / 3, self.alive, stopped)

    def _send(self, *lines):
        if not self._address:
            return
        address = self._address
        if address.startswith('@'):
            address = '\0' + address[1:]
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            try:
                sock.connect(address)
                sock.sendall('\n'.join(lines).encode())
            except OSError as error:
                LOG.warning('Cannot notify systemd of %(state)s at '
                            '%(address)s: %(error)s',
                            {'state': lines[0], 'address': self._address,
                             'error': error})
