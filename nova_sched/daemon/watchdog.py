"""Detection of workers that hang or are stopped, which are replaced.

oslo.service's launcher notices a worker that is dead, and no other.  Here
each worker tells its parent through a pipe that it is alive: that it looks
for requests, or tries to while the broker is away, or is on its way to serve
or to stop.  That its threads are busy, for however long, does not matter.
The parent ends a worker that has been silent for too long, and the launcher
starts another in its place.  Only the parent tells the supervisor of the
service that it lives.

Silence is counted in looks of the parent, so that nobody is ended because the
whole machine stood still.
"""

import os
import signal
import struct
import threading

from oslo_log import log as logging

from nova_sched.concurrency import threads

LOG = logging.getLogger(__name__)

#: Seconds within which a worker must look for requests, where the supervisor
#: does not say.
SECONDS = 60
#: Looks of the parent within that time, and how many of them a worker may be
#: silent for; the other half is for a loop that has stopped in a worker that
#: goes on.
LOOKS, SILENT = 10, 5

_PID = struct.Struct('i')


class Watchdog:
    """The watchdog that parent and workers share; made before the fork.

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
        """Tell the parent that this worker is alive."""
        try:
            os.write(self._writing, _PID.pack(os.getpid()))
        except OSError as error:
            # A parent that does not read is none that ends its workers.
            LOG.debug('The parent is not told of this worker: %s', error)

    def beat_while(self, alive, stopped):
        """Beat from a thread while a function returns true.

        stopped: an Event that ends it.
        """
        def loop():
            while True:
                if alive():
                    self.beat()
                if stopped.wait(self.seconds / LOOKS / 2):
                    return
        threads.start('watchdog', loop)

    def watch(self):
        """Watch the workers of this process from a thread."""
        def loop():
            pause = threading.Event()
            while not pause.wait(self.seconds / LOOKS):
                try:
                    self.look()
                except Exception:
                    LOG.exception('Looking after the workers failed')
        threads.start('watchdog', loop)

    def look(self):
        """End workers that were silent for too long.

        The supervisor is told that the service lives, unless somebody was.
        """
        heard = self._heard()
        for pid in heard | set(self._silent):
            if pid in heard:
                self._silent[pid] = 0
            elif _is_child(pid):
                self._silent[pid] += 1
            else:
                del self._silent[pid]
        overdue = [pid for pid, looks in self._silent.items()
                   if looks >= SILENT]
        for pid in overdue:
            LOG.error('Worker %(pid)d is ended, and another one takes its '
                      'place: it hangs, or was stopped, and gave no sign of '
                      'life in %(seconds)d seconds',
                      {'pid': pid,
                       'seconds': self._silent[pid] * self.seconds / LOOKS})
            os.kill(pid, signal.SIGKILL)
        if not overdue:
            self._notifier.alive()

    def _heard(self):
        """Return which workers beat since the last look: set of ids."""
        found = b''
        while True:
            try:
                found += os.read(self._reading, 1024 * _PID.size)
            except BlockingIOError:
                return {pid for pid, in _PID.iter_unpack(found)}


def _is_child(pid):
    """Return whether a process is a living child of this one."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG
                         | os.WNOWAIT) is None
    except ChildProcessError:
        return False
