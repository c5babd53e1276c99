"""The report on an hour of mixed schedulers: tables and explanations."""

import collections
import dataclasses
import re

from benchmarks import mixed_callers
from benchmarks import mixed_cloud
from benchmarks import tables

#: Seconds: a call may have begun this long before a fault, and clients may
#: take this long to reconnect to a broker.
UNDER_WAY, LOOKING = 8, 20
#: Faults in which oslo.messaging loses messages.
KILLED, STOPPED, BROKER = 'killed', 'stopped', 'broker'
PLACEMENT = 'Placement'
#: Kinds of oddities without an explanation.
_LEFT, _MISSING = _UNEXPLAINED = ('left behind', 'missing of an instance')
_REQUEST = re.compile(r'req-[0-9a-f-]{36}')
_ERROR = re.compile(r'^[\d-]+ [\d:.]+ \d+ (ERROR|CRITICAL) (\S+)')
#: Log line of each request: ours at its end, Nova's at its beginning.
_SAID = (' Request for ', 'Starting to schedule for instances')


@dataclasses.dataclass
class Fault:
    """A part that failed; began, ended: time.monotonic().

    what: KILLED or STOPPED for a scheduler, else a description.
    target: the scheduler, BROKER, PLACEMENT or the name of a cell.
    down: time when it had ended, or hung.  ended: when it answered again.
    status: exit status of a stopped scheduler, else 0.
    """

    what: str
    target: str
    began: float
    down: float | None = None
    ended: float | None = None
    status: int = 0


def said(schedulers):
    """Return schedulers by request: id -> list of (name, line of its log)."""
    found = collections.defaultdict(list)
    for scheduler in schedulers:
        with scheduler.log.open(errors='replace') as log:
            for line in log:
                if any(words in line for words in _SAID):
                    ids = _REQUEST.findall(line)
                    for request in ids[-1:]:
                        found[request].append(
                            (scheduler.name, line.strip()[:300]))
    return found


class Report:
    """All figures of a run.

    schedulers: list of Scheduler.  faults: list of Fault.  callers: Callers.
    refused: of Computes.  auditor: Auditor, which has ended.
    left: allocations without an instance at the end, consumer -> states.
    """

    def __init__(self, schedulers, faults, callers, refused, auditor, left):
        self._schedulers, self._faults = schedulers, faults
        self._ours = {each.name for each in schedulers if each.ours}
        self._callers, self._calls = callers, callers.calls
        self._refused, self._auditor, self._left = refused, auditor, left
        self._ended = [each.name for each in schedulers if not each.running]
        self._said = said(schedulers)
        self._of = collections.defaultdict(list)
        for call in self._calls:
            for uuid in call.uuids:
                self._of[uuid].append(call)

    def takers(self, call):
        """Return the names of schedulers with a call in their log, sorted."""
        return sorted({name for name, _ in self._said[call.request]})

    def _lost(self):
        """Yield (call, cause) for each call without an answer.

        cause: text; None without a fault.
        """
        for call in self._calls:
            if call.outcome in (None, mixed_callers.TIMEOUT):
                yield call, self._cause(call)

    def _cause(self, call):
        # A fault of the broker comes last: another one is a better reason.
        for fault in sorted(self._faults,
                            key=lambda fault: fault.target == BROKER):
            if call.began < fault.began - UNDER_WAY:
                continue
            if fault.target == BROKER:
                if call.began <= fault.ended + LOOKING:
                    return 'broker restarted'
            elif (call.began <= fault.down + 1 and self._may_lose(fault)
                  and set(self.takers(call)) <= {fault.target}):
                return f'{fault.target} {fault.what}'
        return None

    def _may_lose(self, fault):
        """Return whether a fault makes a scheduler lose its requests.

        One of ours has to answer them when it is stopped.
        """
        return fault.what == KILLED or (
            fault.what == STOPPED and fault.target == 'nova')

    def _beside(self, call, target=None):
        """Return whether a fault was active during a call.

        target: of the fault; None for any target.
        """
        return any(
            fault.began - 1 <= call.ended and call.began <= fault.ended + 10
            for fault in self._faults
            if target is None or fault.target == target)

    def _oddities(self):
        """Return oddities by their kind: name -> list."""
        found = collections.defaultdict(list)
        for oddity in self._auditor.oddities:
            found[self._kind(oddity)].append(oddity)
        return found

    def _kind(self, oddity):
        calls = self._of[oddity.consumer]
        if not oddity.expected.items() <= oddity.held.items():
            return _MISSING
        if mixed_cloud.TIMED_OUT in oddity.history:
            return 'claimed after a time-out'
        if any(len(self.takers(call)) > 1 for call in calls):
            return 'decided by two'
        if mixed_cloud.FAILED not in oddity.history:
            return _LEFT
        failed = [call for call in calls
                  if call.outcome != mixed_callers.ANSWERED]
        if all(self._beside(call, PLACEMENT) for call in failed):
            return 'left by an error while Placement failed'
        if not any(set(self.takers(call)) & self._ours for call in failed):
            return "left by an error of Nova's"
        return f'{_LEFT} by an error'

    def print(self):
        """Print all tables; return whether all results are as required."""
        self._print_faults()
        self._print_answers()
        self._print_errors()
        self._print_details()
        self._print_logs()
        _table(('done to instances', 'times'),
               sorted(self._callers.deeds.items()))
        return self._print_verdict()

    def _print_faults(self):
        by_kind = collections.defaultdict(list)
        for fault in self._faults:
            by_kind[fault.target, fault.what].append(
                fault.ended - fault.began)
        _table(('what failed', 'how', 'times', 'longest s'), [
            (*key, len(took), f'{max(took):.1f}')
            for key, took in sorted(by_kind.items())])

    def _print_answers(self):
        rows = collections.defaultdict(collections.Counter)
        for call in self._calls:
            names = self.takers(call)
            rows[' and '.join(names) or 'nobody'][
                call.outcome or mixed_callers.TIMEOUT] += 1
        heads = ('answered', 'NoValidHost', mixed_callers.TIMEOUT)
        _table(('taken by', 'calls', *heads, 'other errors'), [
            (name, sum(found.values()), *(found[head] for head in heads),
             sum(found.values()) - sum(found[head] for head in heads))
            for name, found in sorted(rows.items())])

    def _print_errors(self):
        rows = collections.defaultdict(collections.Counter)
        for call in self._calls:
            if call.ended and call.outcome not in (
                    mixed_callers.ANSWERED, mixed_callers.TIMEOUT):
                rows[call.what, call.outcome][self._beside(call)] += 1
        _table(('call', 'error', 'beside a fault', 'without one'), [
            (*key, found[True], found[False])
            for key, found in sorted(rows.items())])

    def _print_details(self):
        began = self._calls[0].began if self._calls else 0
        _table(('lost call', 'at s', 'request', 'taken by', 'because of'), [
            (call.what, f'{call.began - began:.0f}', call.request,
             ', '.join(self.takers(call)) or '-', cause or 'NO FAULT')
            for call, cause in self._lost()])
        _table(('allocation', 'consumer', 'at s', 'taken by', 'expected',
                'held'), [
            (kind, oddity.consumer, f'{oddity.at - began:.0f}',
             '; '.join(','.join(self.takers(call)) or '-'
                       for call in self._of[oddity.consumer]),
             oddity.expected, oddity.held)
            for kind, found in self._oddities().items() for oddity in found])
        _table(('left at the end', 'taken by', 'expected', 'held'), [
            (consumer, '; '.join(
                ','.join(self.takers(call)) or '-'
                for call in self._of[consumer]), *states)
            for consumer, states in self._left.items()])

    def _print_logs(self):
        rows = collections.Counter()
        for scheduler in self._schedulers:
            with scheduler.log.open(errors='replace') as log:
                for line in log:
                    if found := _ERROR.search(line):
                        rows[scheduler.name, *found.groups()] += 1
        _table(('log of', 'level', 'logger', 'lines'), [
            (*key, count) for key, count in sorted(rows.items())])

    def _print_verdict(self):
        lost, oddities = list(self._lost()), self._oddities()
        full = [found for found in self._refused if found[0] == 'does not fit']
        rows = [
            ('calls', len(self._calls), ''),
            ('lost with a fault', sum(cause is not None
                                      for _, cause in lost), ''),
            ('lost without a fault', sum(cause is None
                                         for _, cause in lost), 0),
            ('decided by two', sum(len(self.takers(call)) > 1
                                   for call in self._calls), ''),
            ('over capacity in Placement', len(self._auditor.over), 0),
            ('over capacity on a host', len(full), 0),
            *self._beside_another(),
            *((f'allocations: {kind}', len(found),
               0 if kind.startswith(_UNEXPLAINED) else '')
              for kind, found in sorted(oddities.items())),
            ('allocations left at the end', len(self._left), 0),
            ('stops of ours with an exit status', sum(
                fault.status != 0 for fault in self._faults
                if fault.target in self._ours), 0),
            ('schedulers that ended by themselves', len(self._ended), 0),
            ('samples', self._auditor.samples, ''),
            ('errors of the benchmark itself', self._callers.broken, 0)]
        _table(('figure', 'count', 'to be'), rows)
        for found in sorted(self._auditor.over):
            print('over capacity:', *found)
        return not any(count and bound == 0 for _, count, bound in rows)

    def _beside_another(self):
        """Yield rows of members refused because of another one on the host."""
        by_kind = collections.Counter()
        for reason, uuid, _ in self._refused:
            if reason == 'does not fit':
                continue
            answered = [call for call in self._of[uuid]
                        if call.outcome == mixed_callers.ANSWERED]
            by_kind[', '.join(self.takers(answered[-1]))] += 1
        yield 'members beside another', sum(by_kind.values()), ''
        for name, count in sorted(by_kind.items()):
            yield f'members beside another, by {name}', count, ''


def _table(head, rows):
    """Print a table of Markdown, if it has any rows."""
    if not rows:
        return
    tables.head(*head)
    for row in rows:
        tables.row(*row)
    print(flush=True)
