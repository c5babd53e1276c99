"""``nova-sched --shadow``: one process that decides what others are asked.

One thread does all of it, in turn: it takes requests from the tap and decides
them at once, looks what the live schedulers have made of those before, and
says now and then how it stands. It answers nothing, claims nothing and writes
nothing but its report.
"""

import contextlib
import signal
import threading
import time

from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched import context
from nova_sched import exception
from nova_sched import supervisor
from nova_sched import version
from nova_sched.db import engine
from nova_sched.options import spelling
from nova_sched.shadow import decide
from nova_sched.shadow import live
from nova_sched.shadow import report
from nova_sched.shadow import tap
from nova_sched.shadow import watch

LOG = logging.getLogger(__name__)

#: Seconds that a message is waited for, and so for a stop at most.
_IDLE = 0.2
#: Requests that are decided before it is looked for live decisions again.
_BURST = 8
#: Seconds between two tries at a broker, and between two lines of how it is.
_RETRY, _HEALTH = 3, 60
#: [scheduler] periodic_task_interval = 0 means this many seconds.
_PERIOD = 60


class Shadow:
    """The service.

    conf: ConfigOpts, checked.  Raises ConfigurationError for what keeps a
    shadow from running.
    notifier: systemd.Notifier.
    """

    def __init__(self, conf, notifier):
        self._conf, self._notifier = conf, notifier
        self._stopping = threading.Event()
        self._tap = tap.Tap(conf)
        self._placement = decide.placement_of(conf)
        self._decider = decide.Decider(conf, self._placement)
        self._live = live.LivePicks(conf, self._placement, self._decider)
        self.report = report.Report(conf.nova_sched.shadow_report)
        self._watch = watch.Watch(conf, self._decider, self._live,
                                  self._placement, self.report)
        self._told = self._worked = time.monotonic()
        self._lost = None

    def stop(self):
        """Have ``run`` return, after one answer that is waited for at most.
        """
        self._stopping.set()
        if self._placement is not None:
            self._placement.stop()

    def run(self):
        """Compare until ``stop``."""
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
            self._decider.driver.stop()
            self._live.close()
            LOG.info('Stopped: %(summary)s; %(left)d not compared', {
                'summary': self.report.summary(), 'left': len(self._watch)})

    def _start(self):
        """Wait for the database, and have the driver read its first state."""
        self._notifier.waiting('the database')
        while not self._stopping.is_set():
            try:
                engine.wait_for_database(self._conf, LOG, self._sleep)
                return self._decider.driver.start()
            except exception.DatabaseUnavailable as error:
                reason = error
            LOG.error('Still waiting for the database: %s', reason)
            self._stopping.wait(self._conf.database.retry_interval)

    def _sleep(self, seconds):
        if self._stopping.wait(seconds):
            raise exception.DatabaseUnavailable('stopped meanwhile')

    def _listen(self):
        """Compare what comes through the tap, until it is lost."""
        url = config.masked(config.transport_url(self._conf))
        try:
            self._tap.open()
            LOG.info('Listening to topic %(topic)s of exchange %(exchange)s '
                     'at %(url)s', {
                         'topic': self._conf.scheduler_topic, 'url': url,
                         'exchange': self._conf.control_exchange})
            self._lost = None
            self._notifier.ready()
            while not self._stopping.is_set():
                self._turn()
            return
        except tap.Lost as exc:
            error = str(exc)
        if error != self._lost:
            LOG.error('Nothing is heard at %(url)s, tried again every '
                      '%(wait)d seconds: %(error)s',
                      {'url': url, 'wait': _RETRY, 'error': error})
        self._lost = error
        self._notifier.waiting(f'the message broker at {url}')
        end = time.monotonic() + _RETRY
        while time.monotonic() < end and not self._stopping.wait(_IDLE):
            self._watch.look()

    def _turn(self):
        """Some requests, the live decisions that are due, and the rest."""
        for _ in range(_BURST):
            if not self._one():
                break
        self._watch.look()
        self._periodic()
        now = time.monotonic()
        if now - self._told >= _HEALTH:
            self._told = now
            with contextlib.suppress(exception.DatabaseUnavailable):
                # Those that were found last go on otherwise.
                self._live.refresh()
            self._tell_health()

    def _one(self):
        """Whether there was a message, which is decided."""
        problem = None
        try:
            call = self._tap.next(_IDLE)
            if call is None:
                return False
            if call.asks_for_hosts:
                self._watch.take(call)
        except tap.Lost:
            raise
        except ValueError as exc:
            problem = exc
        except Exception:
            # Neither callers nor live schedulers suffer from it.
            LOG.exception('A request cannot be compared')
        if problem is not None:
            LOG.warning('A message on the topic is left out: %s', problem)
        return True

    def _tell_health(self):
        waiting, most = self._tap.waiting(), self._conf.nova_sched
        LOG.info('Shadow: %(summary)s; %(open)d without a live decision yet, '
                 '%(waiting)d waiting at the broker', {
                     'summary': self.report.summary(),
                     'open': len(self._watch), 'waiting': waiting})
        if waiting >= most.shadow_queue:
            LOG.warning('[nova_sched] shadow_queue = %d is full: the oldest '
                        'requests are dropped, and not compared',
                        most.shadow_queue)

    def _periodic(self):
        """The driver's periodic work, if it has any."""
        interval = self._conf.scheduler.periodic_task_interval or _PERIOD
        now = time.monotonic()
        if (not self._decider.driver.PERIODIC or interval < 0
                or not self._conf.periodic_enable
                or now - self._worked < interval):
            return
        self._worked = now
        problem = None
        try:
            self._decider.driver.run_periodic_tasks(
                context.RequestContext(overwrite=False))
        except exception.DatabaseUnavailable as exc:
            problem = exc
        if problem is not None:
            LOG.warning('Periodic work of the driver failed, next try in '
                        '%(interval)s seconds: %(error)s',
                        {'interval': interval, 'error': problem})


@spelling.errors_as_written
def problems(conf):
    """What a shadow cannot run with: list of ConfigurationError."""
    try:
        tap.check(conf)
    except exception.ConfigurationError as error:
        return [error]
    return []


def run(conf, notifier):
    """Run as a shadow until a signal ends it; the exit status.

    SIGTERM and SIGINT end it.  SIGHUP changes nothing: what a comparison is
    about must not change in its course.
    """
    shadow = Shadow(conf, notifier)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: shadow.stop())
    signal.signal(signal.SIGHUP, lambda *_: LOG.warning(
        'A shadow keeps its configuration: restart it'))
    try:
        shadow.run()
        return 0
    except exception.ConfigurationError as exc:
        error = spelling.Spelling(conf).in_error(exc)
    LOG.critical('Cannot run with this configuration: %s', error)
    return supervisor.EXIT_CONFIGURATION
