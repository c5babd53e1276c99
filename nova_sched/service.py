"""The scheduler service: driver, RPC server and periodic work of one process.

``SchedulerService.start`` runs in the process that serves, because connections
do not survive a fork:

1. Wait for the database, and let the driver read its first state
   (``_start_driver``).
2. Create the service record in the database (``background_tasks``).
3. Connect to the message broker and consume requests (``_start_server``).
4. Start the background tasks, and the periodic work of a driver that has any
   (``_start_periodic``).

``stop`` reverses the order, and answers the accepted calls.  ``reset``
replaces the driver (``_reload``).
"""

import gc
import threading
import time

from amqp import exceptions as amqp
from kombu import exceptions as kombu
from oslo_config import cfg
from oslo_log import log as logging
import oslo_messaging as messaging
from oslo_service import backend

from nova_sched import conf as config
from nova_sched import context
from nova_sched import exception
from nova_sched import remote
from nova_sched import rpc
from nova_sched import version
from nova_sched.concurrency import threads
from nova_sched.db import background_tasks
from nova_sched.db import engine
from nova_sched.health import reporter
from nova_sched.observe import decision_endpoint
from nova_sched.observe import logs
from nova_sched.observe import notifications
from nova_sched.observe import option_values
from nova_sched.observe import recorder
from nova_sched.options import spelling
from nova_sched.placement.mirror.shared_responses import SharedResponses
from nova_sched.placement.mirror.upkeep import QUERIES
from nova_sched.rpc.taken_calls import TakenCalls
from nova_sched.scheduler import loading
from nova_sched.scheduler import manager
from nova_sched.scheduler.candidates import CandidateSource

LOG = logging.getLogger(__name__)

# Seconds between two log lines about a silent broker.
BROKER_PATIENCE = 5

# Seconds between two attempts to connect to a broker that refuses.
BROKER_RETRY = 10

# Seconds that a stop waits for the end of a start.
START_GRACE = 1

# [scheduler] periodic_task_interval = 0 means this many seconds.
DEFAULT_PERIOD = 60

# Errors of a configuration, as opposed to faults.
_EXPECTED = (exception.NovaSchedException, cfg.Error)

LoopingCall = backend.get_component('FixedIntervalLoopingCall')


class _StoppedEarly(Exception):
    """The service was stopped during its start."""


class SchedulerService(backend.get_component('ServiceBase')):
    """One scheduler: database, driver, RPC server and periodic work.

    conf: ConfigOpts, checked by ``nova_sched.conf.check``.
    workers: number of processes that are forked to run it.
    picks: inventory.shared_picks.SharedPicks of these processes, created
        before the fork; None without a messenger, with one process.
    health: daemon.endpoints.Health for its health reports, or None.

    A service of oslo.service (start, wait, stop, reset).  It can also run
    within another process.
    """

    def __init__(self, conf, workers=1, picks=None, health=None):
        self.conf = conf
        self._metrics = None if health is None else health.metrics
        self._reporter = None if health is None else reporter.Reporter(
            self, conf.healthcheck.ttl, health.numbers.own,
            health.channel.send, self._metrics and self._metrics.queue_gone)
        #: The observe.recorder.Recorder of decisions.
        self.recorder = recorder.Recorder(conf, self._metrics)
        self._notifications = notifications.Notifications(conf)
        self._background = background_tasks.BackgroundTasks(conf)
        self._option_values = option_values.OptionValues(conf)
        # Created before the fork, for all workers.
        self._taken_calls = TakenCalls()
        self._placement_responses = SharedResponses(QUERIES, workers)
        self._picks, self._manager = picks, None
        #: The rpc.server.Server, or None before the start.
        self.server = None
        #: (name of the service that the start waits for, begin of the wait by
        #: time.monotonic()), or None.
        self.waits_for = None
        self._transport = None
        self._periodic = None
        self._serving = threading.Event()
        self._stopping = threading.Event()
        self._stopped = threading.Event()
        # Held while a new driver is prepared; the event cancels its reload.
        self._replacing = threading.Lock()
        self._outdated = threading.Event()
        # Held while a driver is replaced, or the service is stopped.
        self._handing_over = threading.Lock()

    def start(self):
        """Start to serve; return once requests are consumed.

        Waits for the database and the broker until ``stop``.
        Raises ConfigurationError for errors that only show at the start.
        """
        LOG.info('Starting %(topic)s node (version %(version)s)',
                 {'topic': rpc.TOPIC, 'version': version.version_string()})
        if self._metrics is not None:
            self._metrics.start()
        if self._reporter is not None:
            self._reporter.start()
        try:
            started = self._start_driver()
            self._manager = manager.SchedulerManager(
                started, self._new_candidate_source(started), self.recorder,
                self._notifications, self.conf.nova_sched.no_valid_host_text,
                manager.Limits.of(self.conf))
            self._warn_of_no_hosts()
            self._background.register()
            self._sleep(0)    # raises if it was stopped
            self._notifications.configure()
            self._start_server()
        except _StoppedEarly:
            self._notifications.stop()
            LOG.info('Stopped before it could serve')
            return
        except Exception:
            self._background.stop()
            self._notifications.stop()
            raise
        self.recorder.start()
        self._background.start()
        self._manager.candidate_source.start()
        self._periodic = self._start_periodic(self.driver)

    @property
    def serving(self):
        """Whether requests are consumed."""
        return self._serving.is_set() and not self._stopping.is_set()

    @property
    def driver(self):
        """The present driver; None before the start."""
        return self._manager and self._manager.driver

    @property
    def candidate_source(self):
        """The CandidateSource of the driver; None before the start."""
        return self._manager and self._manager.candidate_source

    @property
    def service_id(self):
        """The id of the service record, or None."""
        return self._background.service_id

    def stop(self, graceful=True):
        """Stop consuming, answer the accepted requests, and disconnect.

        Other requests stay at the broker, for other workers.
        Takes at most [DEFAULT] manager_shutdown_timeout seconds, plus a few
        seconds if notifications wait for their bus.  With ``graceful=False``
        it does not wait for answers.
        """
        with self._handing_over:
            self._stopping.set()
        self._outdated.set()
        self._background.stop()
        if self._serving.wait(START_GRACE):
            self._drain(self.conf.manager_shutdown_timeout if graceful else 0)
        self._notifications.stop()
        self.recorder.stop()
        if self._reporter is not None:
            self._reporter.stop()
        self._stopped.set()

    def wait(self):
        """Return when the service has stopped."""
        self._stopped.wait()

    def reset(self):
        """Read the configuration files again and replace the driver.

        The new driver, its filters, weighers and host manager have the new
        values. There is no pause: calls in flight finish on the old driver.
        Options of open connections require a restart. On an error the old
        driver stays, and the error is logged. While the database is
        unavailable the old driver stays as well, and the reload is retried
        every [database] retry_interval seconds, until the next ``reset`` or
        ``stop``.
        """
        if self._reread() and self._serving.is_set():
            self._reload()

    def _reread(self):
        """Read the files again; return False if the old values stay."""
        try:
            # Values must not change while a driver is built from them.
            with self._replacing:
                if not self.conf.reload_config_files():
                    return False    # it has logged the reason
                logs.setup(self.conf)
                logs.warn_of_no_log(self.conf)
            return True
        except (*_EXPECTED, OSError, logging.LogConfigError) as exc:
            error = exc
        _log_refused(self.conf, error)
        return False

    def _reload(self):
        """Replace the driver; retry in a thread if the database is down."""
        self._outdated.set()
        self._outdated = outdated = threading.Event()
        if not self._replaced(outdated):
            threads.start('reload again', self._reload_later, outdated)

    def _reload_later(self, outdated):
        while not outdated.wait(self.conf.database.retry_interval):
            if self._replaced(outdated):
                return

    def _replaced(self, outdated):
        """Try to replace the driver; return whether the reload is over.

        outdated: an Event that cancels it.  False asks for a retry.
        """
        error = None
        with self._replacing:
            if outdated.is_set() or self._stopping.is_set():
                return True
            try:
                self._replace_driver()
            except Exception as exc:
                error = exc
        if isinstance(error, exception.DatabaseUnavailable):
            LOG.error('Cannot apply the configuration yet, keeping the old '
                      'one, next try in %(wait)s seconds: %(reason)s',
                      {'wait': self.conf.database.retry_interval,
                       'reason': error})
            return False
        if error is None:
            # The old driver is megabytes of cyclic garbage.
            gc.collect()
            LOG.info('Configuration read again: %s',
                     self._option_values.changes())
        elif not isinstance(error, _StoppedEarly):
            _log_refused(self.conf, error, isinstance(error, _EXPECTED))
        return True

    def _replace_driver(self):
        """Build a new driver and let it serve; on an error the old one stays.
        """
        old, old_source = self.driver, self._manager.candidate_source
        fresh = self._load_driver(takes_over=True)
        periodic = None
        try:
            fresh.start()
            periodic = self._start_periodic(fresh)
            source = self._new_candidate_source(fresh)
            self._notifications.configure()
            with self._handing_over:
                if self._stopping.is_set():
                    raise _StoppedEarly
                # The last step that can fail: after it the old driver may
                # pass requests to the new one.
                fresh.take_over(old)
                self._manager.serve(
                    fresh, source, self.conf.nova_sched.no_valid_host_text,
                    manager.Limits.of(self.conf))
                self.recorder.reloaded()
                self._periodic, periodic = periodic, self._periodic
        except BaseException:
            _stop_driver(fresh, periodic)
            raise
        source.start()
        old_source.stop()
        _stop_driver(old, periodic)

    def _load_driver(self, takes_over=False):
        loaded = loading.load_driver(self.conf)
        if self._picks is not None:
            loaded.share_picks(self._picks.sharing(from_now=takes_over))
        return loaded

    def _new_candidate_source(self, worker):
        return CandidateSource(self.conf, worker,
                               responses=self._placement_responses)

    def _wait_for(self, dependency):
        self.waits_for = dependency, time.monotonic()
        self.waiting(dependency)

    def waiting(self, dependency):
        """Report that the start waits for another service; a hook."""

    def _start_driver(self):
        self._wait_for('the database')
        started = self._load_driver()
        start_when_database_answers(started, self.conf, self._sleep)
        return started

    def _warn_of_no_hosts(self):
        """Log a warning if cells are mapped and none of them has hosts."""
        if not self.conf.api_database.connection:
            return
        try:
            count = self.driver.host_count()
        except Exception as error:
            # A third party's driver need not be able to count hosts.
            LOG.debug('The driver cannot count its hosts: %r', error)
            return
        if count == 0:
            LOG.warning(
                'No compute host was found in the cells that [api_database] '
                'maps: requests find no host. "nova-manage cell_v2 '
                'list_cells" lists the cells; a cell that could not be read '
                'has a warning of its own above')

    def _start_server(self):
        url = config.masked(config.transport_url(self.conf))
        self._wait_for(f'the message broker at {url}')
        LOG.info('Connecting to the message broker at %s', url)
        self._transport = rpc.get_transport(self.conf)
        while refusal := self._refusal(url):
            LOG.error('The message broker at %(url)s refuses this service, '
                      'next try in %(wait)d seconds: %(reason)s',
                      {'url': url, 'wait': BROKER_RETRY, 'reason': refusal})
            self._sleep(BROKER_RETRY)
        self.waits_for = None
        self._serving.set()
        LOG.info('Serving requests on topic %(topic)s at %(url)s',
                 {'topic': self.conf.scheduler_topic, 'url': url})

    def _refusal(self, url):
        """Start an RPC server; return the broker's reason to refuse, or None.

        While the broker is silent, oslo.messaging retries and logs why.
        Raises ConfigurationError for contradicting options.
        """
        self.server = rpc.get_server(
            self._transport, self.conf,
            [manager.BaseRPCEndpoint(rpc.TOPIC), self._manager,
             decision_endpoint.DecisionEndpoint(self.recorder)],
            self._taken_calls)
        answered = threading.Event()
        threads.start('broker', _report_silence, url, answered)
        try:
            self.server.start()
        except (amqp.AMQPError, kombu.KombuError, OSError,
                messaging.MessagingException) as error:
            return str(error) or type(error).__name__
        finally:
            answered.set()
        return None

    def _start_periodic(self, worker):
        """Start a driver's periodic work; return its LoopingCall, or None."""
        interval = self.conf.scheduler.periodic_task_interval
        if (interval < 0 or not self.conf.periodic_enable
                or not worker.PERIODIC):
            return None
        interval = interval or DEFAULT_PERIOD
        periodic = LoopingCall(run_periodic_tasks, worker, interval)
        # The driver's start has done the first round.
        periodic.start(interval=interval, initial_delay=interval,
                       stop_on_exception=False)
        return periodic

    def _drain(self, timeout):
        if self._periodic:
            self._periodic.stop()
        begin = time.monotonic()
        try:
            remote.Call(timeout, self._answer, name='answer').result()
        except remote.DeadlineExceeded:
            LOG.warning('Calls are still being answered %d seconds after the '
                        'stop; giving them up', timeout)
            return
        except Exception:
            # Driver and connections must stop in any case.
            LOG.exception('Stopping the RPC server failed')
        self._manager.driver.stop()
        self._manager.candidate_source.stop()
        self._transport.cleanup()
        LOG.info('Stopped; calls in flight were answered within %.1f seconds',
                 time.monotonic() - begin)

    def _answer(self):
        self.server.stop()
        self.server.wait()

    def _sleep(self, seconds):
        if self._stopping.wait(seconds):
            raise _StoppedEarly


def start_when_database_answers(driver, conf, sleep):
    """Wait for the database and start a driver; retry for ever.

    sleep: function of seconds; its exceptions end the wait.
    """
    while True:
        try:
            engine.wait_for_database(conf, LOG, sleep)
            return driver.start()
        except exception.DatabaseUnavailable as error:
            reason = error
        # Outside the handler: oslo.log would append the error again.
        LOG.error('Still waiting for the database: %s', reason)
        sleep(conf.database.retry_interval)


def run_periodic_tasks(worker, interval):
    """Run the periodic tasks of a driver; log an unavailable database.

    interval: seconds until the next round.
    """
    try:
        worker.run_periodic_tasks(context.RequestContext())
    except exception.DatabaseUnavailable as error:
        LOG.warning('Periodic work of the driver failed, next try in '
                    '%(interval)s seconds: %(error)s',
                    {'interval': interval, 'error': error})


def _stop_driver(unused, periodic):
    """Stop a driver and its periodic work, if any."""
    if periodic is not None:
        periodic.stop()
    try:
        unused.stop()
    except Exception:
        # The new driver serves in any case.
        LOG.exception('Stopping a driver failed')


def _log_refused(conf, error, expected=True):
    if isinstance(error, exception.ConfigurationError):
        error = spelling.Spelling(conf).in_error(error)
    LOG.error('Cannot apply the configuration, keeping the old one: %s',
              error if expected else repr(error),
              exc_info=None if expected else error)


def _report_silence(url, answered):
    while not answered.wait(BROKER_PATIENCE):
        LOG.warning('The message broker at %s does not answer yet, still '
                    'trying; no request is scheduled until it does', url)
