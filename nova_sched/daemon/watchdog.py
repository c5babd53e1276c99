"""Detection of hung or stopped workers, which are replaced.

oslo.service's launcher replaces dead workers only.  Here each worker sends
heartbeats to the master through a pipe while its loop polls for requests,
retries a lost broker, starts or stops.  Busy threads do not matter.  The
master kills a worker after too long a silence, and the launcher forks another
one.  Only the master sends heartbeats to systemd.

Silence is counted in checks by the master, so that workers survive a pause of
the whole machine.
"""

import os
import signal
import struct
import threading

from oslo_log import log as logging

from nova_sched.concurrency import threads

LOG = logging.getLogger(__name__)

#: Default of the seconds within which a worker must poll for requests, unless
#: systemd sets another time.
SECONDS = 60
#: Checks by the master within that time, and checks without a heartbeat after
#: which a worker is killed.  The other half of the time is for a stopped loop
#: in a worker whose heartbeats continue.
CHECKS, SILENT = 10, 5

_PID = struct.Struct('i')


class Watchdog:
    """The watchdog that master and workers share; created before the fork.

    notifier: systemd.Notifier.
    """

    def __init__(self, notifier):
        self._notifier = notifier
        self.seconds = notifier.watchdog or SECONDS
        self._reading, self._writing = os.pipe()
        for end in (self._reading, self._writing):
            os.set_blocking(end, False)
        self._silent = {}

    def beat(self):
        """Send the master a heartbeat of this worker."""
        try:
            os.write(self._writing, _PID.pack(os.getpid()))
        except OSError as error:
            # A full pipe: the master does not read, so it kills no worker.
            LOG.debug('Cannot send a heartbeat to the master: %s', error)

    def beat_while(self, alive, stopped):
        """Send heartbeats from a thread while a function returns true.

        stopped: an Event that ends the thread.
        """
        threads.repeat('watchdog', self.seconds / CHECKS / 2,
                       lambda: alive() and self.beat(), stopped)

    def watch(self):
        """Check the workers of this process periodically, from a thread."""
        def loop():
            pause = threading.Event()
            while not pause.wait(self.seconds / CHECKS):
                try:
                    self.check()
                except Exception:
                    LOG.exception('Checking the workers failed')
        threads.start('watchdog', loop)

    def check(self):
        """Kill workers that have been silent for too long.

        Sends a heartbeat to systemd unless a worker was killed.
        """
        beaten = self._read_beats()
        for pid in beaten | set(self._silent):
            if pid in beaten:
                self._silent[pid] = 0
            elif _is_child(pid):
                self._silent[pid] += 1
            else:
                del self._silent[pid]
        overdue = [pid for pid, checks in self._silent.items()
                   if checks >= SILENT]
        for pid in overdue:
            LOG.error('Worker %(pid)d sent no heartbeat for %(seconds)d '
                      'seconds: it hangs or was stopped. Killing it; another '
                      'worker replaces it',
                      {'pid': pid,
                       'seconds': self._silent[pid] * self.seconds / CHECKS})
            os.kill(pid, signal.SIGKILL)
        if not overdue:
            self._notifier.alive()

    def _read_beats(self):
        """Return the process ids that beat since the last check: set."""
        octets = b''
        while True:
            try:
                octets += os.read(self._reading, 1024 * _PID.size)
            except BlockingIOError:
                return {pid for pid, in _PID.iter_unpack(octets)}


def _is_child(pid):
    """Return whether a process is a living child of this process."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG
                         | os.WNOWAIT) is None
    except ChildProcessError:
        return False
