"""The process that tells other daemons of picks, and hears of theirs.

It stands beside the workers, with whom it shares memory, so that neither waits
for the other: a worker that is busy would hear late, and choose what was just
given away.
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

#: Seconds between two tries at a broker that refuses.
RETRY = 60

#: Seconds that a stop waits for what workers still place to be told.
GRACE = 5


class Messenger(backend.get_component('ServiceBase')):
    """A service of oslo.service, of one worker.

    conf: ConfigOpts, checked.
    picks: inventory.shared_picks.SharedPicks, made before the fork.
    sighup_handler: sighup.SighupHandler.

    What it goes by is read at the start, but for the key.
    """

    def __init__(self, conf, picks, sighup_handler):
        self._conf, self._picks, self._sighup = conf, picks, sighup_handler
        self._stopping, self._stopped = threading.Event(), threading.Event()
        self._hearing = False

    def start(self):
        """Tell and hear, in a thread."""
        setproctitle.setproctitle(f'{self._conf.prog}: messenger')
        self._sighup.call_on_sighup(self.reset)
        threads.start('peers', self._run)

    def stop(self, graceful=True):
        """End once all is told, within GRACE seconds.

        Nothing is to be told before the broker has let it hear.
        """
        self._stopping.set()
        self._stopped.wait(GRACE if self._hearing and graceful else 0)

    def wait(self):
        """Return when it has ended."""
        self._stopped.wait()

    def reset(self):
        """Read the files again, which may have another key."""
        sighup.reread(self._conf)

    def _run(self):
        while not self._stopping.is_set():
            try:
                self._tell()
            except Exception:
                LOG.exception('Other daemons are not told of picks; tried '
                              'again in %d seconds', RETRY)
                self._stopping.wait(RETRY)
        self._stopped.set()

    def _tell(self):
        """Tell and hear until a stop."""
        transport = rpc.get_transport(self._conf)
        broadcast = Broadcast(self._conf, transport)
        others = peers.Peers(
            self._conf.host, uuid.uuid4().hex, self._picks.exchange(),
            Signer(self._find_key), broadcast.say)
        try:
            while not self._hears(broadcast, others):
                if self._stopping.wait(RETRY):
                    return
            self._hearing = True
            others.run(self._stopping)
        finally:
            if self._hearing:
                broadcast.stop()
            self._hearing = False
            transport.cleanup()

    def _find_key(self):
        """Return the key to sign messages with: bytes, or None for none.

        Raises DatabaseUnavailable and ConfigurationError.
        """
        secret = self._conf.nova_sched.picks_key or cells.cell0_secret(
            self._conf)
        if not secret:
            return None
        return hashlib.sha256(f'nova_sched picks {secret}'.encode()).digest()

    @staticmethod
    def _hears(broadcast, others):
        """Begin to hear; return whether the broker lets it."""
        try:
            broadcast.start(others.hear)
        except Exception as error:
            others.trouble(error)
            return False
        return True
