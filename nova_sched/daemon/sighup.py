"""SIGHUP in all processes of a daemon.

Each process blocks the signal from its start, so that SIGHUP never kills it.
A thread of each process waits for the signal.  It first reopens log files
that were moved away, whatever state the process or the configuration is in.
"""

import os
import signal
import threading

from oslo_log import log as logging

from nova_sched.concurrency import threads
from nova_sched.observe import logs
from nova_sched.shared_region import SharedRegion

LOG = logging.getLogger(__name__)


class SighupHandler(SharedRegion):
    """The SIGHUP handling of the master and the processes forked from it.

    Only the master checks the new configuration.
    """

    WORDS = ('refused',)

    def __init__(self):
        super().__init__('sighup')
        self._master = os.getpid()

    def call_on_sighup(self, act):
        """Call ``act`` on each SIGHUP, from a thread of this process.

        In processes other than the master it is not called while the master
        refuses the configuration files.
        """
        def loop():
            while True:
                signal.sigwait({signal.SIGHUP})
                self._handle(act)

        threads.start('reload', loop)

    def _handle(self, act):
        """Reopen the log and call ``act``; log the errors of both."""
        try:
            logs.reopen()
        except Exception:
            LOG.exception('Cannot reopen log files; still writing to the '
                          'moved files')
        try:
            if os.getpid() == self._master or not self.words.refused:
                act()
        except Exception:
            # The thread must survive: the next signal may succeed.
            LOG.exception('Reading the configuration again failed')

    def forward(self, refused):
        """Send SIGHUP to the process group of this process, the master.

        refused: whether the processes keep their present configuration.
        """
        self.words.refused = refused
        # The master is in the group: consume its own copy.
        os.killpg(0, signal.SIGHUP)
        signal.sigtimedwait({signal.SIGHUP}, 0)


def block():
    """Block SIGHUP in this thread, and in all threads that it starts."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})


def reread(conf):
    """Read the files of a ConfigOpts again, and set up the log by them."""
    if conf.reload_config_files():
        logs.setup(conf)


class Deferred:
    """A function whose calls are deferred until ``begin``.

    Several calls before ``begin`` become one.
    """

    def __init__(self, act):
        self._act, self._lock = act, threading.Lock()
        self._has_begun = self._is_due = False

    def __call__(self):
        """Call the function, or defer the call."""
        with self._lock:
            if not self._has_begun:
                self._is_due = True
                return
        self._act()

    def begin(self):
        """Make the deferred call, if any; further calls are immediate."""
        with self._lock:
            self._has_begun = True
        if self._is_due:
            self._act()
