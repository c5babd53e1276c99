"""The report of a shadow: a log line and a JSON line per request; totals.

A JSON line contains ids, names of hosts and of rules, and figures; no text
from users.
"""

import collections
import errno
import json
import os

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.dry_run import mirror_comparison
from nova_sched.dry_run.shadow import compare
from nova_sched.hosts import decision
from nova_sched.observe import decision_document
from nova_sched.observe import logs

LOG = logging.getLogger(__name__)

#: Verdicts that are logged at INFO; the others are warnings.
_INFO_VERDICTS = (*compare.AGREEMENTS, compare.NOT_COMPARABLE)

#: The beginning of each line of the file.
_START = '{"at": '
#: Mode of the file: its owner writes, its group reads.
_MODE = 0o640


class Report:
    """Writes and counts compared requests.

    path: of the file to append JSON lines to; None for no file.

    counts: verdict -> number of requests.
    mirrored: verdict of mirror_comparison -> number of requests.
    """

    def __init__(self, path):
        self._path, self._failing = path, False
        self.counts, self.mirrored = (collections.Counter() for _ in range(2))

    def add(self, entry):
        """Add a request: a dict returned by ``make_entry``."""
        verdict, instances = (entry['verdict'],
                              ', '.join(entry['instances'][:10]))
        self.counts[verdict] += 1
        LOG.log(logging.INFO if verdict in _INFO_VERDICTS
                else logging.WARNING,
                'Request for %s: %s%s; here %s, live %s', instances, verdict,
                f' ({entry["why"]})' if entry['why'] else '',
                *(', '.join(entry[side]['hosts'][:10])
                  or entry[side]['outcome'] for side in ('here', 'live')))
        mirror = entry['copy']
        if mirror:
            self.mirrored[mirror['verdict']] += 1
            if mirror['verdict'] != mirror_comparison.SAME:
                LOG.info('Request for %s: the mirror of Placement, %.1f s '
                         'old, lacks %d of %d candidates and has %d others: '
                         '%s',
                         instances, mirror['age'], mirror['only_listed'],
                         mirror['both'] + mirror['only_listed'],
                         mirror['only_copied'],
                         ', '.join(mirror['examples']))
        if self._path:
            self._write(f'{json.dumps(entry)}\n'.encode())

    def summary(self):
        """Return the totals as a text."""
        counts, compared = self.counts, self.mirrored.total()
        agree = sum(counts[verdict] for verdict in compare.AGREEMENTS)
        comparable = counts.total() - counts[compare.NOT_COMPARABLE]
        parts = ', '.join(f'{counts[verdict]} {verdict}'
                          for verdict in compare.VERDICTS if counts[verdict])
        return f'{agree} of {comparable} comparable requests agree' + (
            f' ({parts})' if parts else '') + (
            f'; the mirror of Placement has the same candidates for '
            f'{self.mirrored[mirror_comparison.SAME]} of {compared} request(s)'
            if compared else '')

    def _write(self, line):
        error = None
        try:
            # Opened for each line, as log rotation may move the file away.
            file = os.open(self._path,
                           os.O_WRONLY | os.O_APPEND | os.O_CREAT, _MODE)
            try:
                if os.write(file, line) < len(line):
                    # Ends the incomplete line.
                    os.write(file, b'\n')
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            finally:
                os.close(file)
        except OSError as exc:
            error = exc
        if error is not None and not self._failing:
            LOG.error('[nova_sched] shadow_report = %s cannot be written, and '
                      'lacks requests from now on: %s', self._path, error)
        self._failing = error is not None


def make_entry(record, uuids, live, comparison, waited, mirror=None):
    """Return a request as a dict of plain JSON, one line of the file.

    record: closed Decision.  uuids: of the instances.
    live: compare.LiveDecision.  comparison: compare.Comparison.
    waited: seconds until the live decision showed, or the wait ended.
    mirror: result of mirror_comparison.compare_mirror.
    """
    return {
        'at': decision_document.iso(record.arrived),
        'request_id': record.request_id and logs.field(record.request_id),
        'instances': list(map(logs.field, uuids)),
        **comparison._asdict(),
        'here': {
            'outcome': record.outcome,
            'hosts': [pick.host for pick in record.picks]
            if record.outcome == decision.PLACED else [],
            'weights': [pick.weight for pick in record.picks],
            'rejected': {rule: len(rows) for rule, rows
                         in record.funnel.rejected()},
            'of': record.state.hosts, 'seed': record.seed,
            'milliseconds': record.milliseconds},
        'live': {
            'outcome': ('unseen' if live.unseen
                        else 'placed' if live.places else 'refused'),
            'hosts': [host for host, _ in live.places],
            'seconds': round(waited, 3)},
        'copy': mirror,
    }


def read(path):
    """Yield the entries of a file, oldest first: dicts.

    Incomplete lines are skipped with a warning; a last line that is still
    being written is skipped without one.
    Raises NovaSchedException for a file that cannot be read, or that was not
    written by a shadow.
    """
    good = bad = 0
    try:
        with open(path, encoding='utf-8', errors='replace') as lines:
            for line in lines:
                entry = _parse(line)
                if not line.endswith('\n') and line.startswith(
                        _START[:len(line)]):
                    break       # The last line, still being written.
                if entry is None:
                    bad += 1
                else:
                    good += 1
                    yield entry
    except OSError as error:
        raise exception.NovaSchedException(
            f'{path} cannot be read: {error.strerror}; name the file of '
            '[nova_sched] shadow_report') from error
    if bad and not good:
        raise exception.NovaSchedException(
            f'{path} contains no line of a shadow; name the file of '
            f'[nova_sched] shadow_report')
    if bad:
        LOG.warning('Skipped %d incomplete line(s) of %s', bad, path)


def _parse(line):
    """Return the entry in a line, or None."""
    try:
        entry = json.loads(line)
        entry['verdict'], entry['rule'], entry['here'], entry['live']
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return entry


def totals(entries):
    """Return the totals of a report: tuples (verdict, rule, count).

    In the order of compare.VERDICTS, the most frequent rules first. The rule
    of a request that cannot be compared includes its other verdict.
    """
    counts = collections.Counter(
        (entry['verdict'], ', '.join(filter(None, (
            entry['rule'], entry.get('otherwise'))))) for entry in entries)
    order = {verdict: i for i, verdict in enumerate(compare.VERDICTS)}
    return sorted(((*key, count) for key, count in counts.items()),
                  key=lambda row: (order.get(row[0], len(order)), -row[2],
                                   row[1]))


def mirror_totals(entries):
    """Return how far the mirror agrees: tuples (verdict, count, oldest).

    The most frequent verdict comes first; requests without a comparison are
    left out. oldest: the largest age of the mirror, in seconds.
    """
    ages = collections.defaultdict(list)
    for entry in entries:
        # Files of older versions have no such key.
        if entry.get('copy'):
            ages[entry['copy']['verdict']].append(entry['copy']['age'])
    return sorted(((verdict, len(in_seconds), max(in_seconds))
                   for verdict, in_seconds in ages.items()),
                  key=lambda row: -row[1])
