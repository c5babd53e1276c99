"""The process that tells over HTTP how the service is, and its metrics.

It stands beside the workers, which say how they are by a channel that it
shares with them, and is asked nothing that they would wait for.
"""

import functools
import json
import threading

from oslo_service import backend
import setproctitle

from nova_sched.concurrency import threads
from nova_sched.daemon import sighup
from nova_sched.health import checks
from nova_sched.health import shared
from nova_sched.health.board import Board
from nova_sched.health.board import Settings
from nova_sched.health.server import Answer
from nova_sched.health.server import Servers
from nova_sched.shared_region import SharedRegion

HEALTH, METRICS = '/health', '/metrics'


class Health:
    """What the processes of a service share to tell how it is; before a fork.

    conf: ConfigOpts.  workers: how many there are to be.

    numbers: SharedRegion in which each process has a number from 0; whoever
        takes the place of one that has ended gets its number.
    metrics: observe.metrics.Metrics, None where nothing is counted.
    """

    def __init__(self, conf, workers):
        self.conf, self.workers = conf, workers
        self.numbers = SharedRegion('numbers of workers')
        self.channel = shared.Channel()
        self.metrics = None
        if conf.nova_sched.metrics_uri:
            # The library is for those alone who count.
            from nova_sched.observe import metrics
            self.metrics = metrics.Metrics(self.numbers.own, workers)

    @classmethod
    def of(cls, conf, workers):
        """Return one, or None where nothing is told."""
        if conf.healthcheck.uri or conf.nova_sched.metrics_uri:
            return cls(conf, workers)
        return None


class Endpoints(backend.get_component('ServiceBase')):
    """A service of oslo.service, of one worker.

    health: Health.  sighup_handler: sighup.SighupHandler.

    What it goes by is read at the start, but for the log.
    """

    def __init__(self, health, sighup_handler):
        self._health, self._sighup = health, sighup_handler
        self._stopping, self._servers = threading.Event(), None

    def start(self):
        """Hear and tell, in threads."""
        setproctitle.setproctitle(f'{self._health.conf.prog}: endpoints')
        self._sighup.call_on_sighup(self.reset)
        self.begin()

    def begin(self):
        """Hear and tell within another process."""
        board = Board(Settings.of(self._health.conf, self._health.workers))
        threads.start('endpoints', board.hear, self._health.channel,
                      self._stopping)
        self._servers = Servers(_pages(self._health, board))
        self._servers.start()

    def stop(self, graceful=True):
        """End."""
        if self._servers is not None:
            self._servers.stop()
        self._stopping.set()

    def wait(self):
        """Return when it has ended."""
        self._stopping.wait()

    def reset(self):
        """Go on, with the log as the files have it by now."""
        sighup.reread(self._health.conf)


def _pages(health, board):
    """Return what is served where: as of Servers."""
    pages, conf = {}, health.conf
    for uri in conf.healthcheck.uri:
        pages.setdefault(uri, {})[HEALTH] = functools.partial(
            _health_page, board)
    for uri in conf.nova_sched.metrics_uri:
        pages.setdefault(uri, {})[METRICS] = functools.partial(
            _metrics_page, health.metrics.page(board))
    return pages


def _health_page(board, accept):
    told, cache_control = board.health()
    headers = {'Content-Type': 'application/health+json'}
    if cache_control:
        headers['Cache-Control'] = cache_control
    return Answer(503 if told['status'] == checks.FAIL else 200, headers,
                  json.dumps(told).encode())


def _metrics_page(page, accept):
    body, kind = page(accept)
    return Answer(200, {'Content-Type': kind}, body)
