"""What a shadow tells: a log line and a line of JSON a request, and totals.

A line of JSON has ids, names of hosts and of rules, and figures; nothing that
users wrote.
"""

import collections
import datetime
import errno
import json
import os

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.hosts import decision
from nova_sched.observe import logs
from nova_sched.shadow import compare

LOG = logging.getLogger(__name__)

#: Verdicts of which nobody is warned.
_QUIET = (*compare.AGREEMENTS, compare.NOT_COMPARABLE)

#: What each line of it begins with.
_START = '{"at": '
#: Of the file: its owner writes, its group reads.
_MODE = 0o640


class Report:
    """Writes of each request, and counts.

    path: of a file that a line of JSON is added to; None for none.

    counted: (verdict, rule) -> requests.
    """

    def __init__(self, path):
        self._path, self._failing = path, False
        self.counted = collections.Counter()

    def add(self, entry):
        """One more request: a dict, as of ``entry``."""
        self.counted[entry['verdict'], entry['rule']] += 1
        LOG.log(logging.INFO if entry['verdict'] in _QUIET
                else logging.WARNING,
                'Request for %(instances)s: %(verdict)s%(why)s; here '
                '%(here)s, live %(live)s', {
                    'instances': ', '.join(entry['instances'][:10]),
                    'verdict': entry['verdict'],
                    'why': f' ({entry["why"]})' if entry['why'] else '',
                    'here': _hosts(entry['here']),
                    'live': _hosts(entry['live'])})
        if self._path:
            self._write(json.dumps(entry) + '\n')

    def summary(self):
        """The totals in words."""
        return summary(self.counted)

    def _write(self, line):
        error = None
        try:
            # Opened each time: the file may have been moved away since.
            file = os.open(self._path,
                           os.O_WRONLY | os.O_APPEND | os.O_CREAT, _MODE)
            try:
                data = line.encode()
                if os.write(file, data) < len(data):
                    # What is torn ends here.
                    os.write(file, b'\n')
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            finally:
                os.close(file)
        except OSError as exc:
            error = exc
        if error is not None and not self._failing:
            LOG.error('[nova_sched] shadow_report = %(path)s cannot be '
                      'written, and lacks requests from now on: %(error)s',
                      {'path': self._path, 'error': error})
        self._failing = error is not None


def entry(record, uuids, live, comparison, waited):
    """A request as one line tells it: dict of plain JSON.

    record: closed Decision.  uuids: of the instances.  live: compare.Live.
    comparison: compare.Comparison.  waited: seconds until the live decision
    was seen, or given up.
    """
    return {
        'at': datetime.datetime.fromtimestamp(
            record.arrived, datetime.UTC).isoformat(timespec='milliseconds'),
        'request_id': record.request_id and logs.field(record.request_id),
        'instances': list(map(logs.field, uuids)),
        'verdict': comparison.verdict,
        'rule': comparison.rule,
        'why': comparison.why,
        'otherwise': comparison.otherwise,
        'here': {
            'outcome': record.outcome,
            'hosts': [pick.host for pick in record.picks]
            if record.outcome == decision.PLACED else [],
            'weights': [pick.weight for pick in record.picks],
            'rejected': {rule: len(rows) for rule, rows
                         in record.rejected()},
            'of': record.hosts, 'seed': record.seed,
            'milliseconds': record.milliseconds},
        'live': {
            'outcome': ('unseen' if live.unseen
                        else 'placed' if live.places else 'refused'),
            'hosts': [host for host, _ in live.places],
            'seconds': round(waited, 3)},
    }


def read(path):
    """The lines of a file, oldest first: yields dicts.

    Lines that are torn are left out, which the log tells; a last one that is
    being written is not read yet.
    Raises NovaSchedException for a file that cannot be read, or that is none
    of a shadow's.
    """
    good = bad = 0
    try:
        with open(path, encoding='utf-8', errors='replace') as lines:
            for line in lines:
                one = _parsed(line)
                if not line.endswith('\n') and line.startswith(
                        _START[:len(line)]):
                    break       # the last one
                if one is None:
                    bad += 1
                else:
                    good += 1
                    yield one
    except OSError as error:
        raise exception.NovaSchedException(
            f'{path} cannot be read: {error.strerror}') from error
    if bad and not good:
        raise exception.NovaSchedException(
            f'{path}: there is no line of a shadow in it; name the file of '
            f'[nova_sched] shadow_report')
    if bad:
        LOG.warning('%(count)d line(s) of %(path)s are torn and left out',
                    {'count': bad, 'path': path})


def _parsed(line):
    """A line of a report as a dict, None for what is none."""
    try:
        one = json.loads(line)
        one['verdict'], one['rule'], one['here'], one['live']
    except (ValueError, KeyError, TypeError):
        return None
    return one


def totals(entries):
    """How many requests came to what: rows (verdict, rule, count), tuples.

    In the order of compare.VERDICTS, the most frequent rules first. Those of
    what cannot be compared say what it looks like otherwise.
    """
    counted = collections.Counter(
        (one['verdict'], ', '.join(filter(None, (
            one['rule'], one.get('otherwise'))))) for one in entries)
    return [(*key, count) for key, count in sorted(
        counted.items(), key=lambda item: (
            compare.VERDICTS.index(item[0][0])
            if item[0][0] in compare.VERDICTS else len(compare.VERDICTS),
            -item[1], item[0][1]))]


def agreement(counted):
    """(requests that agree, requests that can be compared).

    counted: (verdict, rule) -> requests.
    """
    comparable = sum(count for (verdict, _), count in counted.items()
                     if verdict != compare.NOT_COMPARABLE)
    return (sum(count for (verdict, _), count in counted.items()
                if verdict in compare.AGREEMENTS), comparable)


def summary(counted):
    """Totals in words: text.  counted: (verdict, rule) -> requests."""
    by_verdict = collections.Counter()
    for (verdict, _), count in counted.items():
        by_verdict[verdict] += count
    agree, comparable = agreement(counted)
    parts = ', '.join(f'{by_verdict[verdict]} {verdict}'
                      for verdict in compare.VERDICTS if by_verdict[verdict])
    return (f'{agree} of {comparable} comparable requests agree'
            + (f' ({parts})' if parts else ''))


def _hosts(side):
    """One side of an entry in words."""
    return ', '.join(side['hosts'][:10]) or side['outcome']
