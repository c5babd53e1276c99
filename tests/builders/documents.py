"""JSON documents of commands, with few hosts or with many."""

#: Rules that reject hosts here, in turn.
AZ, RAM, COMPUTE = 'AvailabilityZoneFilter', 'RamFilter', 'ComputeFilter'
CODES = {AZ: 'zone', RAM: 'ram', COMPUTE: 'service_down'}
UUIDS = [f'00000000-0000-4000-8000-{number:012}' for number in range(9)]
WHEN = '2026-11-26T09:21:30.042+00:00'

_ASKED = {
    'flavor': 'm1.large', 'vcpus': 4, 'memory_mb': 8192, 'disk_gb': 80,
    'swap_mb': 0, 'extra_specs': {}, 'availability_zone': 'az1',
    'force_hosts': [], 'force_nodes': [], 'group_policy': None}


def host(name, node=None):
    return {'host': name, 'node': node or name}


def names(count):
    return [f'host-{number:05}' for number in range(1, count + 1)]


def weighers(**scores):
    """A host's scores by weighers, with multipliers of 2."""
    return [{'name': name, 'raw': score, 'normalized': score / 2,
             'multiplier': 2.0, 'score': score}
            for name, score in scores.items()]


def steps(*figures, instance=0):
    """Steps of filters, from (name, before, after)."""
    return [{'instance': instance, 'name': name, 'before': before,
             'after': after} for name, before, after in figures]


def a_code(placed):
    """The code and the kind of a refusal, or None for both."""
    if placed:
        return {'code': None, 'kind': None, 'codes': []}
    return {'code': 'ram', 'kind': 'fragmented', 'codes': [
        {'code': 'ram', 'stage': 'filters', 'hosts': 4}]}


def a_decision(outcome='placed', **fields):
    """A document of "decision show" with 6 hosts, 2 of them fitting."""
    placed = outcome == 'placed'
    return {
        'number': 7, 'version': '1.2', 'request_id': 'req-1',
        'instance_uuids': UUIDS[:1], 'arrived': WHEN, 'outcome': outcome,
        'reason': None if placed else '0 of 6 hosts: 4 RamFilter',
        **a_code(placed),
        'instances': 1, 'configuration': 1, 'seed': 42, 'tries': 1,
        'milliseconds': {'filter': 1.5},
        'state': {'decided': WHEN, 'hosts': 6, 'in_flight': 0,
                  'cells': [{'cell': 'cell1', 'read': WHEN}],
                  'lost_cells': []},
        'candidates': {'source': 'none', 'providers': None,
                       'age_seconds': None},
        'filters': steps(('RetryFilter', 6, 6), (AZ, 6, 4), (RAM, 4, 2)),
        'picks': [{
            'instance': UUIDS[0], **host('a'), 'weight': 3.0,
            'alternates': [host('b')],
            'weighers': weighers(RAMWeigher=4.0, IoOpsWeigher=-1.0)}]
        if placed else [],
        'best': [
            {**host('a'), 'weight': 3.0,
             'weighers': weighers(RAMWeigher=4.0, IoOpsWeigher=-1.0)},
            {**host('b'), 'weight': 2.0,
             'weighers': weighers(RAMWeigher=2.0, IoOpsWeigher=0.0)}],
        'alternates': 1, 'claims': [], 'service': 'controller1',
        'worker': 99, 'rejected': [
            {'rule': AZ, 'hosts': 2, 'named': [host('c'), host('d', 'n')]},
            {'rule': RAM, 'hosts': 2, 'named': [host('e'), host('f')]}],
        'passed': {'hosts': 2, 'named': [host('a'), host('b')]},
        'asked': _ASKED, 'request': None, 'others': []} | fields


def a_verdict(rule, reason='too little', figures=()):
    return {'rule': rule, 'code': CODES.get(rule, rule.lower()),
            'reason': reason, 'figures': list(figures)}


def schedule_info(verdicts):
    """The verdicts on all hosts, from {name: rules that reject it}."""
    return [{
        **host(name), 'result': 'failed' if rules else 'passed',
        'reason': '; '.join(f'{rule}: too little' for rule in rules) or None,
        'created_at': None, 'filters': [*map(a_verdict, rules)]}
        for name, rules in verdicts.items()]


def why(verdicts, pick=None):
    """The parts why, why_not and changes, from {name: rejecting rules}."""
    combinations = {}
    for name, rules in verdicts.items():
        combinations.setdefault(tuple(rules), []).append(name)
    rules = dict.fromkeys(rule for rules in combinations for rule in rules)
    return {
        'why': {'instance': 0, 'pick': pick, 'error': '', 'matrix': {
            'hosts': len(verdicts), 'fitting': len(combinations.get((), ())),
            'instance': 0, 'forced': False, 'not_asked': [], 'errors': {},
            'rules': [{
                'name': rule, 'code': code, 'codes': {code: rejects},
                'alone': len(combinations.get((rule,), ())),
                'rejects': rejects}
                for rule in rules for code, rejects in [(
                    CODES.get(rule, rule.lower()),
                    sum(rule in found for found in verdicts.values()))]],
            'combinations': [
                {'rules': [*rules], 'hosts': len(found),
                 'examples': found[:3]}
                for rules, found in combinations.items()]}},
        'why_not': [], 'changes': [], 'changes_complete': True,
        'schedule_info': schedule_info(verdicts)}


def of_many(count, fits=True):
    """The rules that reject each of ``count`` hosts: dict."""
    kinds = [(AZ, RAM), (RAM,), (AZ,), (RAM, COMPUTE), (RAM,)]
    kinds += [() if fits else (COMPUTE,)]
    return {name: kinds[number % len(kinds)]
            for number, name in enumerate(names(count))}


def a_pick(host, **fields):
    """The explanation of a pick."""
    return {'host': host, 'fitting': 2, 'tied': 1, 'drawn': False,
            'next': 'b', 'gap': 1.0, 'weighers': [
                {'weigher': 'RAMWeigher', 'adds': 2.0,
                 'first_without': 'b'},
                {'weigher': 'IoOpsWeigher', 'adds': -1.0,
                 'first_without': None}], 'mapped': True} | fields


def an_explanation(decision, verdicts, pick=None, **fields):
    """A document of "decision explain"."""
    return {'number': decision['number'], 'version': decision['version'],
            'request_id': decision['request_id'],
            'outcome': decision['outcome'], 'notes': [],
            'decision': decision} | why(verdicts, pick) | fields


def a_plan(verdicts, outcome='placed', pick=None, **fields):
    """A document of "request plan", from {name: rules that reject it}."""
    placed = outcome == 'placed'
    fitting = [name for name, rules in verdicts.items() if not rules]
    scores = [weighers(RAMWeigher=4 - number / 4, DiskWeigher=2.0,
                       IoOpsWeigher=-number / 8)
              for number, _ in enumerate(fitting[:10])]
    best = [{**host(name), 'weight': sum(part['score'] for part in parts),
             'weighers': parts}
            for name, parts in zip(fitting, scores, strict=False)]
    return {
        'version': '1.3', 'outcome': outcome, 'operation': 'boot',
        'reason': None if placed else 'no host has the room',
        **a_code(placed),
        'request': {'id': 'req-1', 'instances': 1}, 'asked': _ASKED,
        'placements': [{
            'instance': UUIDS[0], **host(best[0]['host']), 'zone': 'az1',
            'cell': None, 'weight': best[0]['weight'],
            'weighers': [{name: value for name, value in part.items()
                          if name != 'score'}
                         for part in best[0]['weighers']],
            'limits': {}, 'alternates': [
                {**host(each['host']), 'zone': 'az1'} for each in best[1:3]]}]
        if placed else [],
        'filters': steps(
            (AZ, len(verdicts), len(verdicts) // 2),
            (RAM, len(verdicts) // 2, len(fitting))),
        'rejected': [], 'best': best, 'seed': 42, 'notes': [],
        'placement': {'asked': False, 'offered': None},
        'state': {'hosts': len(verdicts), 'cells': [], 'lost_cells': [],
                  'decided_at': WHEN, 'moved': False, 'changes': []},
        'configuration': {'driver': 'filter_scheduler',
                          'enabled_filters': [AZ, RAM, COMPUTE],
                          'changed': []}} | why(verdicts, pick) | fields
