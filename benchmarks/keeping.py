"""What keeping decisions costs: two daemons, one of which keeps none.

    tools/with-services.sh python -m benchmarks.keeping [--hosts 1000,10000]

Both serve at the same time, on one broker and database, and are asked in turns
of a few calls, so that whatever else the machine does meets both.  Told are
the medians of each, and their ratio.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time

from benchmarks import bed as test_bed
from benchmarks import load

_HEAD = ('driver', 'hosts', 'callers', 'none kept, p50 ms', 'kept, p50 ms',
         'ratio', 'calls/s ratio')
#: Calls of one caller in a turn, and of each of several: some seconds, in
#: which decisions are written many times.
_ALONE, _EACH = 300, 30


def main():
    parser = argparse.ArgumentParser(prog='keeping', description=__doc__)
    parser.add_argument('--hosts', default='1000,10000')
    parser.add_argument('--drivers', default='filter_scheduler,'
                                             'caching_scheduler')
    parser.add_argument('--callers', default='1,32')
    parser.add_argument('--turns', type=int, default=10)
    args = parser.parse_args()
    print('| ' + ' | '.join(_HEAD) + ' |\n' + '|---' * len(_HEAD) + '|',
          flush=True)
    for hosts in map(int, args.hosts.split(',')):
        for driver in args.drivers.split(','):
            _compare(driver, hosts, map(int, args.callers.split(',')),
                     args.turns)
    return 0


def _compare(driver, hosts, callers, turns):
    """Print a line for each number of callers."""
    urls = [os.environ[f'NOVA_SCHED_TEST_{name}_URL']
            for name in ('RABBIT', 'MYSQL')]
    with (tempfile.TemporaryDirectory() as without,
          tempfile.TemporaryDirectory() as keeping):
        beds = [test_bed.Bed(*urls, directory, (
            f'\n[DEFAULT]\ncontrol_exchange = bench-{number}\n'
            f'host = bench-{number}\n'
            f'[nova_sched]\ndecisions_max_mb = {size}\ntell_picks = false\n'))
                for number, (directory, size) in enumerate(
                    ((without, 0), (keeping, 512)))]
        beds[0].make_cloud(hosts)
        with (beds[0].compute_services(), beds[0].service(driver) as first,
              beds[1].service(driver) as second):
            for count in callers:
                figures = [[], []]
                for _ in range(turns):
                    for into, call in zip(figures, (first, second),
                                          strict=True):
                        into.append(load.run(
                            lambda call=call: call(1), count, 60,
                            _ALONE if count == 1 else _EACH * count))
                        # The last ones are written before the other is asked.
                        time.sleep(0.5)
                _print(driver, hosts, count, figures)


def _print(driver, hosts, count, figures):
    without, keeping = (statistics.median(each.p50 for each in of_one)
                        for of_one in figures)
    rates = [statistics.median(each.per_second for each in of_one)
             for of_one in figures]
    print(f'| {driver} | {hosts} | {count} | {without:.2f} | {keeping:.2f} | '
          f'{keeping / without:.3f} | {rates[1] / rates[0]:.3f} |',
          flush=True)


if __name__ == '__main__':
    sys.exit(main())
