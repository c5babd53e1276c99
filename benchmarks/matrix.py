"""Measures explanations of one request, and its decision for comparison.

``python -m benchmarks.matrix [--hosts 10000]``.  The hosts come from
``rule_bed``.  The filters are the defaults, RamFilter, DiskFilter and
NUMATopologyFilter, and the request has no NUMA topology.  There is no broker
or database.

``cold`` is the first matrix on a new table.  The search for changes runs on
hosts without free RAM, so that it tries every kind of change.
"""

import argparse
import logging
import statistics
import sys
import time

from benchmarks import rule_bed
from nova_sched import conf as config
from nova_sched import objects
from nova_sched.dry_run.trial import Trial
from nova_sched.explain import changes
from nova_sched.explain import host
from nova_sched.explain import matrix
from nova_sched.explain import pick
from nova_sched.plugins import loading as plugins
from nova_sched.scheduler import ranking
from nova_sched.scheduler.attempt import SchedulingRequest

#: Limits in milliseconds: matrix without the decision, and all changes.
_MATRIX_LIMIT, _CHANGES_LIMIT = 100, 1500
_RUNS = 15
_FLAVORS = [objects.Flavor(
    id=number, name=f'f{number}', flavorid=str(number), root_gb=20 - number,
    memory_mb=1024 >> number, vcpus=1, ephemeral_gb=0) for number in range(8)]
_MORE = ('RamFilter', 'DiskFilter', 'NUMATopologyFilter')


def main(argv=None):
    """Measure; return 1 if a limit is exceeded, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--hosts', type=int, default=10_000)
    options = parser.parse_args(argv)
    logging.disable(logging.CRITICAL)
    bed = rule_bed.RuleBed(options.hosts)
    ranker, request = _ranker(), _request()
    hosts, spec = bed.hosts(bed.table()).snapshot, request.spec_obj
    full = bed.hosts(_without_ram(bed.table())).snapshot
    cold = _once(lambda: matrix.judge(hosts, spec, ranker))
    judged = matrix.judge(hosts, spec, ranker)
    figures = {
        'decision': lambda: Trial(request, ranking.Ranker(
            ranker.filters, ranker.weighers), hosts),
        'matrix': lambda: matrix.judge(hosts, spec, ranker),
        'matrix, in words': lambda: matrix.judge(
            hosts, spec, ranker).sentences(),
        'why not one host': lambda: host.why_not(judged, 1),
        'why the pick': lambda: pick.why_pick(judged),
        'smallest changes': lambda: changes.smallest_changes(
            full, request, ranker, _FLAVORS, 'nova')}
    print(f'{options.hosts} hosts, {len(judged.rules)} rules, '
          f'{len(judged.fitting)} hosts fit; {judged.summary()}\n')
    print('| what | p50 ms | slowest ms |\n|---|---|---|')
    measured = {}
    print(f'| matrix, cold | {cold:.1f} | |')
    for name, ask in figures.items():
        times = [_once(ask) for _ in range(_RUNS)]
        measured[name] = statistics.median(times)
        print(f'| {name} | {measured[name]:.1f} | {max(times):.1f} |')
    return _missed(measured, cold)


def _missed(measured, cold):
    over = max(measured['matrix'], cold) - measured['decision']
    missed = 0
    for what, value, limit in (
            ('the matrix beyond the decision', over, _MATRIX_LIMIT),
            ('the smallest changes', measured['smallest changes'],
             _CHANGES_LIMIT)):
        print(f'\n{what}: {value:.1f} ms, at most {limit} ms'
              + (' MISSED' if value > limit else ''))
        missed |= value > limit
    return int(missed)


def _ranker():
    conf = config.new_conf([], [])
    enabled = dict.fromkeys([*config.enabled_filters(conf), *_MORE])
    conf.set_override('enabled_filters', [*enabled], 'filter_scheduler')
    return plugins.load_ranker(conf)


def _request():
    spec = rule_bed.a_request({}, availability_zone='az1')
    return SchedulingRequest(spec, [spec.instance_uuid], 1)


def _without_ram(table):
    """Return the hosts with 100 MB left on each, after overcommit."""
    total, ratio = (table.columns[name] for name in (
        'total_usable_ram_mb', 'ram_allocation_ratio'))
    return table.with_columns(free_ram_mb=[
        int(value) for value in total - total * ratio + 100])


def _once(ask):
    start = time.perf_counter()
    ask()
    return (time.perf_counter() - start) * 1000


if __name__ == '__main__':
    sys.exit(main())
