"""The scheduler service, where the pieces are put together.

``SchedulerService.start`` in its order, all of it in the process that is
going to serve, because connections do not survive a fork:

1. Wait for the database, and let the driver read its first state
   (``_start_driver``).
2. Make the service's own record in the database (``background_tasks``).
3. Connect to the message broker and consume requests (``_start_server``).
4. Begin the background tasks, and the driver's periodic work, if it has any
   (``_start_periodic``).

``stop`` takes it down in the opposite order, and answers what was accepted.
``reset`` puts another driver in place of the one that serves (``_reload``).
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
from nova_sched.daemon import background_tasks
from nova_sched.db import engine
from nova_sched.health import reporter
from nova_sched.inventory import shared_picks
from nova_sched.observe import decision_endpoint
from nova_sched.observe import logs
from nova_sched.observe import notifications
from nova_sched.observe import option_values
from nova_sched.observe import recorder
from nova_sched.options import spelling
from nova_sched.placement.mirror import mirror
from nova_sched.rpc.taken_calls import TakenCalls
from nova_sched.scheduler import loading
from nova_sched.scheduler import manager
from nova_sched.scheduler.candidates import CandidateSource

LOG = logging.getLogger(__name__)

# Seconds between two lines about a broker that does not answer.
BROKER_PATIENCE = 5

# Seconds between two tries at a broker that answers, but refuses.
BROKER_RETRY = 10

# Seconds that stopping waits for a start that is about to complete.
START_GRACE = 1

# [scheduler] periodic_task_interval = 0 means this many seconds.
DEFAULT_PERIOD = 60

# What a log that cannot be set up raises.
_NO_LOG = (OSError, logging.LogConfigError)

LoopingCall = backend.get_component('FixedIntervalLoopingCall')


class _StoppedEarly(Exception):
    """The service was told to stop while it waited in its start."""


class SchedulerService(backend.get_component('ServiceBase')):
    """One scheduler: database, driver, RPC server and periodic work.

    conf: ConfigOpts, checked by ``nova_sched.conf.check``.
    workers: the number of processes that will be forked to run it.
    tells: whether another process tells other daemons what they pick.
    health: health.endpoints.Health by which it says how it is, or None.

    A service of oslo.service (start, wait, stop, reset); it can as well be
    started and stopped inside any other process.
    """

    def __init__(self, conf, workers=1, tells=False, health=None):
        self.conf = conf
        self._metrics = None if health is None else health.metrics
        self._reporter = None if health is None else reporter.Reporter(
            self, conf.healthcheck.ttl, health.numbers.own,
            health.channel.send, self._metrics and self._metrics.queue_gone)
        #: The observe.recorder.Recorder of what is decided.
        self.recorder = recorder.Recorder(conf, self._metrics)
        self._notifications = notifications.Notifications(conf)
        self._background = background_tasks.BackgroundTasks(conf)
        self._option_values = option_values.OptionValues(conf)
        # Made before the fork, for all workers.
        self._taken_calls = TakenCalls()
        self._placement_answers = mirror.shared_answers(workers)
        self._picks = (shared_picks.SharedPicks(workers)
                       if workers > 1 or tells else None)
        self._manager = None
        #: The rpc.server.Server, once there is one.
        self.server = None
        #: What the start waits for, text, and since when, by
        #: time.monotonic(); None while it does not.
        self.waits_for = None
        self._transport = None
        self._periodic = None
        self._serving = threading.Event()
        self._stopping = threading.Event()
        self._stopped = threading.Event()
        # One driver at a time is got ready, and set when it is not wanted.
        self._replacing = threading.Lock()
        self._outdated = threading.Event()
        # Who has it decides which driver serves, and whether any does.
        self._handing_over = threading.Lock()

    def start(self):
        """Serve, and return once requests are consumed.

        Waits as long as it takes for the database and the broker, or until
        ``stop``. Raises ConfigurationError for what only shows now.
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
                started, self._candidate_source(started), self.recorder,
                self._notifications, self.conf.nova_sched.no_valid_host_text,
                manager.Limits.of(self.conf))
            self._warn_of_no_hosts()
            self._background.register()
            self._sleep(0)    # it may have been stopped meanwhile
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
        self._manager.offers.start()
        self._periodic = self._start_periodic(self.driver)

    @property
    def serving(self):
        """Whether requests are consumed."""
        return self._serving.is_set() and not self._stopping.is_set()

    @property
    def driver(self):
        """The driver that decides; None before it is started."""
        return self._manager and self._manager.driver

    @property
    def offers(self):
        """The CandidateSource of what it decides on; None before that."""
        return self._manager and self._manager.offers

    @property
    def service_id(self):
        """The id of the service record; None while there is none."""
        return self._background.service_id

    def stop(self, graceful=True):
        """Take no more requests, answer the accepted ones, and disconnect.

        Requests that the broker still holds stay there for other workers.
        Takes at most [DEFAULT] manager_shutdown_timeout seconds, and a few
        more where notifications wait for a bus; a graceless stop does not
        wait for answers.
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
        """Read the configuration files again and rebuild the driver.

        The driver, its filters, weighers and host manager take the new
        values, without a pause: calls in flight finish on the old driver.
        What a connection was opened with takes a restart. On an error the
        old driver stays, and the error is logged; while the database is
        away the old driver stays as well, and it is tried again every
        [database] retry_interval seconds, until the next ``reset`` or
        ``stop``.
        """
        if self._reread() and self._serving.is_set():
            self._reload()

    def _reread(self):
        """Read the files again; return False if the old values stay."""
        try:
            # Not while a driver is being made of the values.
            with self._replacing:
                if not self.conf.reload_config_files():
                    return False    # it has logged why
                logs.setup(self.conf)
                logs.warn_of_no_log(self.conf)
            return True
        except (exception.NovaSchedException, cfg.Error, *_NO_LOG) as exc:
            error = exc
        _log_refused(self.conf, error, *_NO_LOG)
        return False

    def _reload(self):
        """Replace the driver, in the background if the database is away."""
        self._outdated.set()
        self._outdated = outdated = threading.Event()
        if not self._replaced(outdated):
            threads.start('reload again', self._reload_later, outdated)

    def _reload_later(self, outdated):
        while not outdated.wait(self.conf.database.retry_interval):
            if self._replaced(outdated):
                return

    def _replaced(self, outdated):
        """Try to replace the driver; return False if it is to be tried again.

        outdated: an Event that is set when it is not wanted any more.
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
            # A driver is megabytes in cycles, and full rounds are rare.
            gc.collect()
            LOG.info('Configuration read again: %s',
                     self._option_values.changes())
        elif not isinstance(error, _StoppedEarly):
            _log_refused(self.conf, error)
        return True

    def _replace_driver(self):
        """Have a new driver serve; if anything is raised, the old one does."""
        old, old_offers = self.driver, self._manager.offers
        fresh = self._load_driver(takes_over=True)
        periodic = None
        try:
            fresh.start()
            periodic = self._start_periodic(fresh)
            asking = self._candidate_source(fresh)
            self._notifications.configure()
            with self._handing_over:
                if self._stopping.is_set():
                    raise _StoppedEarly
                # The last step that can fail: the old driver may send
                # requests on to the new one from then on.
                fresh.take_over(old)
                self._manager.serve(
                    fresh, asking, self.conf.nova_sched.no_valid_host_text,
                    manager.Limits.of(self.conf))
                self.recorder.reloaded()
                self._periodic, periodic = periodic, self._periodic
        except BaseException:
            _stop_driver(fresh, periodic)
            raise
        asking.start()
        old_offers.stop()
        _stop_driver(old, periodic)

    def _load_driver(self, takes_over=False):
        loaded = loading.load_driver(self.conf)
        if self._picks is not None:
            loaded.share_picks(self._picks.sharing(from_now=takes_over))
        return loaded

    def _candidate_source(self, worker):
        return CandidateSource(self.conf, worker,
                               answers=self._placement_answers)

    def _wait_for(self, what):
        self.waits_for = what, time.monotonic()
        self.waiting(what)

    def waiting(self, what):
        """Tell that the start waits for something to answer; a hook."""

    def _start_driver(self):
        self._wait_for('the database')
        started = self._load_driver()
        start_when_database_answers(started, self.conf, self._sleep)
        return started

    def _warn_of_no_hosts(self):
        """Log a warning if cells are mapped and none of them has hosts."""
        if self.conf.api_database.connection and self._host_count() == 0:
            LOG.warning(
                'No compute host was found in the cells that [api_database] '
                'maps: requests find no host. "nova-manage cell_v2 '
                'list_cells" lists the cells; a cell that could not be read '
                'has a warning of its own above')

    def _host_count(self):
        try:
            return self.driver.host_count()
        except Exception as error:
            # A third party's driver serves, whether or not it can count.
            LOG.debug('The driver cannot say how many hosts there are: %r',
                      error)
            return None

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
        """Start an RPC server; return why the broker refuses it, or None.

        While the broker is silent, oslo.messaging retries, and logs why.
        Raises ConfigurationError for options that contradict each other.
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
        """Begin a driver's periodic work; return what stops it, or None."""
        interval = self.conf.scheduler.periodic_task_interval
        if (interval < 0 or not self.conf.periodic_enable
                or not worker.PERIODIC):
            return None
        interval = interval or DEFAULT_PERIOD
        periodic = LoopingCall(run_periodic_tasks, worker, interval)
        # The driver's start has just done the first round.
        periodic.start(interval, initial_delay=interval,
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
            # The driver and the connections are to stop all the same.
            LOG.exception('Stopping the RPC server failed')
        self._manager.driver.stop()
        self._manager.offers.stop()
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
    """Wait for the database, however long it takes, and start a driver.

    sleep: function of seconds, which ends the wait by raising something.
    """
    while True:
        try:
            engine.wait_for_database(conf, LOG, sleep)
            return driver.start()
        except exception.DatabaseUnavailable as error:
            reason = error
        # Outside of the handler, where oslo.log would add it once more.
        LOG.error('Still waiting for the database: %s', reason)
        sleep(conf.database.retry_interval)


def run_periodic_tasks(worker, interval):
    """Run the periodic tasks of a driver; log a database that is away.

    interval: seconds until the next time.
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
        # Another driver serves; nobody waits for this one.
        LOG.exception('Stopping a driver failed')


def _log_refused(conf, error, *others):
    if isinstance(error, exception.ConfigurationError):
        error = spelling.Spelling(conf).in_error(error)
    expected = isinstance(error, (exception.NovaSchedException, cfg.Error,
                                  *others))
    LOG.error('Cannot apply the configuration, keeping the old one: %s',
              error if expected else repr(error),
              exc_info=None if expected else error)


def _report_silence(url, answered):
    while not answered.wait(BROKER_PATIENCE):
        LOG.warning('The message broker at %s does not answer yet, still '
                    'trying; nothing is scheduled meanwhile', url)
