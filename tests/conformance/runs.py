"""Cases of whole scheduling runs, and of host states."""

import copy
import json

from nova_sched import context
from nova_sched.hosts.allocation_candidates import AllocationCandidates
from nova_sched.objects import arguments
from nova_sched.scheduler import caching_scheduler
from nova_sched.scheduler import chance
from nova_sched.scheduler import filter_scheduler
from nova_sched.scheduler.offer import NO_OFFER
from nova_sched.scheduler.offer import Offer
from tests.builders.placement import Placement
from tests.conformance import rules

DRIVERS = {'filter_scheduler': filter_scheduler.FilterScheduler,
           'caching_scheduler': caching_scheduler.CachingScheduler,
           'chance_scheduler': chance.ChanceScheduler}

#: Compared attributes of a host state.
_STATE = (
    'cell_uuid', 'cpu_allocation_ratio', 'cpu_info', 'disk_allocation_ratio',
    'disk_mb_used', 'failed_builds', 'free_disk_mb', 'free_ram_mb', 'host',
    'host_ip', 'hypervisor_hostname', 'hypervisor_type', 'hypervisor_version',
    'nodename', 'num_instances', 'num_io_ops', 'ram_allocation_ratio',
    'stats', 'total_usable_disk_gb', 'total_usable_ram_mb', 'uuid',
    'vcpus_total', 'vcpus_used')


#: Compared attributes of a host after picks on it.
_CONSUMED = ('free_disk_mb', 'free_ram_mb', 'num_instances', 'num_io_ops',
             'vcpus_used')


def check_schedule(case, stage, asked):
    """The outcome of a case of kind ``schedule``."""
    family = '-'.join(case['id'].split('-')[:2])
    if not asked(family):
        return
    answer = (_chance if 'pool' in case['expected']
              else _sequence if 'requests' in case else _run)
    yield rules.judged(case, family, stage, _comparable(case['expected']),
                       answer)


def _comparable(expected):
    """A recorded answer without irrelevant details.

    The threads of pinned CPUs, and the order of pools.
    """
    expected = copy.deepcopy(expected)
    for answer in (expected, *expected.get('results', ())):
        for left in answer.get('consumed', {}).values():
            for cell in left.get('numa', ()):
                cell['pinned_cpus'] = len(cell['pinned_cpus'])
            left.get('pci_pools', []).sort(key=_sorted_items)
    return expected


def _driver(case, stage):
    """Start the case's driver, which keeps its last snapshot."""
    base = DRIVERS[case['driver']]

    class Observed(base):
        def hosts(self, *args):
            view, self.snapshot = super().hosts(*args)
            return view, self.snapshot

    driver = Observed(stage.conf(case))
    driver.start()
    return driver


def _offer(case):
    """The Offer of a case, with the providers that refuse claims."""
    if case.get('alloc_reqs_by_rp_uuid') is None:
        return NO_OFFER
    # With several right answers, no claim was refused.
    refusing = (set() if 'selected_one_of' in case['expected']
                else set(case.get('claim_fails', ())))
    return Offer(AllocationCandidates(
        by_provider=case['alloc_reqs_by_rp_uuid'],
        providers=frozenset(case['provider_summaries']),
        version=case['allocation_request_version']), *[
            Placement((), refusing)] * 2)


def _select(driver, request_, offered=NO_OFFER):
    """The driver's answer to a request of a case."""
    spec = arguments.from_wire(request_['request_spec'])
    return driver.select_destinations(
        context.RequestContext(), spec, request_.get('instance_uuids'),
        request_.get('return_alternates', False), offer=offered)


def _run(case, name, stage, expected):
    with stage.frozen():
        driver = _driver(case, stage)
        selections = _select(driver, case, _offer(case))
    if 'selected_one_of' in expected:
        (chosen, *_), = selections
        place = [chosen.service_host, chosen.nodename]
        return (expected if place in expected['selected_one_of']
                else {'selected_one_of': [place]})
    return _answer(driver, selections, expected,
                   case.get('show_allocation', False))


def _sequence(case, name, stage, expected):
    """Decide a sequence of requests in one process."""
    results = []
    with stage.frozen():
        driver = _driver(case, stage)
        for request_, wanted in zip(case['requests'], expected['results'],
                                    strict=True):
            if case.get('forgets'):
                driver = _driver(case, stage)
            try:
                selections = _select(driver, request_)
            except Exception as exc:
                # A refusal, or an error that Nova raises, too.
                results.append({'error': type(exc).__name__,
                                'text': str(exc)})
            else:
                results.append(_answer(driver, selections, wanted, False))
    return {'results': results}


def _answer(driver, selections, expected, with_allocations):
    """Selections, and the remaining resources of the selected hosts."""
    states = {f'{state.host}|{state.nodename}': state
              for state in driver.snapshot.block().states()}
    return {
        'selections': [[_selection(selection, with_allocations)
                        for selection in chosen] for chosen in selections],
        'consumed': {host: _consumed(states[host], wanted) for host, wanted
                     in expected.get('consumed', {}).items()}}


def _consumed(state, wanted):
    """The remaining resources of a host, as far as recorded."""
    left = {name: getattr(state, name) for name in _CONSUMED
            if name in wanted}
    topology, pools = (state._snapshot.value(name, state._row)
                       for name in ('numa_topology', 'pci_stats'))
    if 'numa' in wanted:
        left['numa'] = [_cell(cell) for cell in topology.cells]
    if 'pci_pools' in wanted:
        left['pci_pools'] = sorted(pools.pools, key=_sorted_items)
    return left


def _cell(cell):
    """A NUMA cell in the recorded form, with the number of pinned CPUs."""
    return {'id': cell.id, 'cpu_usage': cell.cpu_usage,
            'memory_usage': cell.memory_usage,
            'mempages': [[pages.size_kb, pages.total, pages.used]
                         for pages in cell.pages],
            'pinned_cpus': len(cell.pinned_cpus)}


def _sorted_items(pool):
    return str(sorted(pool.items()))


def _selection(selection, with_allocation):
    limits = rules.flat(selection.limits.to_dict())
    answer = {'cell': selection.cell_uuid, 'host': selection.service_host,
              'node': selection.nodename, 'uuid': selection.compute_node_uuid}
    if limits:
        answer['limits'] = limits
    if with_allocation:
        answer |= {
            'allocation_request': json.loads(selection.allocation_request),
            'allocation_request_version':
                selection.allocation_request_version}
    return answer


def _chance(case, name, stage, expected):
    """The expected answer if the drawn hosts are possible."""
    with stage.frozen():
        drawn = [selections[0].service_host for selections
                 in _select(_driver(case, stage), case)]
    pool = expected['pool']
    fair = set(drawn) <= set(pool) and len(set(drawn)) == min(
        len(drawn), len(pool))
    return expected if fair else {'drawn': drawn, 'pool': pool}


def check_hoststates(case, stage, asked):
    """The outcome of a case of kind ``hoststates``."""
    if asked('states'):
        yield rules.judged(case, 'states', stage, _by_name(
            map(_recorded, case['expected']['states'])), _states)


def _by_name(states):
    return {f"{state['host']}|{state['nodename']}": state
            for state in states}


def _recorded(state):
    return {name: state[name] for name in _STATE} | {
        'aggregates': sorted(state['aggregate_ids']),
        'instances': sorted(state['instances']),
        'metrics': state['metrics'] or {},
        'report_count': state['service']['report_count'],
        'updated': state['updated'],
        'disabled': bool(state['service']['disabled']),
        'forced_down': bool(state['service']['forced_down'])}


def _states(case, name, stage, expected):
    snapshot = stage.hosts(case, stage.conf(case))
    return _by_name(_ours(state) for state in snapshot.block().states())


def _ours(state):
    metrics, stats = (state.block().objects(name)[0]
                      for name in ('metrics', 'stats'))
    updated = state.updated and state.updated.replace(tzinfo=None).isoformat()
    return {name: getattr(state, name) for name in _STATE} | {
        'aggregates': sorted(found.id for found in state.aggregates),
        'metrics': metrics.values, 'stats': stats,
        'report_count': state.service['report_count'],
        'instances': sorted(state.instances), 'updated': updated,
        'disabled': bool(state.service['disabled']),
        'forced_down': bool(state.service['forced_down'])}
