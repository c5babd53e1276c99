"""What is known of the whole service: the newest report of each worker."""

import threading
import time
import typing

from oslo_log import log as logging

from nova_sched.health import checks
from nova_sched.health import indicators

LOG = logging.getLogger(__name__)

#: Seconds without a report after which a worker is silent, and for which one
#: may be silent before that lasts.
SILENT, LASTING = 10, 20
#: Seconds that the first report of a worker may take.
START = 60


class Settings(typing.NamedTuple):
    """What is told, and for how long it counts.

    host: of the service.  workers: how many there are to be.
    ttl, cache_control: as the options of ``[healthcheck]``.
    """

    host: str
    workers: int
    ttl: int
    cache_control: int | None

    @classmethod
    def of(cls, conf, workers):
        """As the options say."""
        return cls(conf.host, workers, conf.healthcheck.ttl,
                   conf.healthcheck.cache_control)


class Board:
    """The reports of the workers, as of reporter.Reporter.

    settings: Settings.
    """

    def __init__(self, settings, clock=time.monotonic):
        self.settings, self._clock = settings, clock
        self._reports, self._lock = {}, threading.Lock()
        self._began = clock()

    def note(self, report):
        """Take a report."""
        with self._lock:
            self._reports[report['worker']] = report

    def hear(self, channel, stopped):
        """Take what is said on a shared.Channel, until an Event is set."""
        while not stopped.is_set():
            try:
                report = channel.hear(seconds=0.5)
                if report is not None:
                    self.note(report)
            except Exception:
                LOG.exception('A worker says how it is, which cannot be read')
                stopped.wait(1)

    def reports(self):
        """Return the reports of the workers that are not silent: list."""
        with self._lock:
            return [report for report in self._reports.values()
                    if self._clock() - report['at'] < SILENT]

    def checks(self):
        """Return the checks of the service: name -> Check.

        Each is the worst of its workers'.  None before any was heard.
        """
        reports = self.reports()
        if not reports and self._clock() - self._began < START:
            return {}
        found = {}
        for report in reports:
            for name, check in indicators.from_list(report['checks']).items():
                found.setdefault(name, []).append(check)
        return {name: checks.worst(several)
                for name, several in found.items()} | {
                    'workers': self._of_workers()}

    def _of_workers(self):
        wanted, now = self.settings.workers, self._clock()
        # Where one has never reported, the time is that of the start.
        last = [self._began + START - SILENT] * wanted
        with self._lock:
            for number, report in self._reports.items():
                if number < wanted:
                    last[number] = report['at']
        silent = [at for at in last if now - at >= SILENT]
        return indicators.of_workers(
            wanted, len(silent), any(now - at >= LASTING for at in silent))

    def health(self):
        """Return what is told of the service, and its Cache-Control.

        A document as of checks.document, and a text or None.
        """
        now, settings = time.time(), self.settings
        ids = [report['service_id'] for report in self.reports()
               if report['service_id']]
        told = checks.document(self.checks(), now, settings.ttl,
                               settings.host, *ids[:1])
        return told, checks.cache_control(
            told['status'], settings.ttl, settings.cache_control)

    def ranks(self):
        """Return 0, 1 or 2 for each check, as it is told: name -> int."""
        now = time.time()
        return {name: check.aged(now, self.settings.ttl).rank
                for name, check in self.checks().items()}
