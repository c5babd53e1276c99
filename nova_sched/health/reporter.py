"""The health reports of a worker.

Once a second a worker evaluates the state that its parts recorded in their
work, and reports it.  The report itself sends no query.  Only if no request
has refreshed the host table for a while, the hosts are read for the report.
"""

import collections
import threading
import time

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.concurrency import threads
from nova_sched.db.cells import SINGLE_CELL_UUID
from nova_sched.health import indicators
from nova_sched.scheduler import host_manager

LOG = logging.getLogger(__name__)

#: Seconds between two reports.
INTERVAL = 1
#: Seconds without a refresh after which the hosts are read for the report;
#: and the same while a database does not answer.
IDLE_READ, TROUBLE_READ = 30, 5


class Reporter:
    """The reporter of one scheduler.

    scheduler: service.SchedulerService.  ttl: ``[healthcheck] ttl``.
    number: function that returns the number of this process.
    send: function that takes a report, a dict: ``worker``, its number; ``at``,
        its time by time.monotonic(); ``checks``, name -> Check;
        ``figures`` for metrics.
    on_gone: function of the number of times that the request queue was found
        deleted; or None.
    """

    def __init__(self, scheduler, ttl, number, send, on_gone=None):
        self._scheduler, self._number, self._send = scheduler, number, send
        self._on_gone, self._gone = on_gone, 0
        self._idle = min(IDLE_READ, ttl / 3) if ttl else IDLE_READ
        self._stopped, self._reading = threading.Event(), threading.Lock()
        self._read_at = time.monotonic()
        # Text of a cell -> time since which its hosts are left out.
        self._lost = {}

    def start(self):
        """Start reporting, in a thread."""
        threads.start('health', self._run)

    def stop(self):
        """Stop reporting."""
        self._stopped.set()

    def _run(self):
        failing = False
        while not self._stopped.is_set():
            try:
                self._send(self.report())
                self._read_if_idle()
                failing = False
            except Exception:
                # Log once: the cause may be a third party's driver, which
                # decides well but cannot report.
                if not failing:
                    LOG.exception('Cannot report the health of this worker')
                failing = True
            self._stopped.wait(INTERVAL)

    def report(self):
        """Return a report, see the class: dict."""
        checks, figures = {}, {}
        if self._scheduler.serving:
            self._check_bus(checks)
        elif self._scheduler.waits_for is not None:
            dependency, since = self._scheduler.waits_for
            checks['consuming'] = indicators.of_start(
                dependency, time.monotonic() - since)
        driver = self._scheduler.driver
        manager = getattr(driver, 'host_manager', None)
        if isinstance(manager, host_manager.HostManager):
            self._check_hosts(driver, manager, checks, figures)
        source = self._scheduler.candidate_source
        if source is not None and source.placement_client is not None:
            checks['placement'] = indicators.of_placement(
                source.placement_client.contact)
            figures['mirror_age'] = source.mirror_age
        return {'worker': self._number(), 'at': time.monotonic(),
                'service_id': self._scheduler.service_id,
                'checks': {name: check for name, check in checks.items()
                           if check is not None},
                'figures': figures}

    def _check_bus(self, checks):
        server = self._scheduler.server
        connection, polled_at = server.connection, server.polled_at
        gone_at = bus = is_gone = None
        if connection is not None:
            bus = indicators.of_bus(connection.contact)
            gone_at, is_gone = connection.gone_at, connection.is_gone
            gone = connection.gone_count - self._gone
            self._gone = connection.gone_count
            if gone > 0 and self._on_gone is not None:
                self._on_gone(gone)
            checks['message_bus'] = bus
        checks['consuming'] = indicators.of_consuming(
            time.monotonic() - polled_at if polled_at else 0.0,
            server.busy_for, bus, gone_at, is_gone)

    def _check_hosts(self, driver, manager, checks, figures):
        contacts = manager.contacts()
        names = _names([cell for cell, _ in contacts if cell is not None])
        overview = manager.overview()
        self._lost = {cell: self._lost.get(cell, time.monotonic())
                      for cell in overview.lost}
        for cell, contact in contacts:
            name = 'api_db' if cell is None else names[cell.uuid]
            checks[name] = indicators.of_database(contact)
            since = self._lost.get(str(cell))
            if since and not contact.failures:
                checks[name] = indicators.of_lost_cell(
                    overview.lost[str(cell)], time.monotonic() - since)
        ages = {names.get(uuid, uuid): age
                for uuid, age in overview.ages.items()}
        figures |= {'state_age': ages, 'up': overview.up,
                    'down': overview.down,
                    'unmapped': None if overview.unmapped is None
                    else len(overview.unmapped)}
        if not ages:
            return
        stale = indicators.STALE
        if driver.PERIODIC:
            stale += 2 * driver.conf.scheduler.periodic_task_interval
        checks |= {'state_age': indicators.of_state_age(ages, stale),
                   'clock': indicators.of_clock(overview),
                   'hosts': indicators.of_hosts(overview),
                   'host_mappings': indicators.of_mappings(overview)}

    def _read_if_idle(self):
        """Read the hosts in a thread, if no request has for a while."""
        driver = self._scheduler.driver
        manager = getattr(driver, 'host_manager', None)
        if (self._scheduler.serving and not driver.PERIODIC
                and isinstance(manager, host_manager.HostManager)
                and self._is_read_due(manager)
                and self._reading.acquire(blocking=False)):
            self._read_at = time.monotonic()
            try:
                threads.start('health read', self._read, manager)
            except BaseException:
                self._reading.release()
                raise

    def _is_read_due(self, manager):
        since = time.monotonic() - self._read_at
        if self._lost or any(
                contact.failures for _, contact in manager.contacts()):
            return since >= min(TROUBLE_READ, self._idle)
        ages = manager.overview().ages.values()
        return min([since, *ages]) >= self._idle

    def _read(self, manager):
        try:
            manager.refresh()
        except exception.DatabaseUnavailable as error:
            LOG.debug('The hosts cannot be read: %s', error)
        except Exception:
            LOG.exception('Reading the hosts for the health report failed')
        finally:
            self._reading.release()


def _names(cells):
    """Return the names of cells in checks: uuid -> text.

    Cells that share a name are called by their uuids; the only database of a
    cloud without cells is ``database``.
    """
    count = collections.Counter(cell.name for cell in cells)
    return {cell.uuid: 'database' if cell.uuid == SINGLE_CELL_UUID
            else f'cell:{cell.name}' if cell.name and count[cell.name] == 1
            else f'cell:{cell.uuid}' for cell in cells}
