"""Periodic work on the databases, beside the requests.

Heartbeats say in the ``services`` table that the service is up; discovery
maps compute hosts that are new to their cells.  Each has a thread of its own
that nobody waits for: a database that is away or hangs keeps the service
neither from deciding nor from stopping.
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

#: Seconds that a start waits for the service record to be made.
REGISTER_TIMEOUT = 10


class BackgroundTasks:
    """The heartbeats and the host discovery of one service.

    conf: ConfigOpts.
    Made before a fork, and used after it.
    """

    def __init__(self, conf):
        self._conf = conf
        self._alone = SharedRegion('one process')
        self._stopped = threading.Event()
        self._record = self._heartbeats = self._discovery = None

    def register(self):
        """Make the service record, before the service takes requests.

        Waits for that, REGISTER_TIMEOUT seconds at most, or until ``stop``.
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
        """Start the tasks; to be called after ``register``."""
        self._heartbeats.start(heartbeat_waits(self._conf))
        waits = discovery_waits(self._conf)
        if waits:
            self._discovery = HostDiscovery(
                self._conf, self._record, self._alone)
            PeriodicTask(
                'Looking for compute hosts that no cell mapping knows',
                self._discovery, self._stopped).start(waits)

    def stop(self):
        """Stop the tasks, without waiting for what is under way."""
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

    what: what it does, for the log.
    work: the function, without arguments.  When it fails, the log says so
        once, and once more when it works again.
    stopped: threading.Event that ends the task.
    """

    def __init__(self, what, work, stopped):
        self._what, self._work, self._stopped = what, work, stopped
        self._failing = False
        #: threading.Event: a first call has ended, or is not waited for.
        self.tried = threading.Event()

    def start(self, waits):
        """Start the thread; waits: iterable of the seconds before each call.
        """
        threads.start(type(self._work).__name__, self.run, waits)

    def run(self, waits):
        """Run the task in this thread; waits: as for ``start``."""
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
                '%(what)s fails; it is tried on, and the next line about it '
                'will be that it works again: %(reason)s', {
                    'what': self._what,
                    'reason': error if expected else repr(error)},
                exc_info=None if expected else error)
        elif error is None and self._failing:
            LOG.info('%s works again', self._what)
        self._failing = error is not None


class Heartbeat:
    """One heartbeat a call, of which the first makes the service record.

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
                'was deleted from the services table and has been made anew. '
                'To be rid of it, stop the service before deleting it',
                {'binary': services.BINARY, 'host': self._record.host})


class HostDiscovery:
    """One search for new hosts a call, in one worker of the leader only.

    record: db.services.ServiceRecord.
    alone: SharedRegion, whose lock one worker holds as long as it lives.
    """

    def __init__(self, conf, record, alone):
        self._record, self._alone = record, alone
        self._down_time = config.service_down_time(conf)
        self._discovery = discovery.Discovery(conf)
        self._told = False

    def close(self):
        """Close the databases, and give up what is going on with them."""
        self._discovery.close()

    def __call__(self):
        if not self._alone.try_lock():
            LOG.debug('Another worker looks for new hosts')
            return
        leader = self._record.leader(self._down_time)
        if leader != self._record.host:
            LOG.debug('Not looking for new hosts: that is for the leading '
                      'scheduler, which is that on host %s', leader)
            return
        found = self._discovery.run()
        if found.mapped:
            LOG.info('Discovered %(count)i new hosts: %(hosts)s',
                     {'count': len(found.mapped),
                      'hosts': ','.join(found.mapped)})
        if found.mapped_by_others:
            self._tell(found.mapped_by_others)

    def _tell(self, hosts):
        """Warn once that somebody else maps hosts at the same time."""
        LOG.log(logging.DEBUG if self._told else logging.WARNING,
                'This periodic task should only be enabled if discover hosts '
                'is not run via nova-manage, schedulers: %(hosts)s got a '
                'mapping from somebody else in the same moment. Set '
                '[scheduler] discover_hosts_in_cells_interval = -1, or do '
                'not run nova-manage cell_v2 discover_hosts',
                {'hosts': ','.join(hosts)})
        self._told = True
