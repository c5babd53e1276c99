"""Metrics for Prometheus: the counts of workers, and their reports.

Workers count in shared memory (``shared_sums.py``), which takes some
microseconds for a decision; the files of prometheus_client's multiprocess mode
take a hundred.
"""

import bisect
import collections
import functools
import itertools

from oslo_log import log as logging
import prometheus_client
from prometheus_client import core
from prometheus_client import exposition

from nova_sched import toml_files
from nova_sched.health.server import Answer
from nova_sched.hosts import decision
from nova_sched.observe.shared_sums import SharedSums

LOG = logging.getLogger(__name__)

#: Upper bounds of the buckets of times, in seconds.
BUCKETS = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
           0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
#: Sums of a histogram: the count of each bucket, the count beyond the last
#: one, and the total.
_WIDTH = len(BUCKETS) + 2

#: Value of a label that does not apply.
NONE = 'none'

#: Results of a claim, by Claim.taken.
_RESULTS = {True: 'taken', False: 'refused', None: 'unanswered'}

#: Counters and histograms by name.
_TABLE = toml_files.read('metrics.toml', __package__)

#: Keys that exist from the start, with the value 0, so that the first count
#: shows as an increase.
_FIRST = (*(('requests', outcome, NONE, NONE)
            for outcome in decision.OUTCOMES),
          *(('claims', result) for result in _RESULTS.values()),
          ('tries',), ('queue_gone',))


class Metrics:
    """The metrics of a service, made before its processes are forked.

    number: function that returns the number of this process, unique among the
        running processes.
    processes: most processes that count at a time.
    """

    def __init__(self, number, processes):
        self._number, self._sums = number, SharedSums(processes)
        self._is_logged = False
        for key in _FIRST:
            self._sums.place(key)

    def start(self):
        """Begin to count, in the process that serves."""
        self._sums.begin(self._number())

    def note(self, record):
        """Count a closed Decision."""
        if self._sums.mine is None:
            return
        with self._sums.adding:
            for step, milliseconds in record.milliseconds.items():
                self._time(('step_seconds', step), milliseconds / 1000)
            self._time(('decision_seconds',), max(0.0, record.took))
            self._add(('requests', record.outcome,
                       record.refusal.code or NONE,
                       record.refusal.kind or NONE), 1)
            self._add(('tries',), record.tries)
            for name, counts in record.funnel.hosts_by_rule().items():
                self._add(('filter_hosts', name), *counts)
            for claim in record.claims:
                self._add(('claims', _RESULTS[claim.taken]), 1)
        if self._sums.is_full and not self._is_logged:
            self._is_logged = True
            LOG.warning('There is no room for more metrics: new filters, '
                        'codes and steps are not counted')

    def _add(self, key, *amounts):
        at = self._sums.place(key, len(amounts))
        if at is not None:
            for amount in amounts:
                self._sums.mine[at] += amount
                at += 1

    def _time(self, key, seconds):
        at = self._sums.place(key, _WIDTH)
        if at is not None:
            mine = self._sums.mine
            mine[at + bisect.bisect_left(BUCKETS, seconds)] += 1
            mine[at + _WIDTH - 1] += seconds

    def queue_gone(self, times):
        """Count how often the queue of requests was missing from the broker.
        """
        with self._sums.adding:
            self._add(('queue_gone',), times)

    def page(self, board):
        """Return a function of an Accept header that returns an Answer.

        board: health.board.Board.
        """
        registry = prometheus_client.CollectorRegistry()
        registry.register(_Collector(self._sums, board))
        return functools.partial(_page, registry)


def _page(registry, accept):
    try:
        encode, kind = exposition.choose_encoder(accept or '')
    except (TypeError, ValueError):
        # The header names an unknown version.
        encode, kind = exposition.choose_encoder('')
    return Answer(200, {'Content-Type': kind}, encode(registry))


class _Collector:
    """Collector of the counts and the reports of workers.

    sums: SharedSums.  board: health.board.Board.
    """

    def __init__(self, sums, board):
        self._sums, self._board = sums, board

    def collect(self):
        yield from self._counts()
        yield from self._reports()

    def _counts(self):
        by_name = collections.defaultdict(list)
        for (name, *labels), sums in self._sums.all().items():
            by_name[name].append((labels, sums))
        for name, counter in _TABLE['counters'].items():
            for index, (metric, text) in enumerate(counter['sums'].items()):
                family = core.CounterMetricFamily(
                    f'nova_sched_{metric}', text, labels=counter['labels'])
                for values, sums in by_name[name]:
                    family.add_metric(values, sums[index])
                yield family
        for name, histogram in _TABLE['histograms'].items():
            family = core.HistogramMetricFamily(
                f'nova_sched_{name}', histogram['help'],
                labels=histogram['labels'])
            for values, (*counts, total) in by_name[name]:
                family.add_metric(values, list(zip(
                    [*map(str, BUCKETS), '+Inf'], itertools.accumulate(
                        counts), strict=True)), total)
            yield family

    def _reports(self):
        reports = self._board.reports()
        figures = [report['figures'] for report in reports]
        state_ages = _values(figures, 'state_age')
        yield _gauge('workers', 'Running workers.', len(reports))
        yield _gauge('workers_wanted', 'Configured number of workers.',
                     self._board.workers)
        yield _gauge('check_status', 'Result of a health check: 0 passes, 1 '
                     'is a warning, 2 fails.', self._board.ranks(), 'check')
        yield _gauge('state_age_seconds', 'Time since a worker read the '
                     'hosts of a cell, the longest of all workers.',
                     {cell: max(_values(state_ages, cell))
                      for cell in itertools.chain(*state_ages)}, 'cell')
        yield _gauge('mirror_age_seconds', 'Time since a worker compared its '
                     'mirror with Placement, the longest of all workers.',
                     max(_values(figures, 'mirror_age'), default=None))
        newest = min(figures, default={}, key=lambda report: max(
            report.get('state_age', {}).values(), default=float('inf')))
        yield _gauge('hosts', 'Compute hosts whose service was up, or down, '
                     'at the last read.',
                     {state: newest[state] for state in ('up', 'down')
                      if state in newest}, 'state')
        yield _gauge('hosts_unmapped', 'Compute hosts without a cell mapping '
                     'at the last read.', newest.get('unmapped'))


def _gauge(name, text, value, label=None):
    """Return a gauge.

    value: a number, None for no value, or with a label a dict by its values.
    """
    gauge = core.GaugeMetricFamily(f'nova_sched_{name}', text,
                                   labels=[label] if label else None)
    if label:
        for key, number in value.items():
            gauge.add_metric([key], number)
    elif value is not None:
        gauge.add_metric([], value)
    return gauge


def _values(dicts, name):
    """Return the values of a key in several dicts, except None: list."""
    return [values[name] for values in dicts if values.get(name) is not None]
