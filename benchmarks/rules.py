"""Measures each built-in filter and weigher, as columns and by rows.

``python -m benchmarks.rules [--hosts 10000]``, also run by
``tools/benchmark-rules.sh``.  No broker or database is involved.

Per rule, in one process: ``cold``, the first answer on a new table; ``warm``,
the median of further requests on that table; ``rows``, the same rule host by
host through the row views of plug-ins.  Rules with a ``plug-in`` figure are
also in ``row_rules.py``, in the form of a plug-in; the ratio is then to the
faster of the two.
"""

import argparse
import logging
import statistics
import sys
import time

import numpy as np

from benchmarks import numa
from benchmarks import row_rules
from benchmarks import rule_bed
from benchmarks import tables
from nova_sched import filters as base_filters
from nova_sched.hosts import decision

#: Least ratio of the time by rows to the time by columns.
NUMERIC, REPEATED = 20, 10
_CHAIN_LIMIT = 5.0    # ms
_WARM = 15            # requests


def main():
    """Measure and print; return 1 if a limit is exceeded, else 0."""
    parser = argparse.ArgumentParser('python -m benchmarks.rules')
    parser.add_argument('--hosts', type=int, default=10000)
    parser.add_argument('--rows', type=int, default=1000,
                        help='hosts to judge one by one; the time is scaled '
                             'up')
    args = parser.parse_args()
    # Rules must not write log files here.
    logging.getLogger('nova_sched').setLevel(logging.ERROR)
    bed = rule_bed.RuleBed(args.hosts)
    print(f'{args.hosts} hosts\n')
    tables.head('rule', 'kind', 'passing', 'cold ms', 'warm ms', 'rows ms',
                'plug-in ms', 'rows / warm')
    missed = sum([_one(bed, rule, args.rows) for rule in bed.rules()])
    missed += _chain(bed) + _numa()
    return 1 if missed else 0


def _one(bed, rule, rows):
    name = type(rule).__name__
    table = bed.table()
    cold, answer = _ask(bed, rule, table)
    warm = statistics.median(
        _ask(bed, rule, table)[0] for _ in range(_WARM))
    by_rows = _by_rows(bed, table, rule_bed.by_row(rule), name, rows)
    written = row_rules.RULES.get(name)
    plugin = written and _by_rows(bed, table, written, name, rows)
    ratio = min(by_rows, plugin or by_rows) / warm
    kind = rule_bed.kind(rule)
    passing = int(answer.sum()) if answer.dtype == np.bool_ else '-'
    tables.row(name, kind, passing, f'{cold:.2f}', f'{warm:.3f}',
               f'{by_rows:.0f}', f'{plugin:.1f}' if plugin else '-',
               f'{ratio:.0f}')
    least = {'numeric': NUMERIC, 'repeated': REPEATED}.get(kind, 0)
    if ratio < least:
        print(f'MISSED {name}: {ratio:.1f} times as fast, at least {least}')
    return ratio < least


def _ask(bed, rule, table):
    """Return (milliseconds, column) of a rule's answer to one request."""
    hosts, spec = bed.hosts(table), bed.request(type(rule).__name__)
    start = time.perf_counter()
    answer = rule_bed.column(rule, hosts, spec)
    return (time.perf_counter() - start) * 1000, answer


def _by_rows(bed, table, ask, name, rows):
    """Return the milliseconds for all hosts, one by one."""
    hosts, spec = bed.hosts(table), bed.request(name)
    sample = hosts.snapshot.block(
        np.linspace(0, len(hosts) - 1, rows).astype(int)).states()
    ask(sample[0], spec)
    start = time.perf_counter()
    for state in sample:
        ask(state, spec)
    return (time.perf_counter() - start) * 1000 * len(hosts) / rows


def _chain(bed):
    """Measure the filters of Nova 34 except NUMA and PCI in one chain."""
    table, times = bed.table(), []
    for _ in range(_WARM + 1):
        hosts, spec = bed.hosts(table), bed.request(None)
        record = decision.Decision(
            state=decision.State(hosts=len(hosts)))
        start = time.perf_counter()
        left = base_filters.run(
            bed.chain, hosts, spec, 0, record)
        times.append((time.perf_counter() - start) * 1000)
    warm = statistics.median(times[1:])
    print(f'\n{len(bed.chain)} filters on {len(hosts)} hosts, {len(left)} '
          f'left: {times[0]:.2f} ms cold, p50 {warm:.2f} ms warm')
    if warm > _CHAIN_LIMIT:
        print(f'MISSED at most {_CHAIN_LIMIT} ms')
    return warm > _CHAIN_LIMIT


def _numa():
    print(f'\n{numa.GUEST_CELLS} guest cells on {numa.HOST_CELLS} host cells'
          '\n')
    tables.head('NUMA fit', 'fits', 'p50 ms')
    missed = 0
    for what, fits, milliseconds in numa.measure():
        tables.row(what, 'yes' if fits else 'no', f'{milliseconds:.2f}')
        missed += milliseconds > numa.LIMIT
    if missed:
        print(f'MISSED at most {numa.LIMIT} ms')
    return missed


if __name__ == '__main__':
    sys.exit(main())
