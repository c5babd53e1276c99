"""Where a recorded answer is not ours, by rule: never by a case's id.

Each rule looks at what was asked and at both answers, and either explains the
difference or does not; a difference that no rule explains is a failure.
"""

import copy
import itertools

_RAISED = 'Nova itself raised, on what the specification says to tolerate'

#: Weigher -> key of aggregates that overrides its multiplier.
_MULTIPLIERS = {
    'RAMWeigher': 'ram_weight_multiplier',
    'CPUWeigher': 'cpu_weight_multiplier',
    'DiskWeigher': 'disk_weight_multiplier',
    'IoOpsWeigher': 'io_ops_weight_multiplier',
}

#: What a host has here, though it never reported its usage.
_FILLED_IN = {'cpu_allocation_ratio', 'ram_allocation_ratio',
              'disk_allocation_ratio', 'hypervisor_hostname'}

#: Weighers and filters that compute with what a host has not reported.
_TRIPPED_BY_NULL = {'CPUWeigher', 'RamFilter', 'DiskFilter', 'CoreFilter'}


def reason(case, name, stage, expected, got, ask):
    """Why this difference is as it should be, or None.

    ask: function of a changed case; our answer to it.
    """
    rules = _ALWAYS + (_QUEENS if case['era'] == 'queens' else ())
    if case['kind'] == 'hoststates':
        rules = (_ratios_never_reported,)
    elif case['kind'] == 'schedule':
        rules = ()
    for rule in rules:
        text = rule(case, name, stage, expected, got, ask)
        if text:
            return text
    return None


def _is_error(answer, kind=None):
    return (isinstance(answer, dict) and 'error' in answer
            and kind in (None, answer['error']))


def _involved(case, name):
    """The rules whose answers make up this one."""
    if name == 'chain':
        return set(case['config']['filter_scheduler']['enabled_filters'])
    if name == 'total':
        return set(case['configured_weighers'])
    return {name}


def _data(case):
    return case['request_spec']['nova_object.data']


def _extra_specs(case):
    return (_data(case)['flavor']['nova_object.data'].get('extra_specs')
            or {})


def _image_property(case, name):
    image = _data(case).get('image')
    properties = image and image['nova_object.data'].get('properties')
    return properties and properties['nova_object.data'].get(name)


def _living(stage):
    return [node for node in stage.cloud['compute_nodes']
            if not node['deleted']]


def _never_reported(case, name, stage, expected, got, ask):
    """Hosts that never reported their usage have no ratio in Nova."""
    answers = ([expected] if name != 'total'
               else [expected['total'], expected['order']])
    if (all(_is_error(answer, 'TypeError') for answer in answers)
            and _TRIPPED_BY_NULL & _involved(case, name)
            and any(node['free_disk_gb'] is None for node in _living(stage))
            and not _is_error(got)):
        return f'{_RAISED}: a host that never reported its usage'
    return None


def _ratios_never_reported(case, name, stage, expected, got, ask):
    """Hosts that never reported their usage have a ratio here."""
    if _is_error(got) or expected.keys() != got.keys():
        return None
    for host, state in expected.items():
        differing = {key for key, value in state.items()
                     if value != got[host][key]}
        if differing - _FILLED_IN or any(
                state[key] is not None for key in differing):
            return None
    return 'a host that never reported its usage has ratios and a node name'


def _address_bits(case, name, stage, expected, got, ask):
    """Nova looks for the address bits in what is still JSON text."""
    if (_is_error(expected, 'AttributeError') and not _is_error(got)
            and 'ImagePropertiesFilter' in _involved(case, name)
            and _image_property(case, 'hw_maxphysaddr_bits')):
        return f'{_RAISED}: hw_maxphysaddr_bits of an image'
    return None


def _order_of_extra_specs(case, name, stage, expected, got, ask):
    """A value that is no number raises, unless the host is out already.

    The recorded requests have their keys sorted; Nova was asked in another
    order.
    """
    specs = _extra_specs(case)
    if not (_is_error(got, 'ValueError') and not _is_error(expected)
            and 'ComputeCapabilitiesFilter' in _involved(case, name)
            and 2 <= len(specs) <= 4):
        return None
    for order in itertools.permutations(specs.items()):
        changed = copy.deepcopy(case)
        _data(changed)['flavor']['nova_object.data']['extra_specs'] = dict(
            order)
        if ask(changed):
            return 'passes with the extra specs in another order'
    return None


def _address_bits_of_flavor(case, name, stage, expected, got, ask):
    """Queens does not know this extra spec: without it we answer alike."""
    if ('ComputeCapabilitiesFilter' not in _involved(case, name)
            or 'hw:maxphysaddr_bits' not in _extra_specs(case)):
        return None
    changed = copy.deepcopy(case)
    del _data(changed)['flavor']['nova_object.data']['extra_specs'][
        'hw:maxphysaddr_bits']
    if ask(changed):
        return 'newer answer: extra spec hw:maxphysaddr_bits'
    return None


def _one_number_version(case, name, stage, expected, got, ask):
    if (_is_error(expected, 'ValueError') and not _is_error(got)
            and 'ImagePropertiesFilter' in _involved(case, name)
            and _image_property(case, 'img_hv_requested_version')
            and any(0 < (node['hypervisor_version'] or 0) < 1000
                    for node in _living(stage))):
        return 'newer answer: hypervisor versions of one number compare'
    return None


def _destination_without_node(case, name, stage, expected, got, ask):
    """Queens compares the node of a destination that names none."""
    wanted = _data(case).get('requested_destination')
    wanted = wanted and wanted['nova_object.data']
    if (name == 'chain' and wanted and wanted.get('host')
            and not wanted.get('node') and expected['final'] == []):
        return 'newer answer: a destination without a node is all its nodes'
    return None


def _weights(case, name, stage, expected, got, ask):
    """Negative free resources count as none; aggregates' multipliers count.

    Both since after Queens.  The raw values must agree but for the former,
    the multipliers but for hosts in such aggregates.
    """
    if name not in _MULTIPLIERS or _is_error(expected) or _is_error(got):
        return None
    texts = []
    if got['raw'] != expected['raw']:
        if got['raw'] != {host: max(value, 0) for host, value
                          in expected['raw'].items()}:
            return None
        texts.append('negative free resources count as none')
    elif got['normalized'] != expected['normalized']:
        return None
    if got['multiplier'] != expected['multiplier']:
        if not _overridden(stage, name):
            return None
        texts.append('multipliers of aggregates')
    return 'newer answer: ' + ' and '.join(texts) if texts else None


def _overridden(stage, weigher):
    return any(_MULTIPLIERS[weigher] in aggregate['metadata']
               for aggregate in stage.cloud['aggregates'])


def _sum_of_weights(case, name, stage, expected, got, ask):
    if name != 'total' or _is_error(expected['total']):
        return None
    weighers = _involved(case, name)
    free = {'RAMWeigher': 'free_ram_mb', 'DiskWeigher': 'free_disk_gb'}
    negative = any(
        weigher in weighers and any(
            min(node[column] or 0, node['disk_available_least'] or 0) < 0
            for node in _living(stage))
        for weigher, column in free.items())
    if negative or any(_overridden(stage, weigher) for weigher
                       in weighers & _MULTIPLIERS.keys()):
        return ('newer answer: negative free resources count as none, '
                'or multipliers of aggregates')
    return None


_ALWAYS = (_never_reported, _address_bits, _order_of_extra_specs)
_QUEENS = (_address_bits_of_flavor, _one_number_version,
           _destination_without_node, _weights, _sum_of_weights)
