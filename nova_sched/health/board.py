"""The health of the whole service: the latest report of each worker."""

import threading
import time
import typing

from oslo_log import log as logging

from nova_sched.health import checks
from nova_sched.health import indicators

LOG = logging.getLogger(__name__)

#: Seconds without a report after which a worker is silent, and after which
#: the silence is a failure.
SILENT, LASTING = 10, 20
#: Seconds until the first report of a worker is due.
START = 60


class Settings(typing.NamedTuple):
    """The settings of the health page.

    host: of the service.  workers: configured number of workers.
    ttl, cache_control: as the options of ``[healthcheck]``.
    """

    host: str
    workers: int
    ttl: int
    cache_control: int | None

    @classmethod
    def of(cls, conf, workers):
        """Return the settings of a ConfigOpts."""
        return cls(conf.host, workers, conf.healthcheck.ttl,
                   conf.healthcheck.cache_control)


class Board:
    """The reports of the workers, see reporter.Reporter.

    settings: Settings.
    """

    def __init__(self, settings, clock=time.monotonic):
        self.settings, self._clock = settings, clock
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
            for name, check in indicators.from_list(report['checks']).items():
                by_name.setdefault(name, []).append(check)
        return {name: checks.worst(several)
                for name, several in by_name.items()} | {
                    'workers': self._of_workers()}

    def _of_workers(self):
        expected, now = self.settings.workers, self._clock()
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
        now, settings = time.time(), self.settings
        ids = [report['service_id'] for report in self.reports()
               if report['service_id']]
        document = checks.document(self.checks(), now, settings.ttl,
                                   settings.host, *ids[:1])
        return document, checks.cache_control(
            document['status'], settings.ttl, settings.cache_control)

    def ranks(self):
        """Return the rank of each check in the document: name -> 0, 1 or 2."""
        now = time.time()
        return {name: check.aged(now, self.settings.ttl).rank
                for name, check in self.checks().items()}
