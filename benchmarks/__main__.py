"""Measures the service and an empty RPC echo in the same run.

Needs a real RabbitMQ and a MariaDB: ``tools/benchmark.sh`` starts both and
runs this module.  Prints the tables of benchmarks/README.md.
"""

import argparse
import functools
import logging
import os
import platform
import sys
import tempfile
import time

from benchmarks import bed as test_bed
from benchmarks import decision
from benchmarks import load
from benchmarks import tables

_DRIVERS = 'filter_scheduler,caching_scheduler,chance_scheduler'
_HEAD = ('driver', 'hosts', 'callers', 'instances', 'p50 ms', 'p95 ms',
         'p99 ms', 'calls/s', 'p50 / floor', 'calls/s / floor',
         'CPU ms / call', 'errors')


def _arguments():
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog='benchmark', description=__doc__)
    parser.add_argument('--transport-url', required=True)
    parser.add_argument('--database-url', required=True)
    parser.add_argument('--drivers', default=_DRIVERS)
    for name, default in (('hosts', '100,1000,10000'),
                          ('callers', '1,8,32'), ('instances', '1,10,100')):
        parser.add_argument(f'--{name}', default=default, type=_numbers)
    parser.add_argument('--seconds', type=float, default=4.0,
                        help='longest time for one figure')
    parser.add_argument('--calls', type=int, default=400,
                        help='most calls for one figure')
    return parser.parse_args()


def _numbers(text):
    return [int(number) for number in text.split(',')]


def main():
    """Run all measurements; return 1 if a limit is exceeded, else 0."""
    args = _arguments()
    logging.disable(logging.WARNING)
    print(f'{platform.python_implementation()} {platform.python_version()}, '
          f'{os.cpu_count()} cores, {platform.machine()}\n', flush=True)
    with tempfile.TemporaryDirectory() as directory:
        bed = test_bed.Bed(args.transport_url, args.database_url, directory)
        figures = _Figures()
        _decisions(args, bed, figures)
        _services(args, bed, figures)
    return figures.report()


def _decisions(args, bed, figures):
    tables.head('decision', 'hosts', 'instances', 'p50 ms', 'p95 ms',
                'p99 ms')
    for hosts in args.hosts:
        bed.make_cloud(hosts)
        with bed.serving() as (call, taken):
            for instances in args.instances:
                _decision(bed, figures, hosts, instances, call, taken)
    print(flush=True)


def _decision(bed, figures, hosts, instances, call, taken):
    """Measure decisions of one size, in process and in a serving worker."""
    count = max(20, 400 // instances)
    result = decision.measure(bed.configuration('caching_scheduler'),
                              instances, count)
    figures.decision[hosts, instances] = result.p50
    tables.row('in process', hosts, instances, *_milliseconds(result))
    before, begin = len(taken()), time.perf_counter()
    for _ in range(count):
        call(instances)
    served = load.summary(taken()[before:], 0, time.perf_counter() - begin)
    tables.row('in the serving worker', hosts, instances,
               *_milliseconds(served))


def _services(args, bed, figures):
    for hosts in args.hosts:
        bed.make_cloud(hosts)
        with bed.compute_services():
            _one_cloud(args, bed, figures, hosts)


def _one_cloud(args, bed, figures, hosts):
    with bed.floor() as echo:
        read = load.run_between(bed.bare_read(), _carrying(echo, 1), 50)
        again = load.run(bed.bare_read(), 1, args.seconds, 50)
    figures.read[hosts] = again.p50
    print(f'bare read of the rows of {hosts} hosts: p50 '
          f'{read.p50:.1f} ms between echoes, {again.p50:.1f} ms without '
          'a pause\n')
    tables.head(*_HEAD)
    for driver in args.drivers.split(','):
        with bed.floor() as echo, bed.service(driver) as call:
            _matrix(args, bed, figures, driver, hosts, echo, call)
    print(flush=True)


def _matrix(args, bed, figures, driver, hosts, echo, call):
    for callers in args.callers:
        for instances in args.instances:
            # Machines are noisy: the floor is measured beside each figure.
            floor = load.run(_carrying(echo, instances), callers,
                             args.seconds / 2, args.calls)
            before = bed.processor_seconds()
            result = load.run(lambda n=instances: call(n), callers,
                              args.seconds, args.calls)
            # The first call of each caller is not in the result.
            used = (bed.processor_seconds() - before) / (
                result.calls + callers)
            ratio = result.p50 / floor.p50
            figures.service[driver, hosts, callers, instances] = (
                result, floor)
            tables.row(
                driver, hosts, callers, instances, *_milliseconds(result),
                f'{result.per_second:.0f}', f'{ratio:.2f}',
                f'{result.per_second / floor.per_second:.2f}',
                f'{1000 * used:.1f}', result.errors)


def _carrying(echo, instances):
    """Return a call of the echo with a whole request as its arguments."""
    return functools.partial(echo, **test_bed.request(instances))


def _milliseconds(result):
    return [f'{value:.2f}' for value in (result.p50, result.p95, result.p99)]


class _Figures:
    """The measured figures and their limits."""

    def __init__(self):
        self.decision, self.read, self.service = {}, {}, {}

    def report(self):
        """Print each figure with its limit; return 1 if one is exceeded."""
        missed = sum(result.errors for result, _ in self.service.values())
        if missed:
            print(f'MISSED {missed} call(s) were not answered')
        for text, value, limit in self._limits():
            passed = value <= limit
            missed += not passed
            outcome = 'ok    ' if passed else 'MISSED'
            print(f'{outcome} {text}: {value:.2f} ms, '
                  f'at most {limit:.2f} ms')
        return 1 if missed else 0

    def _limits(self):
        for hosts, limit in ((1000, 2.0), (10000, 15.0)):
            if (hosts, 1) in self.decision:
                yield (f'decision p50 at {hosts} hosts',
                       self.decision[hosts, 1], limit)
        for driver, reads in (('caching_scheduler', 0),
                              ('filter_scheduler', 1)):
            if (driver, 1000, 1, 1) in self.service:
                result, floor = self.service[driver, 1000, 1, 1]
                read = reads * self.read[1000]
                yield (f'{driver} p50 at 1000 hosts, 2.5 x floor '
                       f'{floor.p50:.2f} ms' + (' + read' * reads),
                       result.p50, 2.5 * floor.p50 + read)


if __name__ == '__main__':
    sys.exit(main())
