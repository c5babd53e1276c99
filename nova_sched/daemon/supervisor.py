"""The master process and its workers.

oslo.service's launcher (based on cotyledon) forks the workers, replaces dead
workers, and forwards SIGTERM. This module adds:

- Readiness. The launcher would report it before a worker can answer. Here each
  worker reports it when it consumes requests.
- Reload. The launcher would end all workers at SIGHUP. Here a thread of each
  process waits for the signal (``sighup.py``). The master checks the new
  configuration, adopts it for future workers if it is valid, and forwards the
  signal. A worker rebuilds its driver and serves without a pause.
- Configuration errors that only a worker can find. They end the service,
  rather than starting workers for ever.
- Replacement of hung workers (``watchdog.py``).

``Foreground`` is for debugging: one process, with the reload only.
"""

import contextlib
import errno
import gc
import multiprocessing
import os
import signal
import threading
import time

from oslo_config import cfg
from oslo_log import log as logging
from oslo_service import backend

from nova_sched import exception
from nova_sched import service
from nova_sched.concurrency import threads
from nova_sched.daemon import endpoints
from nova_sched.daemon import messenger
from nova_sched.daemon import sighup
from nova_sched.daemon import watchdog
from nova_sched.inventory import shared_picks
from nova_sched.observe import guru
from nova_sched.options import spelling
from nova_sched.preflight import startup

LOG = logging.getLogger(__name__)

#: Signals that end a service in the foreground; SIGINT is Ctrl-C.
_ENDS = (signal.SIGTERM, signal.SIGINT)

#: Seconds that a fork waits for the check of a reload.
CHECK_PATIENCE = 10

#: Errors of a directory that is missing or not writable.
_NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT)


class Worker(service.SchedulerService):
    """The scheduler of a worker process; created in the master.

    notifier: systemd.Notifier.  sighup_handler: sighup.SighupHandler.
    workers, picks, health: see SchedulerService.
    """

    def __init__(self, conf, notifier, sighup_handler, workers=1, picks=None,
                 health=None):
        super().__init__(conf, workers, picks, health)
        self._notifier, self._sighup = notifier, sighup_handler
        self.watchdog = watchdog.Watchdog(notifier)
        self._master = os.getpid()
        self._refused = multiprocessing.get_context('fork').Event()

    @property
    def refused(self):
        """Whether a worker could not run with its configuration."""
        return self._refused.is_set()

    def alive(self):
        """Return whether this worker polls for requests, or does not serve."""
        server = self.server if self.serving else None
        polled_at = server.polled_at if server else None
        return (polled_at is None
                or time.monotonic() - polled_at < self.watchdog.seconds / 2)

    def start(self):
        guru.watch_file(self.conf)
        # Options must not change during the start; the log may be reopened.
        reset = sighup.Deferred(self.reset)
        self._sighup.call_on_sighup(reset)
        self.watchdog.beat_while(self.alive, self._stopped)
        if _refusal(self.conf, super().start):
            self._refused.set()
            # The parent of an orphan is process 1, which must not be killed.
            if os.getppid() == self._master:
                os.kill(self._master, signal.SIGTERM)
        elif self.serving:
            # Libraries and the first state stay: keep the garbage collector
            # from scanning them in each round.
            gc.collect()
            gc.freeze()
            # One request makes more objects than Python's default of 700, and
            # nearly all are short-lived.
            gc.set_threshold(10_000)
            self._notifier.ready()
            reset.begin()

    def reset(self):
        try:
            super().reset()
        finally:
            self._notifier.ready()

    def waiting(self, dependency):
        self._notifier.waiting(dependency)


def check_semaphores():
    """Raise OSError if workers cannot have semaphores.

    glibc creates them in /dev/shm.
    """
    try:
        multiprocessing.get_context('fork').Lock()
    except OSError as error:
        if error.errno not in _NOT_WRITABLE:
            raise
        raise OSError(
            error.errno, f'{error.strerror}: workers need semaphores; mount '
            'a tmpfs there that this user can write to, as container engines '
            'do', '/dev/shm') from error  # noqa: S108


class Supervisor:
    """The master process.

    conf: ConfigOpts, checked.
    reread: function that returns a ConfigOpts of the files' present content.
    notifier: systemd.Notifier.
    """

    def __init__(self, conf, reread, notifier):
        self._conf = conf
        self._reread = reread
        self._notifier = notifier
        self._sighup = sighup.SighupHandler()
        # Held while a reload is checked, and while a process is forked; a
        # plug-in that is loaded by a check may fork as well.
        self._checking = threading.RLock()
        self._unforked, self._all_forked = 0, threading.Event()

    def run(self):
        """Serve until a signal ends it, and return the exit status."""
        sighup.block()
        workers = startup.worker_count(self._conf)
        health = endpoints.Health.of(self._conf, workers)
        picks = shared_picks.SharedPicks(workers)
        worker = Worker(self._conf, self._notifier, self._sighup, workers,
                        picks, health)
        launcher = backend.get_component('launch')(
            self._conf, worker, workers=workers)
        launcher.launch_service(messenger.Messenger(
            self._conf, picks, self._sighup))
        if health is not None:
            launcher.launch_service(endpoints.Endpoints(
                health, self._sighup))
        self._count_forks(workers + 1 + (health is not None))
        # The launcher reads signals from a wakeup descriptor: its handlers are
        # empty and may be replaced.  Workers install handlers of their own.
        signal.signal(signal.SIGTERM, lambda *_: self._notifier.stopping())
        self._sighup.call_on_sighup(self._reload)
        worker.watchdog.watch()
        try:
            status = launcher.wait()
        except SystemExit as ended:
            status = ended.code
        return startup.EXIT_CONFIGURATION if worker.refused else status

    def _count_forks(self, processes):
        """Fork no process while a reload is checked.

        A worker would inherit the locks of that thread, such as those of
        imports, as held, and no thread of it would release them.
        processes: number to fork; the first reload waits for them, as only
            forked processes receive its signal.
        """
        def release():
            # Without the lock if a check has lasted for CHECK_PATIENCE.
            with contextlib.suppress(RuntimeError):
                self._checking.release()

        def forked():
            release()
            self._unforked -= 1
            if not self._unforked:
                self._all_forked.set()

        self._unforked = processes
        os.register_at_fork(
            before=lambda: self._checking.acquire(timeout=CHECK_PATIENCE),
            after_in_parent=forked, after_in_child=release)

    def _reload(self):
        """Pass a valid configuration to the workers.

        The workers then report that the service is ready again.
        """
        self._all_forked.wait()
        self._notifier.reloading()
        is_valid = False
        try:
            with self._checking:
                is_valid = self._adopt()
        finally:
            # Even if it is invalid, workers must reopen their log files.
            self._sighup.forward(refused=not is_valid)
            if not is_valid:
                self._notifier.ready()

    def _adopt(self):
        """Read the configuration if it is valid; return whether it is."""
        try:
            problems = startup.problems(self._reread())
        except (cfg.Error, exception.ConfigurationError) as error:
            problems = [error]
        for problem in problems:
            LOG.error('Not reloading: %s', problem)
        if not problems:
            sighup.reread(self._conf)
        return not problems


class Foreground(service.SchedulerService):
    """The scheduler in this process, which keeps its standard input.

    A debugger in a plug-in can be used from the terminal, for any time: no
    watchdog ends the process.

    conf: ConfigOpts, checked.  notifier: systemd.Notifier.
    """

    def __init__(self, conf, notifier):
        self._health = endpoints.Health.of(conf, workers=1)
        super().__init__(conf, health=self._health)
        self._notifier, self._sighup = notifier, sighup.SighupHandler()

    def run(self):
        """Serve until SIGTERM or SIGINT, and return the exit status.

        A second signal kills the process, even if it waits for input.
        """
        sighup.block()
        for number in _ENDS:
            signal.signal(number, self._end)
        if self._health is None:
            return self._serve()
        pages = endpoints.Endpoints(self._health, self._sighup)
        pages.begin()
        try:
            return self._serve()
        finally:
            pages.stop()

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
        # In a thread: the interrupted code may hold a lock that a stop needs.
        threads.start('stop', self.stop)

    def waiting(self, dependency):
        self._notifier.waiting(dependency)


def _refusal(conf, start):
    """Call ``start``; return the text of its ConfigurationError, or None."""
    reason = None
    try:
        start()
    except exception.ConfigurationError as error:
        reason = spelling.Spelling(conf).in_error(error)
    # Outside the handler: oslo.log would append the error again.
    if reason:
        LOG.critical('Cannot run with this configuration: %s', reason)
    return reason
