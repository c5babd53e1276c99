"""Periodic database work, in threads apart from the requests.

Heartbeats in the ``services`` table report that the service is up; discovery
maps new compute hosts to their cells.  Each has a daemon thread: a database
that is down or hangs delays neither decisions nor the stop.
"""

import itertools
import threading

from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.concurrency import threads
from nova_sched.db import discovery
from nova_sched.db import engine
from nova_sched.db import services
from nova_sched.shared_region import SharedRegion

LOG = logging.getLogger(__name__)

#: Seconds from the start to the first heartbeat, as in Nova.
FIRST_BEAT = 5

#: [scheduler] discover_hosts_in_cells_interval = 0 means this many seconds.
DISCOVERY_INTERVAL = 60

#: Seconds that a start waits for the creation of the service record.
REGISTER_TIMEOUT = 10


class BackgroundTasks:
    """The heartbeats and the host discovery of one service.

    conf: ConfigOpts.
    Created before the fork, and used after it.
    """

    def __init__(self, conf):
        self._conf = conf
        self._elected = SharedRegion('one process')
        self._stopped = threading.Event()
        self._record = self._heartbeats = self._discovery = None

    def register(self):
        """Create the service record, before the service takes requests.

        Waits at most REGISTER_TIMEOUT seconds, or until ``stop``.
        """
        self._record = services.ServiceRecord(
            engine.database(self._conf), self._conf.host)
        self._heartbeats = PeriodicTask(
            'Reporting in the services table that this service is up',
            Heartbeat(self._record), self._stopped)
        self._heartbeats.start([0])
        self._heartbeats.tried.wait(REGISTER_TIMEOUT)

    @property
    def service_id(self):
        """The id of the service record; None while there is none."""
        return self._record and self._record.service_id

    def start(self):
        """Start the tasks; call ``register`` first."""
        self._heartbeats.start(heartbeat_waits(self._conf))
        waits = discovery_waits(self._conf)
        if waits:
            self._discovery = HostDiscovery(
                self._conf, self._record, self._elected)
            PeriodicTask('Discovery of compute hosts without a cell mapping',
                         self._discovery, self._stopped).start(waits)

    def stop(self):
        """Stop the tasks, without waiting for running ones."""
        self._stopped.set()
        if self._heartbeats is not None:
            self._heartbeats.tried.set()
        if self._discovery is not None:
            self._discovery.close()


def heartbeat_waits(conf):
    """Return the seconds before each heartbeat: iterable, empty for none."""
    if conf.report_interval <= 0:
        return ()
    return itertools.chain([FIRST_BEAT],
                           itertools.repeat(conf.report_interval))


def discovery_waits(conf):
    """Return the seconds before each search for new hosts: iterable."""
    interval = conf.scheduler.discover_hosts_in_cells_interval
    if (interval < 0 or not conf.periodic_enable
            or not conf.api_database.connection):
        return ()
    return itertools.chain(
        [0], itertools.repeat(interval or DISCOVERY_INTERVAL))


class PeriodicTask:
    """A function that is called periodically, in a thread of its own.

    name: text for the log.
    work: the function, without arguments.  The first of several failures is
        logged, and the recovery.
    stopped: threading.Event that ends the task.
    """

    def __init__(self, name, work, stopped):
        self._name, self._work, self._stopped = name, work, stopped
        self._failing = False
        #: threading.Event: the first call has ended, or the task has.
        self.tried = threading.Event()

    def start(self, waits):
        """Start the thread; waits: iterable of the seconds before each call.
        """
        threads.start(type(self._work).__name__, self.run, waits)

    def run(self, waits):
        """Run the task in this thread; waits: see ``start``."""
        for wait in waits:
            if self._stopped.wait(wait):
                break
            self._try()
            self.tried.set()
        self.tried.set()

    def _try(self):
        error = None
        try:
            self._work()
        except Exception as exc:
            error = exc
        if error is not None and not self._failing:
            expected = isinstance(error, exception.DatabaseUnavailable)
            LOG.warning(
                '%(task)s fails; retrying without further log lines until it '
                'works again: %(reason)s', {
                    'task': self._name,
                    'reason': error if expected else repr(error)},
                exc_info=None if expected else error)
        elif error is None and self._failing:
            LOG.info('%s works again', self._name)
        self._failing = error is not None


class Heartbeat:
    """One heartbeat a call; the first call creates the service record.

    record: db.services.ServiceRecord.
    """

    def __init__(self, record):
        self._record = record
        self._registered = False

    def __call__(self):
        if not self._registered:
            self._record.register()
            self._registered = True
        elif not self._record.heartbeat():
            self._record.register()
            LOG.warning(
                'The record of this service, %(binary)s on host %(host)s, '
                'was deleted from the services table; it was created again. '
                'To remove it, stop the service before deleting it',
                {'binary': services.BINARY, 'host': self._record.host})


class HostDiscovery:
    """One search for new hosts a call, in one worker of the leader only.

    record: db.services.ServiceRecord.
    elected: SharedRegion; one worker holds its lock for its lifetime.
    """

    def __init__(self, conf, record, elected):
        self._record, self._elected = record, elected
        self._down_time = config.service_down_time(conf)
        self._discovery = discovery.Discovery(conf)
        self._is_warned = False

    def close(self):
        """Close the databases, and give up running queries."""
        self._discovery.close()

    def __call__(self):
        if not self._elected.try_lock():
            LOG.debug('Another worker discovers hosts')
            return
        leader = self._record.leader(self._down_time)
        if leader != self._record.host:
            LOG.debug('Not discovering hosts: the leading scheduler on host '
                      '%s does', leader)
            return
        result = self._discovery.run()
        if result.mapped:
            LOG.info('Discovered %(count)i new hosts: %(hosts)s',
                     {'count': len(result.mapped),
                      'hosts': ','.join(result.mapped)})
        if result.mapped_by_others:
            LOG.log(logging.DEBUG if self._is_warned else logging.WARNING,
                    'This periodic task should only be enabled if discover '
                    'hosts is not run via nova-manage, schedulers: %(hosts)s '
                    'were mapped by another program at the same moment. Set '
                    '[scheduler] discover_hosts_in_cells_interval = -1, or '
                    'do not run nova-manage cell_v2 discover_hosts',
                    {'hosts': ','.join(result.mapped_by_others)})
            self._is_warned = True
