"""Measures decisions on workloads from data files, in process.

``python -m benchmarks.workloads [--label short|full|large] [--only NAME]
[--svg DIRECTORY] [--runs N]`` needs no server: each cloud is a SQLite file.
It measures the caching driver's select_destinations, with alternates, one
request after the other.

Label ``short`` is a smoke check: it checks the answers, not the times.  The
exit status is 1 if an answer is wrong, or, with other labels, if a figure to
reach is missed.
"""

import argparse
import logging
import os
import pathlib
import platform
import sys
import tempfile

from benchmarks import svg
from benchmarks import tables
from benchmarks import violations
from benchmarks import workload_data
from benchmarks import workload_figures
from benchmarks.workload_bed import Bed


def main(args=None):
    """Run the workloads; return the exit status."""
    args = _arguments(args)
    logging.disable(logging.WARNING)
    print(f'{platform.python_implementation()} {platform.python_version()}, '
          f'{os.cpu_count()} cores, {platform.machine()}, '
          f'label {args.label}\n')
    tables.head(*workload_figures.HEAD)
    measured = []
    for name in args.only or workload_data.names():
        workload = workload_data.load(name, args.label)
        if workload is not None:
            measured.append(measure(workload, args.runs))
            tables.row(*measured[-1].row())
    _print_shares(measured)
    if args.svg:
        _draw(measured, pathlib.Path(args.svg))
    return _report(measured, args.label)


def _arguments(args):
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.workloads',
                                     description=__doc__)
    parser.add_argument('--label', choices=workload_data.LABELS,
                        default='short')
    parser.add_argument('--only', action='append', metavar='NAME',
                        choices=workload_data.names(),
                        help='a workload; may be given several times')
    parser.add_argument('--svg', metavar='DIRECTORY',
                        help='where to put charts')
    parser.add_argument('--runs', type=int, default=1,
                        help='number of runs of each, for medians')
    return parser.parse_args(args)


def measure(workload, runs=1):
    """Return the Figures of a workload.

    runs: their number, unless the workload's file sets it.
    """
    answers, found = [], []
    with tempfile.TemporaryDirectory() as directory:
        bed = Bed(workload, directory)
        for _ in range(workload.runs or runs):
            run, cells = bed.run()
            answers.append(run)
            found += violations.find(run, bed.rooms)
            if workload.kind == 'topology':
                found += violations.miscounted(run, cells)
    return workload_figures.Figures(workload, answers, bed.rooms, found)


def _print_shares(measured):
    filled = [figures for figures in measured
              if figures.workload.kind == 'topology']
    if filled:
        print()
        tables.head(*workload_figures.SHARES_HEAD)
        for row in [row for figures in filled for row in figures.shares()]:
            tables.row(*row)
    for figures in filled:
        print(f'\n{figures.summary()}')


def _draw(measured, directory):
    """Write the charts: the figures to reach, and the use of RAM."""
    directory.mkdir(parents=True, exist_ok=True)
    rows = [(f'{figures.workload.name}, {goal.figure}', goal.ratio(value),
             f'{value:,.4g} of {goal.limit:,g}')
            for figures in measured for goal, value, _ in figures.goals()]
    if rows:
        (directory / 'workloads.svg').write_text(svg.bars(
            'Figures beside those to reach (line); longer is better', rows))
    for figures in measured:
        if figures.workload.kind == 'topology':
            name = figures.workload.name
            (directory / f'{name}.svg').write_text(svg.curve(
                f'{name}: share of the free RAM that is taken',
                figures.ram_curve(), 'requests', 'RAM'))


def _report(measured, label):
    """Print errors and each figure to reach; return the status."""
    failed = False
    print()
    for figures in measured:
        name = figures.workload.name
        for text in figures.violations[:10]:
            print(f'WRONG  {name}: {text}')
        failed |= bool(figures.violations)
        for goal, value, reached in figures.goals():
            if label != 'short':
                failed |= not reached
                print(f'{"ok    " if reached else "MISSED"} {name}: '
                      f'{value:.2f}, {goal}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
