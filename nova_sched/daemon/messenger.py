"""The process that exchanges picks with other daemons.

It shares memory with the workers.  A process of its own receives picks in
time even if all workers are busy; a busy worker would receive them late, and
pick a host whose room was just taken.
"""

import hashlib
import threading
import uuid

from oslo_log import log as logging
from oslo_service import backend
import setproctitle

from nova_sched import rpc
from nova_sched.concurrency import threads
from nova_sched.daemon import sighup
from nova_sched.db import cells
from nova_sched.inventory import peers
from nova_sched.inventory.signed_news import Signer
from nova_sched.rpc.broadcast import Broadcast

LOG = logging.getLogger(__name__)

#: Seconds between two connection attempts if the broker refuses.
RETRY = 60

#: Seconds that a stop waits until the last picks of the workers are published.
GRACE = 5


class Messenger(backend.get_component('ServiceBase')):
    """A service of oslo.service with one process.

    conf: ConfigOpts.
    picks: inventory.shared_picks.SharedPicks, created before the fork.
    sighup_handler: sighup.SighupHandler.

    Options are read at the start, except for the key.
    """

    def __init__(self, conf, picks, sighup_handler):
        self._conf, self._picks, self._sighup = conf, picks, sighup_handler
        self._stopping, self._stopped = threading.Event(), threading.Event()
        self._listening = False

    def start(self):
        """Publish and receive picks, in a thread."""
        setproctitle.setproctitle(f'{self._conf.prog}: messenger')
        self._sighup.call_on_sighup(self.reset)
        threads.start('peers', self._run)

    def stop(self, graceful=True):
        """Stop once all picks are published, within GRACE seconds.

        Does not wait before the broker has accepted the listener.
        """
        self._stopping.set()
        self._stopped.wait(GRACE if self._listening and graceful else 0)

    def wait(self):
        """Return when the thread has ended."""
        self._stopped.wait()

    def reset(self):
        """Read the configuration files again, as the key may have changed."""
        sighup.reread(self._conf)

    def _run(self):
        while not self._stopping.is_set():
            try:
                self._exchange()
            except Exception:
                LOG.exception('Cannot publish picks to other daemons; '
                              'retrying in %d seconds', RETRY)
                self._stopping.wait(RETRY)
        self._stopped.set()

    def _exchange(self):
        """Publish and receive picks until the stop."""
        transport = rpc.get_transport(self._conf)
        broadcast = Broadcast(self._conf, transport)
        exchange = peers.Peers(
            self._conf.host, uuid.uuid4().hex, self._picks.exchange(),
            Signer(self._find_key), broadcast.publish)
        try:
            while not self._listens(broadcast, exchange):
                if self._stopping.wait(RETRY):
                    return
            self._listening = True
            exchange.run(self._stopping)
        finally:
            if self._listening:
                broadcast.stop()
            self._listening = False
            transport.cleanup()

    def _find_key(self):
        """Return the key that signs messages: bytes, or None.

        Raises DatabaseUnavailable and ConfigurationError.
        """
        secret = self._conf.nova_sched.picks_key or cells.cell0_secret(
            self._conf)
        if not secret:
            return None
        return hashlib.sha256(f'nova_sched picks {secret}'.encode()).digest()

    @staticmethod
    def _listens(broadcast, exchange):
        """Start the listener; return whether the broker accepts it."""
        try:
            broadcast.start(exchange.receive)
        except Exception as error:
            exchange.log_failure(error)
            return False
        return True
