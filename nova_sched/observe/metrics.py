"""Metrics for Prometheus: what workers count, and what they report.

Workers count in memory that they share (``shared_sums.py``), which takes a
decision some microseconds; in the files of prometheus_client's mode for
several processes it is a hundred.
"""

import bisect
import functools
import itertools

from oslo_log import log as logging
import prometheus_client
from prometheus_client import core
from prometheus_client import exposition

from nova_sched.hosts import decision
from nova_sched.observe.shared_sums import SharedSums

LOG = logging.getLogger(__name__)

#: Seconds that bound the buckets of times.
BUCKETS = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
           0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
#: Of a histogram: the count of each bucket, of what is beyond, and the sum.
_WIDTH = len(BUCKETS) + 2

#: What a label says where there is nothing to say.
NONE = 'none'

#: What Placement said to a claim.
_RESULTS = {True: 'taken', False: 'refused', None: 'unanswered'}

#: What workers count: name -> names of its labels, and of each sum that is
#: kept of them, what it is.
COUNTERS = {
    'requests': (['outcome', 'code', 'kind'], {
        'requests': 'Requests by how they ended; of those without a host, '
                    'why.'}),
    'tries': ([], {
        'tries': 'How often requests were decided, once more ones too.'}),
    'filter_hosts': (['filter'], {
        'filter_hosts_before': 'Hosts that a filter was asked about, summed '
                               'over instances.',
        'filter_hosts_after': 'Hosts that a filter left, summed over '
                              'instances.'}),
    'claims': (['result'], {
        'claims': 'Claims in Placement by what it said.'}),
    'queue_gone': ([], {
        'queue_gone': 'How often workers found their queue gone from the '
                      'broker.'})}
#: The times that they count: name -> names of labels, and what it is.
HISTOGRAMS = {
    'decision_seconds': ([], 'From the arrival of a request in a worker until '
                             'it was decided.'),
    'step_seconds': (['step'], 'Of a decision, in one of its steps.')}

#: What is there from the start, at nought, so that the first one that is
#: counted shows as an increase.
_FIRST = (*(('requests', outcome, NONE, NONE)
            for outcome in decision.OUTCOMES),
          *(('claims', result) for result in _RESULTS.values()),
          ('tries',), ('queue_gone',))


class Metrics:
    """The metrics of a service, made before its processes are forked.

    number: function that returns the number of a process, which no other one
        has at the time.  processes: how many count.
    """

    def __init__(self, number, processes):
        self._number, self._sums = number, SharedSums(processes)
        self._is_told = False
        for key in _FIRST:
            self._sums.place(key)

    def start(self):
        """Begin to count, in the process that does."""
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
        if self._sums.is_full and not self._is_told:
            self._is_told = True
            LOG.warning('No more metrics can be kept: filters, codes and '
                        'steps that are new are not counted')

    def _add(self, key, *amounts):
        at = self._sums.place(key, len(amounts))
        if at is not None:
            for each in amounts:
                self._sums.mine[at] += each
                at += 1

    def _time(self, key, seconds):
        at = self._sums.place(key, _WIDTH)
        if at is not None:
            mine = self._sums.mine
            mine[at + bisect.bisect_left(BUCKETS, seconds)] += 1
            mine[at + _WIDTH - 1] += seconds

    def queue_gone(self, times):
        """Count that the queue of requests was gone from the broker."""
        with self._sums.adding:
            self._add(('queue_gone',), times)

    def page(self, board):
        """Return a function of a header Accept: (body, content type).

        board: health.board.Board.
        """
        registry = prometheus_client.CollectorRegistry()
        registry.register(_Counted(self._sums))
        registry.register(_Reported(board))
        return functools.partial(_page, registry)


def _page(registry, accept):
    try:
        encode, kind = exposition.choose_encoder(accept or '')
    except (TypeError, ValueError):
        # It names a version that is none.
        encode, kind = exposition.choose_encoder('')
    return encode(registry), kind


class _Counted:
    """What workers count, for a registry; sums: SharedSums."""

    def __init__(self, sums):
        self._sums = sums

    def collect(self):
        found = {}
        for (name, *labels), sums in self._sums.all().items():
            found.setdefault(name, []).append((labels, sums))
        for name, (labels, counted) in COUNTERS.items():
            for index, (shown, text) in enumerate(counted.items()):
                made = core.CounterMetricFamily(f'nova_sched_{shown}', text,
                                                labels=labels)
                for values, sums in found.get(name, ()):
                    made.add_metric(values, sums[index])
                yield made
        for name, (labels, text) in HISTOGRAMS.items():
            made = core.HistogramMetricFamily(f'nova_sched_{name}', text,
                                              labels=labels)
            for values, (*counts, total) in found.get(name, ()):
                made.add_metric(values, list(zip(
                    [*map(str, BUCKETS), '+Inf'], itertools.accumulate(
                        counts), strict=True)), total)
            yield made


class _Reported:
    """What the workers report, for a registry.

    board: health.board.Board.
    """

    def __init__(self, board):
        self._board = board

    def collect(self):
        reports = self._board.reports()
        figures = [report['figures'] for report in reports]
        yield _gauge('workers', 'Workers that run.', len(reports))
        yield _gauge('workers_wanted', 'Workers that there are to be.',
                     self._board.settings.workers)
        yield _gauge('check_status', 'Of a check of health: 0 passes, 1 is a '
                     'warning, 2 fails.', self._board.ranks(), 'check')
        yield _gauge('state_age_seconds', 'Since a worker has read the hosts '
                     'of a cell, the longest of all workers.',
                     _most(figures, 'state_age'), 'cell')
        yield _gauge('mirror_age_seconds', 'Since a worker has compared its '
                     'copy of Placement, the longest of all workers.',
                     _largest(figures, 'mirror_age'))
        newest = min(figures, default={}, key=lambda each: max(
            each.get('state_age', {}).values(), default=float('inf')))
        yield _gauge('hosts', 'Compute hosts whose service is up, or down, '
                     'when they were last read.',
                     {state: newest[state] for state in ('up', 'down')
                      if state in newest}, 'state')
        yield _gauge('hosts_unmapped', 'Compute hosts that no cell mapping '
                     'leads to, when they were last read.',
                     newest.get('unmapped'))


def _gauge(name, text, value, label=None):
    """Return a gauge; value: a number, None for none, or one by label."""
    made = core.GaugeMetricFamily(f'nova_sched_{name}', text,
                                  labels=[label] if label else None)
    if label:
        for key, each in value.items():
            made.add_metric([key], each)
    elif value is not None:
        made.add_metric([], value)
    return made


def _most(figures, name):
    """Return the largest of each key in several dicts: dict."""
    most = {}
    for each in figures:
        for key, value in each.get(name, {}).items():
            most[key] = max(value, most.get(key, value))
    return most


def _largest(figures, name):
    """Return the largest of several numbers; None without any."""
    return max((each[name] for each in figures
                if each.get(name) is not None), default=None)
