"""Compares checkouts and configurations, each with its own daemon.

    tools/with-services.sh python -m benchmarks.beside \\
        old=../old new=. without=.,nova_sched.decisions_max_mb=0

Each argument is a name, the directory of a checkout that has a ``.venv``
(``tools/venv.sh``), and options of its configuration.  All daemons serve at
the same time, on one broker (each in its own virtual host) and one database.
They are called in turns of a few seconds, so that other load on the machine
affects all of them alike.  The table has for each daemon the medians over its
turns, the processor time of all turns, and the ratios to the first daemon.
"""

import argparse
import collections
import contextlib
import logging
import os
import pathlib
import statistics
import sys
import tempfile
import time
import urllib.parse

from benchmarks import bed as test_bed
from benchmarks import load
from benchmarks import tables

_HEAD = ('driver', 'hosts', 'callers', 'daemon', 'p50 ms', 'calls/s',
         'CPU ms / call', 'errors', 'p50, calls/s, CPU to the first')

#: Number of the last virtual host that ``tools/with-services.sh`` makes.
#: Tests use the first ones.
_LAST = 15

_Turn = collections.namedtuple('_Turn', 'result calls seconds')


def main():
    parser = argparse.ArgumentParser(prog='beside', description=__doc__)
    parser.add_argument('daemons', nargs='+', metavar='NAME=DIRECTORY',
                        type=_daemon)
    parser.add_argument('--hosts', default='1000')
    parser.add_argument('--drivers', default='caching_scheduler')
    parser.add_argument('--callers', default='1,32')
    parser.add_argument('--turns', type=int, default=8)
    parser.add_argument('--seconds', type=float, default=3.0,
                        help='duration of a turn')
    args = parser.parse_args()
    # Hide the client's warnings about many callers in one process.
    logging.disable(logging.WARNING)
    tables.head(*_HEAD)
    for hosts in map(int, args.hosts.split(',')):
        for driver in args.drivers.split(','):
            _compare(args, driver, hosts)
    return 0


def _daemon(text):
    """Parse a daemon argument: name, checkout and configuration."""
    name, _, rest = text.partition('=')
    checkout, *options = rest.split(',')
    lines = []
    for option in options:
        option, _, value = option.partition('=')
        group, _, option = option.rpartition('.')
        lines.append(f'[{group or "DEFAULT"}]\n{option} = {value}\n')
    return name, pathlib.Path(checkout).resolve(), ''.join(lines)


def _compare(args, driver, hosts):
    """Print a line for each daemon and number of callers."""
    broker = urllib.parse.urlsplit(os.environ['NOVA_SCHED_TEST_RABBIT_URL'])
    with contextlib.ExitStack() as stack:
        beds, calls = {}, {}
        for number, (name, checkout, options) in enumerate(args.daemons):
            directory = stack.enter_context(tempfile.TemporaryDirectory())
            beds[name] = test_bed.Bed(
                broker._replace(path=f'/gw{_LAST - number}').geturl(),
                os.environ['NOVA_SCHED_TEST_MYSQL_URL'], directory, options,
                checkout)
            if not calls:
                beds[name].make_cloud(hosts)
                stack.enter_context(beds[name].compute_services())
            calls[name] = stack.enter_context(beds[name].service(driver))
        for callers in map(int, args.callers.split(',')):
            turns = collections.defaultdict(list)
            for turn in range(args.turns):
                # Reverse the order each turn: the first may have an advantage.
                names = [*calls][::1 if turn % 2 else -1]
                for name in names:
                    turns[name].append(_turn(beds[name], calls[name], callers,
                                             args.seconds))
            _print_figures(driver, hosts, callers, {
                name: turns[name] for name in calls})


def _turn(bed, call, callers, seconds):
    """Call one daemon for some seconds: _Turn."""
    before = bed.processor_seconds()
    result = load.run(lambda: call(1), callers, seconds, 10**6)
    # Work after the answers belongs to the same turn.
    time.sleep(0.5)
    # The first call of each caller is not in the result.
    return _Turn(result, result.calls + callers,
                 bed.processor_seconds() - before)


def _print_figures(driver, hosts, callers, turns):
    first = None
    for name, of_one in turns.items():
        figures = (
            statistics.median(turn.result.p50 for turn in of_one),
            statistics.median(turn.result.per_second for turn in of_one),
            1000 * sum(turn.seconds for turn in of_one)
            / sum(turn.calls for turn in of_one))
        first = first or figures
        tables.row(driver, hosts, callers, name,
                   *(f'{figure:.2f}' for figure in figures),
                   sum(turn.result.errors for turn in of_one),
                   ', '.join(f'{figure / of_first:.3f}' for figure, of_first
                             in zip(figures, first, strict=True)))


if __name__ == '__main__':
    sys.exit(main())
