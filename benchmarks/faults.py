"""What callers see while something fails, and what is left afterwards.

    tools/with-services.sh python -m benchmarks.faults

runs the service with all that it needs as processes of their own, stops,
hangs and restarts one after the other under a load of a few callers; then
restarts the broker, several times for each kind of queues.  It prints the
tables of doc/source/faults.rst.  Needs .venv-nova, see tools/nova-venv.sh.
"""

import argparse
import collections
import dataclasses
import functools
import logging
import tempfile
import time

from benchmarks import fault_bed
from tests.functional import load as loads

#: Normal answers in a row, times the callers, after which all is well again.
IN_A_ROW = 3
#: Seconds that this is waited for at most, and that idle workers then have
#: to give up what they do not need.
MOST, SETTLE = 120, 15

_SEEN = ('fault', 'calls', 'answered', 'refused', 'errors', 'longest',
         'normal', 'hosts')
_LEFT = ('fault', 'threads', 'descriptors', 'MiB', 'held for nobody',
         'not held')
_RESTARTED = ('queues', 'restarts', 'calls', 'answered', 'lost', 'at restarts',
              'decided twice', 'longest')


@dataclasses.dataclass
class Course:
    """Calls in the course of a fault.

    began, ended, well: time.monotonic(); well: when each caller had had
    normal answers again; None: never.
    normal: seconds that an answer may take to be one.
    calls: list of Call, until then.
    """

    began: float
    ended: float
    well: float | None
    normal: float
    calls: list

    @functools.cached_property
    def touched(self):
        """The calls that the fault may have touched."""
        return [call for call in self.calls
                if call.ended > self.began and call.began < self.back]

    @functools.cached_property
    def back(self):
        """When the last call ended that was no normal one."""
        return max((call.ended for call in self.calls
                    if call.ended > self.began
                    and not _is_normal(call, self.normal)),
                   default=self.ended)

    @property
    def answered(self):
        """How many of them got a host."""
        return sum(call.host is not None for call in self.touched)

    @property
    def longest(self):
        """Seconds."""
        return max(call.took for call in self.touched)


@dataclasses.dataclass
class Story:
    """One fault, and what it left; before, after: Usage."""

    fault: str
    course: Course
    before: fault_bed.Usage
    after: fault_bed.Usage
    held_for_nobody: int
    not_held: int

    def seen(self, cell):
        """What callers saw, as _SEEN; cell: which the fault is of."""
        course = self.course
        errors = collections.Counter(
            call.error for call in course.touched if call.error)
        refused = errors.pop('NoValidHost', 0)
        return (self.fault, len(course.touched), course.answered, refused,
                ', '.join(f'{count} {name}' for name, count
                          in errors.items()) or '0',
                f'{course.longest:.1f}',
                'never' if course.well is None
                else f'{max(0, course.back - course.ended):.1f}',
                self._hosts_back(cell))

    def left(self):
        """What was left, as _LEFT."""
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


class Teller:
    """Tells the stories of one Bed that is serving.

    args: the command line.
    """

    def __init__(self, bed, args):
        self._bed, self._args = bed, args
        self._clients = bed.clients(args.callers)
        self._answered, self._known = set(), set()

    def warm_up(self):
        """Have the workers open what they need."""
        with loads.Load(self._clients, self._args.pause) as load:
            self._until_well(load, time.monotonic())
        time.sleep(SETTLE)
        self._held(load.calls)

    def story(self, fault, begin, end):
        """The Story of a fault, which begins and ends by these functions."""
        before = self._bed.usage()
        with loads.Load(self._clients, self._args.pause) as load:
            self._until_well(load, time.monotonic())
            course = self._course(load, begin, self._args.seconds, end)
        time.sleep(SETTLE)
        course.calls = load.calls
        return Story(fault, course, before, self._bed.usage(),
                     *self._held(load.calls))

    def restarts(self, queues):
        """What restarts of the broker have callers see, as _RESTARTED.

        One takes a second longer than the one before, because callers try
        the broker at growing intervals, all of them at about the same time.
        """
        broker, times = self._bed.broker, range(self._args.restarts)
        with loads.Load(self._clients, self._args.pause) as load:
            self._until_well(load, time.monotonic())
            courses = [self._course(load, broker.stop, seconds, broker.start)
                       for seconds in times]
        lost = [len([call for call in course.touched if call.error])
                for course in courses]
        return (queues, len(times),
                sum(len(course.touched) for course in courses),
                sum(course.answered for course in courses), sum(lost),
                sum(count > 0 for count in lost), self._bed.decided_twice(),
                f'{max(course.longest for course in courses):.1f}')

    def _course(self, load, begin, seconds, end):
        """The Course of a fault that lasts so many seconds."""
        began = time.monotonic()
        begin()
        time.sleep(seconds)
        end()
        ended = time.monotonic()
        well = self._until_well(load, ended)
        return Course(began, ended, well, self._args.normal, load.calls)

    def _until_well(self, load, since):
        while time.monotonic() < since + MOST:
            if self._is_well(load.since(since)):
                return time.monotonic()
            time.sleep(0.5)
        return None

    def _is_well(self, calls):
        """Whether calls end in enough normal answers, of all cells."""
        last = calls[-len(self._clients) * IN_A_ROW:]
        cells = {call.host.partition('-')[0] for call in last if call.host}
        return (len(last) == len(self._clients) * IN_A_ROW
                and all(_is_normal(call, self._args.normal) for call in last)
                and cells == self._bed.cells.keys())

    def _held(self, calls):
        """How many hold something for nobody, and how many do not hold."""
        answered = {call.instance for call in calls if call.host is not None}
        self._answered |= answered
        held = self._bed.consumers()
        for_nobody = held - self._answered - self._known
        self._known |= for_nobody
        return len(for_nobody), len(answered - held)


def _faults(bed):
    """(name, cell, what begins it, what ends it) of each fault."""
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
    """A simple table of reStructuredText."""
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
                        help='that each fault lasts')
    parser.add_argument('--pause', type=float, default=1,
                        help='seconds between two calls of a caller')
    parser.add_argument('--normal', type=float, default=1,
                        help='seconds that a normal answer may take')
    parser.add_argument('--only', default='',
                        help='faults whose names begin so')
    parser.add_argument('--times', type=int, default=1,
                        help='that all of them are told, to find small leaks')
    parser.add_argument('--restarts', type=int, default=5,
                        help='of the broker, for each kind of queues')
    parser.add_argument('--logs', help='directory to leave the logs in')
    return parser.parse_args()


def _stories(bed, args):
    """Tell what faults do: rows as _SEEN, and as _LEFT."""
    faults = [fault for fault in _faults(bed)
              if fault[0].startswith(args.only)] * args.times
    seen, left = [], []
    if not faults:
        return seen, left
    with bed.serving():
        teller = Teller(bed, args)
        teller.warm_up()
        for name, cell, begin, end in faults:
            story = teller.story(name, begin, end)
            seen.append(story.seen(cell))
            left.append(story.left())
            print(seen[-1], left[-1], flush=True)
    return seen, left


def _restarts(bed, args):
    """Tell what restarts of the broker do: rows as _RESTARTED."""
    if not args.restarts or not 'broker restarted'.startswith(args.only):
        return []
    rows = []
    for queues in fault_bed.QUEUES:
        with bed.serving(queues):
            rows.append(Teller(bed, args).restarts(queues))
        print(rows[-1], flush=True)
    return rows


def main():
    """Tell all stories and print the tables."""
    args = _arguments()
    logging.disable(logging.CRITICAL)
    with (tempfile.TemporaryDirectory() as directory,
          fault_bed.Bed(args.logs or directory) as bed):
        seen, left = _stories(bed, args)
        restarted = _restarts(bed, args)
    for head, rows in ((_SEEN, seen), (_LEFT, left),
                       (_RESTARTED, restarted)):
        if rows:
            _print_table(head, rows)


if __name__ == '__main__':
    main()
