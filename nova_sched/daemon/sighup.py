"""SIGHUP, in all processes of a service.

It is blocked in all of them from their first moment on, so that it ends none.
A thread of each waits for it, and opens log files anew that were moved away,
whatever else its process does then, and whatever the configuration says.
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
    """What a parent and the processes forked from it do at SIGHUP.

    The parent alone looks whether the configuration is a good one.
    """

    WORDS = ('refused',)

    def __init__(self):
        super().__init__('sighup')
        self._parent = os.getpid()

    def call_on_sighup(self, act):
        """Call ``act`` on each SIGHUP, from a thread of this process.

        In others than the parent not while that refuses what the files hold.
        """
        def loop():
            while True:
                signal.sigwait({signal.SIGHUP})
                self._take(act)

        threads.start('reload', loop)

    def _take(self, act):
        """Open the log anew, and call ``act``; log what they raise."""
        try:
            logs.reopen()
        except Exception:
            LOG.exception('Log files that were moved away are written on')
        try:
            if os.getpid() == self._parent or not self.words.refused:
                act()
        except Exception:
            # Whatever it was, the next signal may bring what mends it.
            LOG.exception('Reading the configuration again failed')

    def hand_on(self, refused):
        """Have the processes of this group act, of which this is the parent.

        refused: whether they are to keep the configuration that they have.
        """
        self.words.refused = refused
        # The copy that comes back here is taken out of the queue.
        os.killpg(0, signal.SIGHUP)
        signal.sigtimedwait({signal.SIGHUP}, 0)


def block():
    """Have SIGHUP wait until somebody looks for it, in each new thread."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})


def reread(conf):
    """Read the files of a ConfigOpts again, and set up the log by them."""
    if conf.reload_config_files():
        logs.setup(conf)


class Deferred:
    """A function that may be called from some moment on, and not before.

    Calls before that moment come to one then.
    """

    def __init__(self, act):
        self._act, self._lock = act, threading.Lock()
        self._may_act = self._is_due = False

    def __call__(self):
        """Call the function, or note that it is to be called."""
        with self._lock:
            if not self._may_act:
                self._is_due = True
                return
        self._act()

    def begin(self):
        """Let it be called from now on; call it if that is due."""
        with self._lock:
            self._may_act = True
        if self._is_due:
            self._act()
