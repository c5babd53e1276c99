"""Measures the effects of a failed part on callers, and leaks afterwards.

    tools/with-services.sh python -m benchmarks.faults

runs the service and all its dependencies as processes.  It stops, suspends
and restarts one after the other under a load of a few callers, and then
restarts the broker several times for each type of queues.  It prints the
tables of doc/source/faults.rst.  Needs .venv-nova, see tools/nova-venv.sh.
"""

import argparse
import collections
import dataclasses
import functools
import logging
import os
import tempfile
import time

from benchmarks import fault_bed
from tests.functional import load as loads

#: A caller has recovered after this many normal answers in a row.
IN_A_ROW = 3
#: Longest wait for a recovery, and idle time after which workers have released
#: unused resources, in seconds.
MAX_RECOVERY, IDLE_TIME = 120, 15

_CALLER_COLUMNS = ('fault', 'calls', 'answered', 'refused', 'errors',
                   'longest', 'normal', 'hosts')
_DAEMON_COLUMNS = ('fault', 'threads', 'descriptors', 'MiB', 'held for nobody',
         'not held')
_RESTART_COLUMNS = ('queues', 'restarts', 'calls', 'answered', 'lost',
                    'at restarts', 'decided twice', 'longest')


@dataclasses.dataclass
class FaultCourse:
    """The calls during a fault and until the recovery.

    began, ended: of the fault, time.monotonic().
    recovered_at: when each caller had normal answers again, or None.
    normal: longest duration of a normal answer, in seconds.
    calls: list of Call, until the recovery.
    """

    began: float
    ended: float
    recovered_at: float | None
    normal: float
    calls: list

    @functools.cached_property
    def affected(self):
        """Calls that the fault may have affected."""
        return [call for call in self.calls
                if call.ended > self.began and call.began < self.normal_again]

    @functools.cached_property
    def normal_again(self):
        """End time of the last call that was not normal."""
        return max((call.ended for call in self.calls
                    if call.ended > self.began
                    and not _is_normal(call, self.normal)),
                   default=self.ended)

    @property
    def answered(self):
        """Number of the affected calls that got a host."""
        return sum(call.host is not None for call in self.affected)

    @property
    def longest(self):
        """Longest duration of an affected call, in seconds."""
        return max(call.took for call in self.affected)


@dataclasses.dataclass
class FaultResult:
    """The result of one fault; before, after: Usage."""

    fault: str
    course: FaultCourse
    before: fault_bed.Usage
    after: fault_bed.Usage
    held_for_nobody: int
    not_held: int

    def caller_row(self, cell):
        """Return the effect on callers: a row of _CALLER_COLUMNS.

        cell: name of the failed cell, or None.
        """
        course = self.course
        errors = collections.Counter(
            call.error for call in course.affected if call.error)
        refused = errors.pop('NoValidHost', 0)
        return (self.fault, len(course.affected), course.answered, refused,
                ', '.join(f'{count} {name}' for name, count
                          in errors.items()) or '0',
                f'{course.longest:.1f}',
                'never' if course.recovered_at is None
                else f'{max(0, course.normal_again - course.ended):.1f}',
                self._hosts_back(cell))

    def daemon_row(self):
        """Return the effect on the daemon: a row of _DAEMON_COLUMNS."""
        return (self.fault, *(
            f'{getattr(self.before, name)} - {getattr(self.after, name)}'
            for name in ('threads', 'descriptors', 'memory')),
            self.held_for_nobody, self.not_held)

    def _hosts_back(self, cell):
        ended = self.course.ended
        times = [call.ended - ended for call in self.course.calls
                 if call.ended > ended
                 and (call.host or '').startswith(f'{cell}-')]
        return f'{max(0, min(times)):.1f}' if times and cell else '-'


def _is_normal(call, seconds):
    return call.host is not None and call.took <= seconds


class FaultRunner:
    """Runs faults on a Bed that is serving.

    args: the command line.
    """

    def __init__(self, bed, args):
        self._bed, self._args = bed, args
        self._clients = bed.clients(args.callers)
        self._answered, self._known = set(), set()

    def warm_up(self):
        """Make the workers open all connections that they need."""
        with loads.Load(self._clients, self._args.pause) as load:
            self._wait_for_recovery(load, time.monotonic())
        time.sleep(IDLE_TIME)
        self._held(load.calls)

    def run_fault(self, fault, begin, end):
        """Run a fault: FaultResult.

        begin, end: functions that begin and end it.
        """
        before = self._bed.usage()
        with loads.Load(self._clients, self._args.pause) as load:
            self._wait_for_recovery(load, time.monotonic())
            course = self._course(load, begin, self._args.seconds, end)
        time.sleep(IDLE_TIME)
        course.calls = load.calls
        return FaultResult(fault, course, before, self._bed.usage(),
                     *self._held(load.calls))

    def run_restarts(self, queues):
        """Restart the broker repeatedly: a row of _RESTART_COLUMNS.

        All callers try the broker at growing intervals, at about the same
        times, so each restart takes a second longer than the last.
        """
        broker, times = self._bed.broker, range(self._args.restarts)
        with loads.Load(self._clients, self._args.pause) as load:
            self._wait_for_recovery(load, time.monotonic())
            courses = [self._course(load, broker.stop, seconds, broker.start)
                       for seconds in times]
        lost = [len([call for call in course.affected if call.error])
                for course in courses]
        return (queues, len(times),
                sum(len(course.affected) for course in courses),
                sum(course.answered for course in courses), sum(lost),
                sum(count > 0 for count in lost), self._bed.decided_twice(),
                f'{max(course.longest for course in courses):.1f}')

    def _course(self, load, begin, seconds, end):
        """Run a fault for some seconds: FaultCourse."""
        began = time.monotonic()
        begin()
        time.sleep(seconds)
        end()
        ended = time.monotonic()
        recovered_at = self._wait_for_recovery(load, ended)
        return FaultCourse(began, ended, recovered_at, self._args.normal,
                           load.calls)

    def _wait_for_recovery(self, load, since):
        while time.monotonic() < since + MAX_RECOVERY:
            if self._has_recovered(load.since(since)):
                return time.monotonic()
            time.sleep(0.5)
        return None

    def _has_recovered(self, calls):
        """Return whether the last calls are normal and reach all cells."""
        last = calls[-len(self._clients) * IN_A_ROW:]
        cells = {call.host.partition('-')[0] for call in last if call.host}
        return (len(last) == len(self._clients) * IN_A_ROW
                and all(_is_normal(call, self._args.normal) for call in last)
                and cells == self._bed.cells.keys())

    def _held(self, calls):
        """Return the numbers of extra and of missing allocations."""
        answered = {call.instance for call in calls if call.host is not None}
        self._answered |= answered
        held = self._bed.consumers()
        for_nobody = held - self._answered - self._known
        self._known |= for_nobody
        return len(for_nobody), len(answered - held)


def _faults(bed):
    """Yield (name, cell, begin function, end function) for each fault."""
    def nothing():
        pass

    yield 'none', None, nothing, nothing
    for name, cell, server in (
            ('a cell', 'two', bed.cells['two']),
            ('API', None, bed.api),
            ('Placement', None, bed.placement),
            ('broker', None, bed.broker)):
        yield f'{name} stopped', cell, server.stop, server.start
        yield f'{name} hung', cell, server.hang, server.resume


def _print_table(head, rows):
    """Print a simple table of reStructuredText."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column
              in zip(head, *rows, strict=True)]
    line = '  '.join('=' * width for width in widths)
    print(line)
    for number, row in enumerate([head, *rows]):
        print('  '.join(cell.ljust(width) for cell, width
                        in zip(row, widths, strict=True)).rstrip())
        if number in (0, len(rows)):
            print(line)
    print(flush=True)


def _arguments():
    parser = argparse.ArgumentParser(prog='faults', description=__doc__)
    parser.add_argument('--callers', type=int, default=8)
    parser.add_argument('--seconds', type=float, default=15,
                        help='duration of each fault')
    parser.add_argument('--pause', type=float, default=1,
                        help='seconds between two calls of a caller')
    parser.add_argument('--normal', type=float, default=1,
                        help='seconds that a normal answer may take')
    parser.add_argument('--only', default='',
                        help='run faults with this prefix of their name')
    parser.add_argument('--times', type=int, default=1,
                        help='repetitions of all faults, to find small leaks')
    parser.add_argument('--restarts', type=int, default=5,
                        help='restarts of the broker, for each type of queues')
    parser.add_argument('--logs', help='directory to leave the logs in')
    return parser.parse_args()


def _run_faults(bed, args):
    """Run the faults: rows of _CALLER_COLUMNS, and of _DAEMON_COLUMNS."""
    faults = [fault for fault in _faults(bed)
              if fault[0].startswith(args.only)] * args.times
    seen, left = [], []
    if not faults:
        return seen, left
    with bed.serving():
        runner = FaultRunner(bed, args)
        runner.warm_up()
        for name, cell, begin, end in faults:
            result = runner.run_fault(name, begin, end)
            seen.append(result.caller_row(cell))
            left.append(result.daemon_row())
            print(seen[-1], left[-1], flush=True)
    return seen, left


def _run_restarts(bed, args):
    """Restart the broker: rows of _RESTART_COLUMNS."""
    if not args.restarts or not 'broker restarted'.startswith(args.only):
        return []
    rows = []
    for queues in fault_bed.QUEUES:
        with bed.serving(queues):
            rows.append(FaultRunner(bed, args).run_restarts(queues))
        print(rows[-1], flush=True)
    return rows


def main():
    """Run all faults and print the tables."""
    args = _arguments()
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as directory:
        # The folder of tests/functional/shared.py.
        os.environ['NOVA_SCHED_TEST_SHARED'] = directory
        with fault_bed.Bed(args.logs or directory) as bed:
            seen, left = _run_faults(bed, args)
            restarted = _run_restarts(bed, args)
    for head, rows in ((_CALLER_COLUMNS, seen), (_DAEMON_COLUMNS, left),
                       (_RESTART_COLUMNS, restarted)):
        if rows:
            _print_table(head, rows)


if __name__ == '__main__':
    main()
