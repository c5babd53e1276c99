"""A past decision as plain JSON: what commands and the RPC endpoint return.

``VERSION`` is the version of this form: a key that is added raises its second
number, a key that is removed or changes its meaning raises its first.
``doc/source/decisions.rst`` lists the keys.
"""

import datetime
import json

import numpy as np

from nova_sched.hosts import decision
from nova_sched.hosts.allocation_candidates import SingleProviders
from nova_sched.objects import spec_dicts

VERSION = '1.2'

#: Rejected hosts that are named of each rule, unless all are wanted.
NAMED = 3

#: Bytes of a request that is stored, as JSON: usual ones have 3 to 8 KB.
MOST_REQUEST = 256 << 10
#: Keys that may hold secrets anywhere in a request, and that no scheduler
#: reads.
_SECRETS = frozenset(('user_data', 'key_data', 'auth_token', 'admin_pass',
                      'metadata', 'system_metadata'))

#: Fields of a DecisionView that are only for reading its arrays.
_INTERNAL = ('rules', 'best_with_parts', 'weighers')


def document(view, every=False):
    """Return a decision as plain JSON: dict.

    view: decision_view.DecisionView.
    every: whether to name all hosts instead of NAMED of a rule.
    """
    fields, most = view.fields, None if every else NAMED
    state = fields['state']
    return {name: value for name, value in fields.items()
            if name not in _INTERNAL} | {
        'arrived': iso(fields['arrived']),
        'codes': view.codes,
        'state': state | {
            'decided': iso(state['decided']),
            'cells': [{'cell': uuid, 'read': iso(began)}
                      for uuid, began in state['cells']],
            'lost_cells': [{'cell': cell, 'why': why}
                           for cell, why in state['lost_cells']]},
        'picks': view.picks,
        'claims': [
            {'instance': uuid, 'host': host, 'node': node, 'taken': taken}
            for uuid, host, node, taken in fields['claims']],
        'version': VERSION, 'filters': view.filters, 'best': view.best,
        'rejected': view.rejected(most), 'passed': view.passed(most)}


def requested(spec_obj):
    """Return the sizes and limits that a request sets for each instance: dict.

    spec_obj: RequestSpec.
    """
    flavor, group = spec_obj.flavor, spec_obj.instance_group
    return {
        'flavor': flavor.name, 'vcpus': flavor.vcpus,
        'memory_mb': flavor.memory_mb,
        'disk_gb': flavor.root_gb + flavor.ephemeral_gb,
        'swap_mb': flavor.swap or 0,
        'extra_specs': dict(flavor.extra_specs or {}),
        'availability_zone': spec_obj.availability_zone,
        'force_hosts': [*(spec_obj.force_hosts or ())],
        'force_nodes': [*(spec_obj.force_nodes or ())],
        'group_policy': None if group is None else group.policy}


def iso(seconds):
    """Return seconds since the epoch as ISO 8601 with milliseconds, in UTC.

    None for 0, which means never.
    """
    if not seconds:
        return None
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(
        timespec='milliseconds')


def inputs(record):
    """Return the inputs of a decision besides the host table: plain JSON.

    Which hosts Placement offered follows from the rejected rows.  The
    allocation requests matter only to guests with NUMA cells or PCI devices.
    """
    state, cells = record.state, record.state.table.cells
    running, in_flight = ({}, {}) if state.instances is None else (
        state.instances.known())
    found = {'clock': state.clock, 'reads': cells.reads, 'lost': cells.lost,
             'disabled_cells': sorted(cells.disabled),
             'unmapped': sorted((cells.unmapped or frozenset()).intersection(
                 pick.host for pick in record.picks)), 'running': running,
             'in_flight': in_flight, 'siblings': dict(record.siblings)}
    if record.spec_obj is not None:
        found |= {'spec_obj': record.spec_obj.obj_to_primitive(),
                  'version': getattr(record.offer, 'version', None),
                  **_offered(record)}
    return found


def _offered(record):
    """Return the allocation requests for each host, if they matter: dict.

    ``by_provider``: allocation requests by uuid; or ``offers``: list of
    (resources, the rows that offer them: bits in hexadecimal).
    """
    spec_obj = record.spec_obj
    offered = getattr(record.offer, 'by_provider', None)
    if offered is None or not (spec_obj.numa_topology or (
            spec_obj.pci_requests and spec_obj.pci_requests.requests)):
        return {}
    if isinstance(offered, SingleProviders):
        return {'offers': [
            (resources, np.packbits(fits).tobytes().hex()) for resources, fits
            in offered.fitting(record.state.table.columns['uuid'].items())]}
    return {'by_provider': dict(offered)}


def request(record):
    """Return the arguments of a call as JSON, without secrets: bytes.

    null for a call that is too large: it would push other decisions out of
    the store.
    """
    if not isinstance(record.request, decision.Packed):
        return b'null'
    stored = bytes(record.request)
    if len(stored) > MOST_REQUEST:
        return b'null'
    if b'"request_spec"' in stored:
        # Callers before Pike send the whole instance.
        call = json.loads(stored, object_hook=lambda value: {
            name: part for name, part in value.items()
            if name not in _SECRETS})
        _reduce_instance(call['request_spec'])
        stored = json.dumps(call).encode()
    return stored


def _reduce_instance(request_spec):
    """Remove what no decision reads from an instance, in place."""
    instance = isinstance(request_spec, dict) and request_spec.get(
        'instance_properties')
    if instance:
        request_spec['instance_properties'] = {
            name: instance[name] for name in spec_dicts.INSTANCE
            if name in instance} if isinstance(instance, dict) else None
