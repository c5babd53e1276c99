"""An hour of mixed schedulers with faults.

    python -m benchmarks.mixed --minutes 60 --old DIRECTORY

Two daemons of this checkout, two of an older one in DIRECTORY and one
nova-scheduler serve one queue, behind a real Placement, with two cells.
Conductors boot, delete and move instances in a nearly full cloud.  During that
time each scheduler in turn is stopped or killed and started again, the broker
is restarted, and a cell and Placement are stopped and suspended.  The report
has the calls without an answer and the fault that explains each, resources
over capacity, and allocations without an instance.  The exit status is 1 if
there is any without an explanation.  Needs .venv-nova, see tools/nova-venv.sh,
and starts RabbitMQ and MariaDB.
"""

import argparse
import collections
import logging
import os
import pathlib
import signal
import sys
import tempfile
import threading
import time

from benchmarks import mixed_bed
from benchmarks import mixed_callers
from benchmarks import mixed_cloud
from benchmarks import mixed_report

#: Seconds from one fault to the next, at most and at least.
SLOT, SHORTEST = 30, 10
#: The run is over after this many seconds without anything wrong.
QUIET = 30
#: Time-out in seconds of a call with signs of life.
LONGEST = 180
FAULTS = 10    # per round


class Faults:
    """All faults in turn.

    past: list of Fault; the last one may still be active.
    """

    def __init__(self, bed, auditor, slot):
        self._bed, self._auditor, self._slot = bed, auditor, slot
        self.past = []

    def run(self, until):
        """Make one part after the other fail until ``time.monotonic()``."""
        turn = 0
        while True:
            for fault in self._round(turn):
                next_at = time.monotonic() + self._slot
                if next_at > until:
                    return
                self._run(*fault)
                time.sleep(max(0, next_at - time.monotonic()))
            turn += 1

    def _round(self, turn):
        """Yield (kind, target, function that causes and ends the fault)."""
        bed = self._bed
        cell = mixed_bed.CELLS[turn % 2]
        others = [
            ('restarted', mixed_report.BROKER, bed.broker.stop,
             bed.broker.start, turn % 8),
            ('stopped', f'cell {cell}', bed.cells[cell].stop,
             bed.cells[cell].start, None),
            # For less and for more time than a request waits for it.
            ('stopped', mixed_report.PLACEMENT, bed.placement.stop,
             bed.placement.start, (2, 4, self._slot / 3)[turn % 3]),
            ('suspended', f'cell {cell}', bed.cells[cell].hang,
             bed.cells[cell].resume, None),
            ('suspended', mixed_report.PLACEMENT, bed.placement.hang,
             bed.placement.resume, None)]
        for number, (scheduler, other) in enumerate(zip(
                bed.schedulers, others, strict=True)):
            yield self._restart(scheduler, (turn + number) % 2)
            yield other

    def _restart(self, scheduler, kill):
        """Return the fault of a scheduler, like ``_round``."""
        def back():
            scheduler.start()
            self._bed.wait_for(scheduler)

        return (mixed_report.KILLED if kill else mixed_report.STOPPED,
                scheduler.name, scheduler.kill if kill else scheduler.stop,
                back, 1)

    def _run(self, what, target, begin, end, seconds):
        fault = mixed_report.Fault(what, target, time.monotonic())
        self.past.append(fault)
        if target == mixed_report.PLACEMENT:
            self._auditor.paused = True
        done = begin()
        if isinstance(done, tuple):
            fault.status = done[0]
        fault.down = time.monotonic()
        time.sleep(self._slot / 3 if seconds is None else seconds)
        end()
        fault.ended = time.monotonic()
        self._auditor.paused = False
        _say(f'{target} {what}: down after {fault.down - fault.began:.1f} s, '
             f'back after {fault.ended - fault.began:.1f} s')


class Progress:
    """Prints a progress line every ten seconds, in a thread."""

    def __init__(self, callers, world, auditor, faults):
        self._callers, self._world = callers, world
        self._auditor, self._faults = auditor, faults
        self._began, self._end = time.monotonic(), threading.Event()
        threading.Thread(target=self._work, daemon=True).start()

    def stop(self):
        """End the thread."""
        self._end.set()

    def _work(self):
        while not self._end.wait(10):
            calls = list(self._callers.calls)
            outcomes = collections.Counter(
                call.outcome or 'under way' for call in calls)
            last = self._faults.past[-1:]
            _say(f'{time.monotonic() - self._began:.0f} s: {len(calls)} calls '
                 f'{dict(outcomes)}, {len(self._world.live)} instances, '
                 f'{self._auditor.samples} samples, '
                 f'{len(self._auditor.over)} over capacity, '
                 f'{len(self._auditor.oddities)} oddities, '
                 + ''.join(f'{fault.target} {fault.what}'
                           + ('' if fault.ended else ' now')
                           for fault in last))


def _say(text):
    print(text, file=sys.stderr, flush=True)


def _arguments():
    parser = argparse.ArgumentParser(
        prog='mixed', description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--old', required=True, metavar='DIRECTORY',
                        help='checkout of the older revision')
    parser.add_argument('--minutes', type=float, default=60)
    parser.add_argument('--callers', type=int, default=6)
    parser.add_argument('--hosts', type=int, default=50, help='per cell')
    parser.add_argument('--patience', type=int, default=60, help=(
        'seconds without a sign of life until a caller gives up'))
    parser.add_argument('--logs', type=pathlib.Path,
                        help='directory to leave the logs in')
    return parser.parse_args()


def main():
    """Run it; return 1 if anything is wrong without an explanation."""
    args = _arguments()
    logging.disable(logging.CRITICAL)
    # Stop the servers on SIGTERM too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    os.environ['EVENTLET_NO_GREENDNS'] = 'yes'
    with tempfile.TemporaryDirectory() as directory:
        os.environ['NOVA_SCHED_TEST_SHARED'] = directory
        logs = args.logs or pathlib.Path(directory) / 'logs'
        logs.mkdir(parents=True, exist_ok=True)
        with mixed_bed.Bed(logs, args.old) as bed:
            bed.fill(args.hosts)
            report = _measured(bed, args)
            return 0 if report.print() else 1


def _measured(bed, args):
    """Run the conductors, the auditor and all faults: Report."""
    _say('starting the schedulers')
    bed.start()
    world = mixed_cloud.World(mixed_callers.GROUPS)
    computes = mixed_cloud.Computes(bed, world)
    ledger = mixed_cloud.Ledger(bed.placement.url)
    auditor = mixed_cloud.Auditor(bed, world, ledger)
    seconds = args.minutes * 60
    faults = Faults(bed, auditor, max(SHORTEST, min(
        SLOT, seconds / (FAULTS + 1))))
    callers = mixed_callers.Callers(bed, world, computes, ledger, [
        bed.client(args.patience, LONGEST) for _ in range(args.callers)])
    progress = Progress(callers, world, auditor, faults)
    with callers:
        faults.run(time.monotonic() + seconds)
    _settle(auditor)
    left = auditor.wrong()
    _say(f'the callers have ended; {len(world.live)} instances are deleted')
    while instance := world.take_any():
        callers.delete(instance)
    computes.settle()
    _settle(auditor)
    left |= auditor.wrong()
    auditor.stop()
    progress.stop()
    return mixed_report.Report(
        bed.schedulers, faults.past, callers, computes.refused, auditor, left)


def _settle(auditor):
    """Wait until nothing was wrong for a while, or until it stays wrong."""
    deadline = time.monotonic() + 4 * QUIET
    since = time.monotonic()
    while time.monotonic() < min(since + QUIET, deadline):
        time.sleep(1)
        if auditor.wrong():
            since = time.monotonic()


if __name__ == '__main__':
    sys.exit(main())
