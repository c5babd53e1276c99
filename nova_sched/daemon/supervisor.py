"""Worker processes: forked, watched, reloaded and stopped.

oslo.service's launcher (cotyledon underneath) forks the workers, starts a
new one in place of one that died, and passes SIGTERM on to them. What it
leaves open is done here:

- Readiness. The launcher would report it before a worker can answer;
  instead each worker reports it when it consumes requests.
- Reload. The launcher answers SIGHUP by ending every worker. Here a thread of
  each process waits for it (``sighup.py``): the parent first checks the new
  configuration and, when it is good, takes it over for workers to come; it
  passes the signal on, and a worker rebuilds what depends on options and
  never stops serving.
- A configuration that only a worker can find wrong ends the whole service,
  instead of having workers started for ever.
- A worker that hangs is replaced (``watchdog.py``).

``Foreground`` is for debugging, and does without all of it but the reload.
"""

import errno
import gc
import multiprocessing
import os
import signal
import time

from oslo_config import cfg
from oslo_log import log as logging
from oslo_service import backend

from nova_sched import exception
from nova_sched import service
from nova_sched.concurrency import threads
from nova_sched.daemon import messenger
from nova_sched.daemon import sighup
from nova_sched.daemon import watchdog
from nova_sched.health import endpoints
from nova_sched.observe import guru
from nova_sched.options import spelling
from nova_sched.preflight import startup

LOG = logging.getLogger(__name__)

#: What ends a service in the foreground: of a supervisor, and Ctrl-C.
_ENDS = (signal.SIGTERM, signal.SIGINT)


#: What a directory that cannot be written, or is not there, fails with.
_NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT)


class Worker(service.SchedulerService):
    """The scheduler in one of the worker processes, made in their parent.

    notifier: systemd.Notifier.  sighup_handler: sighup.SighupHandler.
    workers, tells, health: as of SchedulerService.
    """

    def __init__(self, conf, notifier, sighup_handler, workers=1, tells=False,
                 health=None):
        super().__init__(conf, workers, tells, health)
        self._notifier, self._sighup = notifier, sighup_handler
        self.watchdog = watchdog.Watchdog(notifier)
        self._parent = os.getpid()
        self._refused = multiprocessing.get_context('fork').Event()

    @property
    def picks(self):
        """The ring of what workers pick: SharedPicks, or None."""
        return self._picks

    @property
    def refused(self):
        """Whether a worker found that it cannot run with its options."""
        return self._refused.is_set()

    def alive(self):
        """Return whether this worker polls for requests, or does not serve."""
        server = self.server if self.serving else None
        polled_at = server.polled_at if server else None
        return (polled_at is None
                or time.monotonic() - polled_at < self.watchdog.seconds / 2)

    def start(self):
        guru.watch_file(self.conf)
        # What it starts with is not to change meanwhile; its log is.
        reset = sighup.Deferred(self.reset)
        self._sighup.call_on_sighup(reset)
        self.watchdog.beat_while(self.alive, self._stopped)
        if _refusal(self.conf, super().start):
            self._refused.set()
            # An orphan has process 1 for a parent, and it is not to be ended.
            if os.getppid() == self._parent:
                os.kill(self._parent, signal.SIGTERM)
        elif self.serving:
            # What is there to stay, libraries and the first state, is not to
            # be looked through in each of the garbage collector's rounds.
            gc.collect()
            gc.freeze()
            # A request makes more objects than the 700 of Python's default;
            # nearly all are gone before the next.
            gc.set_threshold(10_000)
            self._notifier.ready()
            reset.begin()

    def reset(self):
        try:
            super().reset()
        finally:
            self._notifier.ready()

    def waiting(self, what):
        self._notifier.waiting(what)


def check_semaphores():
    """Raise OSError where the system has no semaphores for workers.

    glibc makes them in /dev/shm.
    """
    try:
        multiprocessing.get_context('fork').Lock()
    except OSError as error:
        if error.errno not in _NOT_WRITABLE:
            raise
        raise OSError(
            error.errno, f'{error.strerror}: workers need semaphores; have '
            'this user write to a tmpfs there, as in any container that an '
            'engine runs', '/dev/shm') from error  # noqa: S108


class Supervisor:
    """The parent process.

    conf: ConfigOpts, checked.
    reread: a function that returns a fresh ConfigOpts made as ``conf`` was.
    notifier: systemd.Notifier.
    """

    def __init__(self, conf, reread, notifier):
        self._conf = conf
        self._reread = reread
        self._notifier = notifier
        self._sighup = sighup.SighupHandler()

    def run(self):
        """Serve until a signal ends it, and return the exit status."""
        sighup.block()
        workers = startup.worker_count(self._conf)
        tells = self._conf.nova_sched.tell_picks
        health = endpoints.Health.of(self._conf, workers)
        worker = Worker(self._conf, self._notifier, self._sighup, workers,
                        tells, health)
        launcher = backend.get_component('launch')(
            self._conf, worker, workers=workers)
        if tells:
            launcher.launch_service(messenger.Messenger(
                self._conf, worker.picks, self._sighup))
        if health is not None:
            launcher.launch_service(endpoints.Endpoints(
                health, self._sighup))
        # The launcher learns of signals through a wakeup descriptor, so its
        # own handlers are empty and may be replaced; workers get new ones.
        signal.signal(signal.SIGTERM, lambda *_: self._notifier.stopping())
        self._sighup.call_on_sighup(self._reload)
        worker.watchdog.watch()
        try:
            status = launcher.wait()
        except SystemExit as ended:
            status = ended.code
        return startup.EXIT_CONFIGURATION if worker.refused else status

    def _reload(self):
        """Hand a changed configuration to the workers, if it is a good one.

        They tell then that the service is ready again.
        """
        self._notifier.reloading()
        is_good = False
        try:
            is_good = self._is_good()
        finally:
            # Their log files may have moved in any case.
            self._sighup.hand_on(refused=not is_good)
            if not is_good:
                self._notifier.ready()

    def _is_good(self):
        """Take the configuration over; return whether it is a good one."""
        found = self._problems()
        for problem in found:
            LOG.error('Not reloading: %s', problem)
        if not found:
            sighup.reread(self._conf)
        return not found

    def _problems(self):
        """Return what is wrong with the configuration in the files: list."""
        try:
            return startup.problems(self._reread())
        except (cfg.Error, exception.ConfigurationError) as error:
            return [error]


class Foreground(service.SchedulerService):
    """The scheduler alone in this process, which keeps its standard input.

    So a debugger that a plug-in starts can be used from the terminal; nobody
    minds for how long, for there is no watchdog of workers.

    conf: ConfigOpts, checked.  notifier: systemd.Notifier.
    """

    def __init__(self, conf, notifier):
        self._health = endpoints.Health.of(conf, workers=1)
        super().__init__(conf, health=self._health)
        self._notifier, self._sighup = notifier, sighup.SighupHandler()

    def run(self):
        """Serve until SIGTERM or SIGINT, and return the exit status.

        A second one ends it at once, whoever waits for input.
        """
        sighup.block()
        for number in _ENDS:
            signal.signal(number, self._end)
        if self._health is None:
            return self._serve()
        told = endpoints.Endpoints(self._health, self._sighup)
        told.begin()
        try:
            return self._serve()
        finally:
            told.stop()

    def _serve(self):
        reset = sighup.Deferred(self.reset)
        self._sighup.call_on_sighup(reset)
        if _refusal(self.conf, self.start):
            return startup.EXIT_CONFIGURATION
        if self.serving:
            self._notifier.keep_alive(self._stopped)
            self._notifier.ready()
            reset.begin()
        self.wait()
        return 0

    def _end(self, *_):
        for number in _ENDS:
            signal.signal(number, signal.SIG_DFL)
        self._notifier.stopping()
        # Elsewhere, for this thread may hold a lock that stopping takes.
        threads.start('stop', self.stop)

    def waiting(self, what):
        self._notifier.waiting(what)


def _refusal(conf, start):
    """Start, and return the ConfigurationError that it ends with, or None."""
    reason = None
    try:
        start()
    except exception.ConfigurationError as error:
        reason = spelling.Spelling(conf).in_error(error)
    # Outside of the handler, where oslo.log would add it once more.
    if reason:
        LOG.critical('Cannot run with this configuration: %s', reason)
    return reason
