"""Measures the service with a real Placement, and its parts in the same run.

    tools/benchmark.sh placement --hosts 1000 --runs 3

Hosts report placed instances of all schedulers. An instance ends when there
are a few hundred later ones. Two more measurements go with each figure: an
empty RPC echo with the request as its arguments, and bare claims with one
connection per caller. Prints a table of medians over all runs for each size of
the cloud, and the limits.
"""

import argparse
import logging
import math
import os
import pathlib
import platform
import statistics
import sys
import tempfile

from benchmarks import load
from benchmarks import placement_bed
from benchmarks import tables
from nova_sched import conf as config

_HEAD = ('what', 'callers', 'instances', 'p50 ms', 'p95 ms', 'p99 ms',
         'slowest ms', 'calls/s', 'p50 / (claim + echo)',
         'calls/s / claims/s', 'errors')
_URLS = {'transport': 'NOVA_SCHED_TEST_RABBIT_URL',
         'database': 'NOVA_SCHED_TEST_MYSQL_URL'}
#: Measured things besides the schedulers.
_ECHO, _CLAIM, _LISTING = 'echo', 'bare claim', 'bare listing'
_WITHOUT = placement_bed.Subject('without Placement', claims=False)
_NOVA = placement_bed.Subject('nova-scheduler', peer=True)

#: Least number of calls for a figure.
_LEAST = 3

#: p50 of a plain request divided by claim + echo, by hosts.
_PLAIN = {1000: 1.5, 10000: 2.0}
_SHARE = 0.65          # of the bare claims per second of 32 connections
_MANY = 1.5            # p50 of 100 instances divided by a claim of 100
_LISTINGS = 5          # slowest call of 32 callers divided by a listing


def _arguments():
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog='benchmark placement', description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, variable in _URLS.items():
        parser.add_argument(
            f'--{name}-url', default=os.environ.get(variable),
            required=variable not in os.environ,
            help=f'URL of the server; by default {variable}, which '
                 'tools/with-services.sh sets')
    for name, default in (('hosts', '1000,10000'), ('callers', '1,8,32'),
                          ('instances', '1,10,100')):
        parser.add_argument(f'--{name}', default=default, type=_numbers)
    parser.add_argument(
        '--modes', default='', type=lambda text: text.split(','),
        help='values of [nova_sched] candidates; an empty value leaves '
             'the option out')
    parser.add_argument('--peer', choices=['nova'],
                        help='a scheduler to measure beside the service')
    parser.add_argument('--most', type=int, default=3200, help='leave out '
                        'figures with more instances under way at a time')
    parser.add_argument('--peer-most', type=int, default=100,
                        help='the same for the peer')
    parser.add_argument('--seconds', type=float, default=4.0,
                        help='longest time for one figure')
    parser.add_argument('--calls', type=int, default=400,
                        help='most calls for one figure')
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--directory', type=pathlib.Path,
                        help='directory for configuration and logs')
    args = parser.parse_args()
    if any(args.modes) and 'candidates' not in config.new_conf(
            [], []).nova_sched:
        parser.error('this service has no option [nova_sched] candidates')
    return args


def _numbers(text):
    return [int(number) for number in text.split(',')]


def main():
    """Run all measurements; return 1 if a limit is exceeded, else 0."""
    args = _arguments()
    logging.disable(logging.WARNING)
    for name, variable in _URLS.items():
        os.environ[variable] = getattr(args, f'{name}_url')
    print(f'{platform.python_implementation()} {platform.python_version()}, '
          f'{os.cpu_count()} cores, {platform.machine()}; Placement in '
          f'{placement_bed.PROCESSES} processes\n', flush=True)
    modes = [placement_bed.Subject(f'candidates = {mode}' if mode
                                   else 'service', mode)
             for mode in args.modes]
    with tempfile.TemporaryDirectory() as directory:
        # The folder of tests/functional/shared.py.
        os.environ['NOVA_SCHED_TEST_SHARED'] = directory
        clouds = [_measured(args, modes, hosts, directory)
                  for hosts in args.hosts]
    missed = sum([cloud.report() for cloud in clouds])
    return 1 if missed else 0


def _measured(args, modes, hosts, directory):
    """Measure with one size of the cloud and print its table: _Figures."""
    files = pathlib.Path(args.directory or directory) / str(hosts)
    files.mkdir(parents=True, exist_ok=True)
    figures = _Figures(hosts, modes)
    with placement_bed.Bed(files, hosts) as bed:
        for number in range(args.runs):
            _say(f'{hosts} hosts, run {number + 1}')
            _Run(args, bed, figures).all(modes)
        figures.lost = bed.guests.settle()[1]
        figures.table()
    return figures


def _say(text):
    print(text, file=sys.stderr, flush=True)


class _Run:
    """One run of all measurements in a cloud."""

    def __init__(self, args, bed, figures):
        self._args, self._bed, self._figures = args, bed, figures

    def all(self, modes):
        """Measure the listing, the service in all modes, and the peer."""
        with self._bed.floor() as self._echo:
            self._measure(_LISTING, 1, 1, self._bed.claims.listing)
            self._matrix(_WITHOUT, 1)
            for subject in modes:
                self._matrix(subject, self._args.most)
            if self._args.peer:
                self._matrix(_NOVA, self._args.peer_most)

    def _matrix(self, subject, most):
        with self._bed.scheduler(subject) as call:
            for callers in self._args.callers:
                for instances in self._args.instances:
                    if callers * instances <= most:
                        self._beside(subject, callers, instances, call)

    def _beside(self, subject, callers, instances, call):
        """Measure calls, right after an echo and a bare claim."""
        carried = placement_bed.request(instances)
        echo = self._measure(_ECHO, callers, instances,
                             lambda: self._echo(**carried), 2)
        claim = self._measure(_CLAIM, callers, instances,
                              lambda: self._bed.claims.claim(instances), 2)
        result = self._measure(subject.name, callers, instances,
                               lambda: call(instances))
        self._figures.compare(subject.name, callers, instances,
                              (result, claim, echo))

    def _measure(self, what, callers, instances, call, part=1):
        """Measure for a part of --seconds: load.Result."""
        self._bed.guests.settle()
        result = load.run(call, callers, self._args.seconds / part,
                          self._args.calls, _LEAST)
        _say(f'  {what}, {callers} callers, {instances} instances: p50 '
             f'{result.p50:.1f} ms, {result.per_second:.1f}/s, '
             f'{result.errors} errors')
        self._figures.add(what, callers, instances, result)
        return result


class _Figures:
    """All results for one size of the cloud, and their limits.

    modes: Subjects to check against the limits.  lost: number of instances
    that were placed without a claim.
    """

    lost = 0

    def __init__(self, hosts, modes):
        self._hosts, self._modes = hosts, modes
        self._results, self._compared = {}, {}

    def add(self, what, callers, instances, result):
        """Add one result."""
        self._results.setdefault((what, callers, instances), []).append(
            result)

    def compare(self, what, callers, instances, results):
        """Add (result, bare claim, echo) of the same time."""
        self._compared.setdefault((what, callers, instances), []).append(
            results)

    def table(self):
        """Print the medians of all results."""
        print(f'{self._hosts} hosts\n')
        tables.head(*_HEAD)
        first = [_ECHO, _CLAIM, _LISTING]
        for what, callers, instances in sorted(
                self._results, key=lambda key: (
                    first.index(key[0]) if key[0] in first else len(first))):
            self._row(what, callers, instances)
        print(flush=True)

    def _row(self, *key):
        of = self._medians(key)
        ratios = '-', '-'
        if key in self._compared and key[0] != _WITHOUT.name:
            ratios = [f'{self._median(key, ratio):.2f}' for ratio in (
                lambda result, claim, echo: result.p50 / (
                    claim.p50 + echo.p50), _share)]
        tables.row(*key, *(f'{of(name):.1f}' for name in (
            'p50', 'p95', 'p99', 'slowest', 'per_second')), *ratios,
            self._errors(key))

    def _medians(self, key):
        return lambda name: statistics.median(
            getattr(result, name) for result in self._results[key])

    def _median(self, key, of):
        """Return the median of a function of (result, bare claim, echo)."""
        return statistics.median(
            of(*results) for results in self._compared[key])

    def _errors(self, key):
        return sum(result.errors for result in self._results[key])

    def report(self):
        """Print each figure with its limit; return how many are missed."""
        missed = [self._count('instance(s) held nothing in Placement',
                              self.lost)]
        names = {_ECHO, _CLAIM, _LISTING, _WITHOUT.name,
                 *(mode.name for mode in self._modes)}
        missed.append(self._count('call(s) were not answered', sum(
            self._errors(key) for key in self._results if key[0] in names)))
        for mode in self._modes:
            for text, value, bound, limit in self._limits(mode):
                passed = (value <= limit if bound == 'at most'
                          else value >= limit)
                missed.append(not passed)
                print(f'{"ok    " if passed else "MISSED"} {self._hosts} '
                      f'hosts, {mode.name}, {text}: {value:.2f}, '
                      f'{bound} {limit:.2f}')
        return sum(missed)

    def _count(self, text, number):
        if number:
            print(f'MISSED {self._hosts} hosts: {number} {text}')
        return bool(number)

    def _limits(self, mode):
        """Yield (text, value, bound, limit) for each limit.

        bound: 'at most' or 'at least'.
        """
        plain, crowd, many = ((mode.name, *key) for key in (
            (1, 1), (32, 1), (1, 100)))
        if self._hosts in _PLAIN and plain in self._compared:
            yield self._plain(plain, _PLAIN[self._hosts])
        if self._hosts == 1000 and crowd in self._compared:
            yield ('32 callers, calls/s in bare claims/s',
                   self._median(crowd, _share), 'at least', _SHARE)
        if many in self._compared:
            yield ('100 instances, p50 in a bare claim of 100', self._median(
                many, lambda result, claim, _: result.p50 / claim.p50),
                'at most', _MANY)
        if (self._hosts == 10000 and mode.mode == 'list'
                and crowd in self._compared):
            yield ('32 callers, the slowest ms', max(
                result.slowest for result in self._results[crowd]), 'at most',
                _LISTINGS * self._medians((_LISTING, 1, 1))('p50'))

    def _plain(self, key, factor):
        """Return the limit of a plain request, like _limits.

        The service's own work may take as long as without Placement.
        """
        without = (_WITHOUT.name, 1, 1)
        own = self._median(without, lambda result, _, echo:
                           result.p50 - echo.p50)
        limit = self._median(key, lambda _, claim, echo:
                             factor * (claim.p50 + echo.p50)) + own
        return (f'plain request, p50 ms, {factor} x (claim + echo) + own '
                'work', self._median(key, lambda result, *_: result.p50),
                'at most', limit)


def _share(result, claim, _):
    """Return the calls per second divided by bare claims per second."""
    return (result.per_second / claim.per_second if claim.per_second
            else math.inf)


if __name__ == '__main__':
    sys.exit(main())
