"""What a service does beside answering requests, with the databases.

Heartbeats say in the ``services`` table that it is up; discovery maps compute
hosts that are new to their cells.  Each has a thread of its own that nobody
waits for: a database that is away or hangs keeps the service neither from
deciding nor from stopping.
"""

import fcntl
import itertools
import os
import threading

from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.db import discovery
from nova_sched.db import engine
from nova_sched.db import services

LOG = logging.getLogger(__name__)

#: Seconds from the start to the first heartbeat, as in Nova.
FIRST_BEAT = 5

#: [scheduler] discover_hosts_in_cells_interval = 0 means this many seconds.
DISCOVERY_INTERVAL = 60

#: Seconds that a start waits for the record to be made.
PATIENCE = 10


class Upkeep:
    """The work in the background of one service.

    conf: ConfigOpts.
    To be made before a fork, and used after it.
    """

    def __init__(self, conf):
        self._conf = conf
        self._alone = OneProcess()
        self._stopped = threading.Event()
        self._record = self._heartbeats = self._discoverer = None

    def register(self):
        """Make the record, before the service takes requests.

        Waits for that, PATIENCE seconds at most, or until ``stop``.
        """
        self._record = services.ServiceRecord(
            engine.database(self._conf), self._conf.host)
        self._heartbeats = Chore(
            'Reporting in the services table that this service is up',
            Heart(self._record), self._stopped)
        self._heartbeats.start([0])
        self._heartbeats.tried.wait(PATIENCE)

    def start(self):
        """Begin, as the service takes requests; after ``register``."""
        self._heartbeats.start(heartbeat_waits(self._conf))
        waits = discovery_waits(self._conf)
        if waits:
            self._discoverer = Discoverer(
                self._conf, self._record, self._alone)
            Chore('Looking for compute hosts that no cell mapping knows',
                  self._discoverer, self._stopped).start(waits)

    def stop(self):
        """Begin nothing more; what is under way is not waited for."""
        self._stopped.set()
        if self._heartbeats is not None:
            self._heartbeats.tried.set()
        if self._discoverer is not None:
            self._discoverer.close()


def heartbeat_waits(conf):
    """Seconds before each heartbeat: an iterable, empty for none."""
    if conf.report_interval <= 0:
        return ()
    return itertools.chain([FIRST_BEAT],
                           itertools.repeat(conf.report_interval))


def discovery_waits(conf):
    """Seconds before each search for new hosts: an iterable, or ()."""
    interval = conf.scheduler.discover_hosts_in_cells_interval
    if (interval < 0 or not conf.periodic_enable
            or not conf.api_database.connection):
        return ()
    return itertools.chain(
        [0], itertools.repeat(interval or DISCOVERY_INTERVAL))


class Chore:
    """Work that is done again and again, in a thread of its own.

    what: the work in words, for the log.
    work: function without arguments.  When it fails, the log says so once,
        until it works again.
    stopped: threading.Event after which it is not done any more.
    """

    def __init__(self, what, work, stopped):
        self._what, self._work, self._stopped = what, work, stopped
        self._failing = False
        #: threading.Event: a try has ended, or is not waited for.
        self.tried = threading.Event()

    def start(self, waits):
        """Do it after so many seconds each; waits: iterable of them."""
        threading.Thread(target=self.run, args=(waits,), daemon=True,
                         name=type(self._work).__name__).start()

    def run(self, waits):
        """As ``start``, in this thread."""
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


class Heart:
    """One heartbeat a call, but that the first one makes the record.

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


class Discoverer:
    """One search for new hosts a call, by one worker of the leader only.

    record: db.services.ServiceRecord.  alone: OneProcess.
    """

    def __init__(self, conf, record, alone):
        self._record, self._alone = record, alone
        self._down_time = config.service_down_time(conf)
        self._discovery = discovery.Discovery(conf)
        self._told = False

    def close(self):
        """End what it has going on with the databases."""
        self._discovery.close()

    def __call__(self):
        if not self._alone.claim():
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
        """That somebody else does the same work: a warning, but once."""
        LOG.log(logging.DEBUG if self._told else logging.WARNING,
                'This periodic task should only be enabled if discover hosts '
                'is not run via nova-manage, schedulers: %(hosts)s got a '
                'mapping from somebody else in the same moment. Set '
                '[scheduler] discover_hosts_in_cells_interval = -1, or do '
                'not run nova-manage cell_v2 discover_hosts',
                {'hosts': ','.join(hosts)})
        self._told = True


class OneProcess:
    """Lets one process through, of all that are forked of its maker.

    When that one has ended, however it did, it lets another one through.
    """

    def __init__(self):
        # Such locks belong to a process and are not inherited by a fork.
        self._file = os.memfd_create('one process')

    def __del__(self):
        os.close(self._file)

    def claim(self):
        """Whether this process is the one."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
