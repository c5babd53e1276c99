"""What callers see while something fails, and what is left afterwards.

    tools/with-services.sh python -m benchmarks.faults

runs the service with all that it needs as processes of their own, stops,
hangs and restarts one after the other under a load of a few callers, and
prints the tables of doc/source/faults.rst.  Needs .venv-nova, see
tools/nova-venv.sh.
"""

import argparse
import collections
import dataclasses
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


@dataclasses.dataclass
class Story:
    """One fault: began, ended and well are time.monotonic().

    well: when each caller had had normal answers again; None: never.
    normal: seconds that an answer may take to be one.
    calls: list of Call.  before, after: Usage.
    """

    fault: str
    began: float
    ended: float
    well: float | None
    normal: float
    calls: list
    before: fault_bed.Usage
    after: fault_bed.Usage
    held_for_nobody: int
    not_held: int

    def seen(self, cell):
        """What callers saw, as _SEEN; cell: which the fault is of."""
        back = self._back()
        touched = [call for call in self.calls
                   if call.ended > self.began and call.began < back]
        errors = collections.Counter(
            call.error for call in touched if call.error)
        refused = errors.pop('NoValidHost', 0)
        return (self.fault, len(touched),
                sum(call.host is not None for call in touched), refused,
                ', '.join(f'{count} {name}' for name, count
                          in errors.items()) or '0',
                f'{max(call.took for call in touched):.1f}',
                'never' if self.well is None
                else f'{max(0, back - self.ended):.1f}',
                self._hosts_back(cell))

    def left(self):
        """What was left, as _LEFT."""
        return (self.fault, *(
            f'{getattr(self.before, name)} - {getattr(self.after, name)}'
            for name in ('threads', 'descriptors', 'memory')),
            self.held_for_nobody, self.not_held)

    def _back(self):
        """When the last call ended that was no normal one."""
        return max((call.ended for call in self.calls
                    if call.ended > self.began
                    and not _is_normal(call, self.normal)),
                   default=self.ended)

    def _hosts_back(self, cell):
        times = [call.ended - self.ended for call in self.calls
                 if call.ended > self.ended
                 and (call.host or '').startswith(f'{cell}-')]
        return f'{max(0, min(times)):.1f}' if times and cell else '-'


def _is_normal(call, seconds):
    return call.host is not None and call.took <= seconds


class Teller:
    """Tells the stories of one Bed.

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
            began = time.monotonic()
            begin()
            time.sleep(self._args.seconds)
            end()
            ended = time.monotonic()
            well = self._until_well(load, ended)
        time.sleep(SETTLE)
        return Story(fault, began, ended, well, self._args.normal, load.calls,
                     before, self._bed.usage(), *self._held(load.calls))

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
    parser.add_argument('--logs', help='directory to leave the logs in')
    return parser.parse_args()


def main():
    """Tell all stories and print the tables."""
    args = _arguments()
    logging.disable(logging.CRITICAL)
    seen, left = [], []
    with (tempfile.TemporaryDirectory() as directory,
          fault_bed.Bed(args.logs or directory) as bed):
        teller = Teller(bed, args)
        teller.warm_up()
        for name, cell, begin, end in [*_faults(bed)] * args.times:
            if name.startswith(args.only):
                story = teller.story(name, begin, end)
                seen.append(story.seen(cell))
                left.append(story.left())
                print(seen[-1], left[-1], flush=True)
    _print_table(_SEEN, seen)
    _print_table(_LEFT, left)


if __name__ == '__main__':
    main()
