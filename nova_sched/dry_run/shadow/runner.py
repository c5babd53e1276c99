"""``nova-sched --shadow``: a process that decides a copy of each request.

One thread does all the work in turn: it takes requests from the tap and
decides them, looks for the live decisions on earlier requests, and logs the
totals periodically. It answers no caller, claims nothing, and writes only its
report.
"""

import contextlib
import signal
import threading
import time

from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched import exception
from nova_sched import service
from nova_sched import version
from nova_sched.daemon import sighup
from nova_sched.dry_run import decider
from nova_sched.dry_run.shadow import live_picks
from nova_sched.dry_run.shadow import report
from nova_sched.dry_run.shadow import tap
from nova_sched.dry_run.shadow import watcher
from nova_sched.options import spelling
from nova_sched.preflight import startup

LOG = logging.getLogger(__name__)

#: Maximum wait for a message, in seconds; it delays a stop.
_MESSAGE_WAIT = 0.2
#: Requests that are decided between two looks for live decisions.
_BURST = 8
#: Seconds between two connection attempts, and between two health lines.
_RETRY, _HEALTH = 3, 60


class Shadow:
    """The shadow service.

    conf: valid ConfigOpts.  notifier: systemd.Notifier.

    Raises ConfigurationError if a shadow cannot run with them.
    """

    def __init__(self, conf, notifier):
        self._conf, self._notifier = conf, notifier
        self._stopping = threading.Event()
        self._tap = tap.Tap(conf)
        self._decider = decider.Decider(conf, is_shadow=True)
        self._live_picks = live_picks.LivePicks(conf, self._decider)
        self.report = report.Report(conf.nova_sched.shadow_report)
        self._watcher = watcher.LiveDecisionWatcher(
            conf, self._decider, self._live_picks, self.report)
        self._last_health = self._last_periodic = time.monotonic()
        self._last_error = None

    def stop(self):
        """Make ``run`` return after at most one pending answer."""
        self._stopping.set()
        if self._decider.placement is not None:
            self._decider.placement.stop()

    def run(self):
        """Compare requests until ``stop`` is called."""
        self._notifier.keep_alive(self._stopping)
        LOG.info('Starting as a shadow (version %s): nothing is answered, '
                 'claimed or written', version.version_string())
        try:
            self._start()
            while not self._stopping.is_set():
                self._listen()
        finally:
            self._notifier.stopping()
            self._tap.close()
            self._decider.stop()
            self._live_picks.close()
            LOG.info('Stopped: %s; %d not compared', self.report.summary(),
                     len(self._watcher))

    def _start(self):
        """Wait for the database, then start the driver."""
        self._notifier.waiting('the database')
        with contextlib.suppress(exception.DatabaseUnavailable):
            service.start_when_database_answers(self._decider, self._conf,
                                                self._sleep)

    def _sleep(self, seconds):
        if self._stopping.wait(seconds):
            raise exception.DatabaseUnavailable('The shadow is stopping')

    def _listen(self):
        """Compare the requests of the tap until its connection is lost."""
        url = config.masked(config.transport_url(self._conf))
        try:
            self._tap.open()
            LOG.info('Listening to topic %s of exchange %s at %s',
                     self._conf.scheduler_topic, self._conf.control_exchange,
                     url)
            self._last_error = None
            self._notifier.ready()
            while not self._stopping.is_set():
                self._work()
            return
        except tap.ConnectionLost as exc:
            error = str(exc)
        if error != self._last_error:
            LOG.error('Cannot listen at %s, next attempts every %d seconds: '
                      '%s', url, _RETRY, error)
        self._last_error = error
        self._notifier.waiting(f'the message broker at {url}')
        end = time.monotonic() + _RETRY
        while (time.monotonic() < end
               and not self._stopping.wait(_MESSAGE_WAIT)):
            self._watcher.poll()

    def _work(self):
        """Decide some requests, look for live decisions, run what is due."""
        for _ in range(_BURST):
            if not self._handle_message():
                break
        self._watcher.poll()
        self._run_periodic_tasks()
        now = time.monotonic()
        if now - self._last_health >= _HEALTH:
            self._last_health = now
            with contextlib.suppress(exception.DatabaseUnavailable):
                # On failure the known cells stay in use.
                self._live_picks.refresh_cells()
            self._log_health()

    def _handle_message(self):
        """Decide the next message if it is a request.

        Returns whether there was a message.
        """
        problem = None
        try:
            call = self._tap.next(_MESSAGE_WAIT)
            if call is None:
                return False
            if call.method == tap.SELECT_DESTINATIONS:
                self._watcher.add(call)
        except tap.ConnectionLost:
            raise
        except ValueError as exc:
            problem = exc
        except Exception:
            # Callers and live schedulers are not affected.
            LOG.exception('A request cannot be compared')
        if problem is not None:
            LOG.warning('Ignored a message on the topic: %s', problem)
        return True

    def _log_health(self):
        waiting = self._tap.queue_length()
        LOG.info('Shadow: %(summary)s; %(open)d without a live decision yet, '
                 '%(waiting)d waiting at the broker', {
                     'summary': self.report.summary(),
                     'open': len(self._watcher), 'waiting': waiting})
        if waiting >= tap.MAX_WAITING:
            LOG.warning('%d requests wait at the broker: the oldest are '
                        'dropped, and not compared', waiting)

    def _run_periodic_tasks(self):
        """Run the driver's periodic tasks if they are due."""
        interval = (self._conf.scheduler.periodic_task_interval
                    or service.DEFAULT_PERIOD)
        now = time.monotonic()
        if (not self._decider.driver.PERIODIC or interval < 0
                or not self._conf.periodic_enable
                or now - self._last_periodic < interval):
            return
        self._last_periodic = now
        service.run_periodic_tasks(self._decider.driver, interval)


def run(conf, notifier):
    """Run as a shadow until SIGTERM or SIGINT, and return the exit status.

    SIGHUP only reopens log files: all requests have to be compared under the
    same configuration.
    """
    shadow = Shadow(conf, notifier)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: shadow.stop())
    sighup.block()
    sighup.SighupHandler().call_on_sighup(lambda: LOG.warning(
        'A shadow keeps its configuration: restart it'))
    try:
        shadow.run()
        return 0
    except exception.ConfigurationError as exc:
        error = spelling.Spelling(conf).in_error(exc)
    LOG.critical('Cannot run with this configuration: %s', error)
    return startup.EXIT_CONFIGURATION
