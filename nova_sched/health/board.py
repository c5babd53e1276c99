"""The health of the whole service: the latest report of each worker."""

import threading
import time

from oslo_log import log as logging

from nova_sched.health import checks
from nova_sched.health import indicators

LOG = logging.getLogger(__name__)

#: Seconds without a report after which a worker is silent, and after which
#: the silence is a failure.
SILENT, LASTING = 10, 20
#: Seconds until the first report of a worker is due.
START = 60


class Board:
    """The reports of the workers, see reporter.Reporter.

    host: of the service.  workers: configured number of workers.
    ttl, cache_control: as the options of ``[healthcheck]``.
    """

    def __init__(self, host, workers, ttl, cache_control=None,
                 clock=time.monotonic):
        self._host, self.workers, self._ttl = host, workers, ttl
        self._cache_control, self._clock = cache_control, clock
        self._reports, self._lock = {}, threading.Lock()
        self._began = clock()

    def add(self, report):
        """Store a report."""
        with self._lock:
            self._reports[report['worker']] = report

    def receive(self, channel, stopped):
        """Store the reports on a shared.Channel, until an Event is set."""
        while not stopped.is_set():
            try:
                report = channel.receive(seconds=0.5)
                if report is not None:
                    self.add(report)
            except Exception:
                LOG.exception('Cannot read the health report of a worker')
                stopped.wait(1)

    def reports(self):
        """Return the reports of all workers that are not silent: list."""
        with self._lock:
            return [report for report in self._reports.values()
                    if self._clock() - report['at'] < SILENT]

    def checks(self):
        """Return the checks of the service: name -> Check.

        Each is the worst of the workers' checks.  Empty before the first
        report.
        """
        reports = self.reports()
        if not reports and self._clock() - self._began < START:
            return {}
        by_name = {}
        for report in reports:
            for name, values in report['checks'].items():
                by_name.setdefault(name, []).append(checks.Check(*values))
        return {name: checks.worst(several)
                for name, several in by_name.items()} | {
                    'workers': self._of_workers()}

    def _of_workers(self):
        expected, now = self.workers, self._clock()
        # The time of a worker that has never reported follows the start.
        last = [self._began + START - SILENT] * expected
        with self._lock:
            for number, report in self._reports.items():
                if number < expected:
                    last[number] = report['at']
        silent = [at for at in last if now - at >= SILENT]
        return indicators.of_workers(
            expected, len(silent), any(now - at >= LASTING for at in silent))

    def health(self):
        """Return the health document and its Cache-Control header.

        The document is that of checks.document; the header a text or None.
        """
        ids = [report['service_id'] for report in self.reports()
               if report['service_id']]
        document = checks.document(self.checks(), time.time(), self._ttl,
                                   self._host, *ids[:1])
        return document, checks.cache_control(
            document['status'], self._ttl, self._cache_control)

    def ranks(self):
        """Return the rank of each check in the document: name -> 0, 1 or 2."""
        now = time.time()
        return {name: check.aged(now, self._ttl).rank
                for name, check in self.checks().items()}
