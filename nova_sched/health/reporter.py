"""A worker's reports of how it is.

Once a second it looks at what its parts have noted in their work, and says
what that comes to.  Nothing is asked for it; only where no request has had
the hosts read for a while they are read, so that what is told is of now.
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
#: Seconds after which the hosts are read that nobody has had read; and while
#: a database does not answer.
IDLE_READ, TROUBLE_READ = 30, 5


class Reporter:
    """The reports of one scheduler.

    scheduler: service.SchedulerService.  ttl: as of ``[healthcheck] ttl``.
    number: function that returns the number of this process.
    say: function that takes a report, a dict: of which worker it is; when it
        was made, by time.monotonic(); ``checks``, as of indicators.as_list;
        ``figures`` that metrics tell.
    on_gone: called when the queue of requests was found gone, with how often;
        None for nobody.
    """

    def __init__(self, scheduler, ttl, number, say, on_gone=None):
        self._scheduler, self._number, self._say = scheduler, number, say
        self._on_gone, self._gone = on_gone, 0
        self._idle = min(IDLE_READ, ttl / 3) if ttl else IDLE_READ
        self._stopped, self._reading = threading.Event(), threading.Lock()
        self._read_at = time.monotonic()
        # Cell, as text -> since when its hosts are left out.
        self._lost = {}

    def start(self):
        """Begin to report, in a thread."""
        threads.start('health', self._run)

    def stop(self):
        """Report no more."""
        self._stopped.set()

    def _run(self):
        failing = False
        while not self._stopped.is_set():
            try:
                self._say(self.report())
                self._read_if_idle()
                failing = False
            except Exception:
                # Not each second: a driver of somebody else's may be the
                # cause, which decides well all the same.
                if not failing:
                    LOG.exception('How this worker is cannot be told')
                failing = True
            self._stopped.wait(INTERVAL)

    def report(self):
        """Return how the scheduler is, see the class."""
        found, figures = {}, {}
        if self._scheduler.serving:
            self._look_at_bus(found)
        elif self._scheduler.waits_for is not None:
            what, since = self._scheduler.waits_for
            found['consuming'] = indicators.of_start(
                what, time.monotonic() - since)
        driver = self._scheduler.driver
        manager = getattr(driver, 'host_manager', None)
        if isinstance(manager, host_manager.HostManager):
            self._look_at_hosts(driver, manager, found, figures)
        offers = self._scheduler.offers
        if offers is not None and offers.placement_client is not None:
            found['placement'] = indicators.of_placement(
                offers.placement_client.contact)
            figures['mirror_age'] = offers.copy_age
        return {'worker': self._number(), 'at': time.monotonic(),
                'service_id': self._scheduler.service_id,
                'checks': indicators.as_list(found), 'figures': figures}

    def _look_at_bus(self, found):
        server = self._scheduler.server
        connection, turned = server.connection, server.turned
        gone_at = bus = is_gone = None
        if connection is not None:
            bus = indicators.of_bus(connection.contact)
            gone_at, is_gone = connection.gone_at, connection.is_gone
            gone, self._gone = connection.gone - self._gone, connection.gone
            if gone > 0 and self._on_gone is not None:
                self._on_gone(gone)
            found['message_bus'] = bus
        found['consuming'] = indicators.of_consuming(
            time.monotonic() - turned if turned else 0.0, server.busy_for,
            bus, gone_at, is_gone)

    def _look_at_hosts(self, driver, manager, found, figures):
        contacts = manager.contacts()
        names = _names([cell for cell, _ in contacts if cell is not None])
        seen = manager.overview()
        self._lost = {cell: self._lost.get(cell, time.monotonic())
                      for cell in seen.lost}
        for cell, contact in contacts:
            name = 'api_db' if cell is None else names[cell.uuid]
            found[name] = indicators.of_database(contact)
            since = self._lost.get(str(cell))
            if since and not contact.failures:
                found[name] = indicators.of_lost_cell(
                    seen.lost[str(cell)], time.monotonic() - since)
        ages = {names.get(uuid, uuid): age for uuid, age in seen.ages.items()}
        figures |= {'state_age': ages, 'up': seen.up, 'down': seen.down,
                    'unmapped': None if seen.unmapped is None
                    else len(seen.unmapped)}
        if not ages:
            return
        stale = indicators.STALE
        if driver.PERIODIC:
            stale += 2 * driver.conf.scheduler.periodic_task_interval
        found['state_age'] = indicators.of_state_age(ages, stale)
        found['clock'] = indicators.of_clock(seen)
        found['hosts'] = indicators.of_hosts(seen)
        found['host_mappings'] = indicators.of_mappings(seen)

    def _read_if_idle(self):
        """Read the hosts in a thread, if nobody has for long."""
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
            LOG.exception('Reading the hosts failed')
        finally:
            self._reading.release()


def _names(cells):
    """Return the names of cells in checks: uuid -> text.

    A name that two cells have says nothing; that of a cloud without cells is
    ``database``.
    """
    count = collections.Counter(cell.name for cell in cells)
    return {cell.uuid: 'database' if cell.uuid == SINGLE_CELL_UUID
            else f'cell:{cell.name}' if cell.name and count[cell.name] == 1
            else f'cell:{cell.uuid}' for cell in cells}
