"""The health process: it serves health and metrics of the service by HTTP.

Workers send it their reports through a shared channel, and never wait for it.
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
from nova_sched.health.server import Answer
from nova_sched.health.server import Servers
from nova_sched.shared_region import SharedRegion

HEALTH, METRICS = '/health', '/metrics'


class Health:
    """State shared by workers and health process, created before the fork.

    conf: ConfigOpts.  workers: configured number of workers.

    numbers: SharedRegion with a number from 0 for each process; a replacement
        gets the number of the process that has ended.
    metrics: observe.metrics.Metrics, or None without metrics.
    """

    def __init__(self, conf, workers):
        self.conf, self.workers = conf, workers
        self.numbers = SharedRegion('numbers of workers')
        self.channel = shared.Channel()
        self.metrics = None
        if conf.nova_sched.metrics_uri:
            # Import the library only if it is used.
            from nova_sched.observe import metrics
            self.metrics = metrics.Metrics(self.numbers.own, workers)

    @classmethod
    def of(cls, conf, workers):
        """Return the Health, or None if no endpoint is configured."""
        if conf.healthcheck.uri or conf.nova_sched.metrics_uri:
            return cls(conf, workers)
        return None


class Endpoints(backend.get_component('ServiceBase')):
    """A service of oslo.service with one process.

    health: Health.  sighup_handler: sighup.SighupHandler.

    Options are read at the start, except for the log's.
    """

    def __init__(self, health, sighup_handler):
        self._health, self._sighup = health, sighup_handler
        self._stopping, self._servers = threading.Event(), None

    def start(self):
        """Receive reports and serve pages, in threads."""
        setproctitle.setproctitle(f'{self._health.conf.prog}: endpoints')
        self._sighup.call_on_sighup(self.reset)
        self.begin()

    def begin(self):
        """Start the threads within another process."""
        conf = self._health.conf
        board = Board(conf.host, self._health.workers, conf.healthcheck.ttl,
                      conf.healthcheck.cache_control)
        threads.start('endpoints', board.receive, self._health.channel,
                      self._stopping)
        self._servers = Servers(_pages(self._health, board))
        self._servers.start()

    def stop(self, graceful=True):
        """Stop the threads."""
        if self._servers is not None:
            self._servers.stop()
        self._stopping.set()

    def wait(self):
        """Return when it has stopped."""
        self._stopping.wait()

    def reset(self):
        """Read the configuration files again; only log options take effect."""
        sighup.reread(self._health.conf)


def _pages(health, board):
    """Return the pages of each URI, see Servers."""
    pages, conf = {}, health.conf
    for uri in conf.healthcheck.uri:
        pages.setdefault(uri, {})[HEALTH] = functools.partial(
            _health_page, board)
    for uri in conf.nova_sched.metrics_uri:
        pages.setdefault(uri, {})[METRICS] = health.metrics.page(board)
    return pages


def _health_page(board, accept):
    document, cache_control = board.health()
    headers = {'Content-Type': 'application/health+json'}
    if cache_control:
        headers['Cache-Control'] = cache_control
    return Answer(503 if document['status'] == checks.FAIL else 200, headers,
                  json.dumps(document).encode())
