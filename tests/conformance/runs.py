"""Cases of whole scheduling runs, and of the host states behind them."""

import datetime

from nova_sched import context
from nova_sched.objects import request
from nova_sched.scheduler import caching_scheduler
from nova_sched.scheduler import chance
from nova_sched.scheduler import filter_scheduler
from tests.conformance import rules
from tests.conformance.vectors import Outcome

DRIVERS = {'filter_scheduler': filter_scheduler.FilterScheduler,
           'caching_scheduler': caching_scheduler.CachingScheduler,
           'chance_scheduler': chance.ChanceScheduler}

#: Weighers that a release runs by default.
_QUEENS_WEIGHERS = {
    'RAMWeigher', 'DiskWeigher', 'MetricsWeigher', 'IoOpsWeigher',
    'PCIWeigher', 'ServerGroupSoftAffinityWeigher',
    'ServerGroupSoftAntiAffinityWeigher', 'BuildFailureWeigher'}
_ALL_WEIGHERS = set(rules._WEIGHER_PATHS)

#: What of a host state is compared.
_STATE = (
    'cell_uuid', 'cpu_allocation_ratio', 'cpu_info', 'disk_allocation_ratio',
    'disk_mb_used', 'failed_builds', 'free_disk_mb', 'free_ram_mb', 'host',
    'host_ip', 'hypervisor_hostname', 'hypervisor_type', 'hypervisor_version',
    'nodename', 'num_instances', 'num_io_ops', 'ram_allocation_ratio',
    'stats', 'total_usable_disk_gb', 'total_usable_ram_mb', 'uuid',
    'vcpus_total', 'vcpus_used')


def check_schedule(case, stage, asked):
    """The outcome of a case of kind ``schedule``."""
    family = '-'.join(case['id'].split('-')[:2])
    if not asked(family):
        return
    missing = _missing(case, stage)
    if missing:
        yield Outcome(case, family, 'not built', ', '.join(sorted(missing)))
    else:
        yield rules.judged(case, family, stage, case['expected'],
                           _chance if 'pool' in case['expected'] else _run)


def _missing(case, stage):
    """What a case needs and this version has not."""
    if 'alloc_reqs_by_rp_uuid' in case:
        return {'Placement'}
    if rules.needs_ironic(case, stage):
        return {'ironic_host_manager'}
    if case['driver'] == 'chance_scheduler':
        return set()
    options = case['config'].get('filter_scheduler', {})
    weighers = {path.rsplit('.', 1)[-1]
                for path in options.get('weight_classes', ())} or (
        _QUEENS_WEIGHERS if case['era'] == 'queens' else _ALL_WEIGHERS)
    return (set(options.get('enabled_filters', ())) - rules.FILTERS
            | weighers - rules.WEIGHERS)


def _select(case, stage):
    """The driver's answer to a case's one request."""
    driver = DRIVERS[case['driver']](stage.conf(case))
    spec = request.from_wire(case['request_spec'])
    with stage.frozen():
        driver.start()
        return driver.select_destinations(
            context.RequestContext(), spec, case.get('instance_uuids'),
            case.get('return_alternates', False))


def _run(case, name, stage, expected):
    return {'selections': [list(map(_selection, selections))
                           for selections in _select(case, stage)]}


def _selection(selection):
    limits = selection.limits.to_dict()
    return {'cell': selection.cell_uuid, 'host': selection.service_host,
            'node': selection.nodename, 'uuid': selection.compute_node_uuid,
            **({'limits': limits} if limits else {})}


def _chance(case, name, stage, expected):
    """The expected answer itself when what was drawn is as it should be."""
    drawn = [selections[0].service_host
             for selections in _select(case, stage)]
    pool = expected['pool']
    fair = set(drawn) <= set(pool) and len(set(drawn)) == min(
        len(drawn), len(pool))
    return expected if fair else {'drawn': drawn, 'pool': pool}


def check_hoststates(case, stage, asked):
    """The outcome of a case of kind ``hoststates``."""
    if not asked('states'):
        return
    if rules.needs_ironic(case, stage):
        yield Outcome(case, 'states', 'not built', 'ironic_host_manager')
    else:
        yield rules.judged(case, 'states', stage, _by_name(
            map(_recorded, case['expected']['states'])), _states)


def _by_name(states):
    return {f"{state['host']}|{state['nodename']}": state
            for state in states}


def _recorded(state):
    return {name: state[name] for name in _STATE} | {
        'aggregates': sorted(state['aggregate_ids']),
        'instances': sorted(state['instances']),
        'updated': state['updated'],
        'disabled': bool(state['service']['disabled']),
        'forced_down': bool(state['service']['forced_down'])}


def _states(case, name, stage, expected):
    snapshot = stage.hosts(case, stage.conf(case))
    return _by_name(_ours(state) for state in snapshot.block().states())


def _ours(state):
    updated = state.updated and datetime.datetime.fromtimestamp(
        state.updated, datetime.UTC).replace(tzinfo=None).isoformat()
    return {name: getattr(state, name) for name in _STATE} | {
        'aggregates': sorted(found.id for found in state.aggregates),
        'instances': sorted(state.instances), 'updated': updated or None,
        'disabled': bool(state.service['disabled']),
        'forced_down': bool(state.service['forced_down'])}
