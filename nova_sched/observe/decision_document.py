"""A past decision as plain JSON: what the store keeps and commands show.

``VERSION`` is of this form: keys that are added raise its second number, keys
that change their meaning or go its first.  ``doc/source/decisions.rst`` lists
them.

A worker keeps what is quickly made (``Kept``): numbers, in arrays where they
grow with the cloud.  Names and times are made of them when somebody reads
(``Kept.document``).
"""

import array
import dataclasses
import datetime
import itertools
import json
import math

import numpy as np

from nova_sched.hosts import decision
from nova_sched.hosts.allocation_candidates import NoCandidates
from nova_sched.hosts.allocation_candidates import SingleProviders
from nova_sched.objects import spec_dicts
from nova_sched.rules import codes

VERSION = '1.2'

#: Instances of a request of which all is told; of the others where they are.
MOST_INSTANCES = decision.MOST_WEIGHED
#: Characters of what callers call an instance, and of a reason.
LONGEST, LONGEST_REASON = 255, 20000
#: Hosts that are named of those that a rule has rejected, unless all are
#: wanted.
NAMED = 3

#: Octets of a request that is kept, as JSON: real ones have 3 to 8 KB.
MOST_REQUEST = 256 << 10
#: What may be a secret wherever it stands, and no scheduler looks at.
_SECRETS = frozenset(('user_data', 'key_data', 'auth_token', 'admin_pass',
                      'metadata', 'system_metadata'))

#: What each array of a Kept is of, in their order.
_ARRAYS = {'steps': np.int64, 'rejecting': np.int16, 'best': np.int32,
           'weights': np.float64, 'parts': np.float64}


@dataclasses.dataclass(frozen=True)
class Kept:
    """What is kept of a decision, apart from the names of hosts.

    fields: plain JSON.  arrays: by name:
        steps: (instance, place in the names of rules, hosts before, hosts
            after) of each filter run.
        rejecting: for each row which rule rejected it, a place in the names of
            rules, from 1; 0 for none.  Empty where hosts have no names.
        best, weights: rows of the best hosts for the first instance, best
            first, and what they weigh.
        parts: (hosts, weighers, 3) raw, normalized and multiplier: of the best
            hosts, and then of the first picks.
    """

    fields: dict
    arrays: dict

    @classmethod
    def of(cls, record):
        """Return what is kept of a closed Decision."""
        parts, count = _parts(record)
        rows, weights = _best(record)
        return cls(_fields(record) | {
            'rules': record.funnel.rules,
            'best_with_parts': len(parts) - count}, {
            'steps': _steps(record), 'rejecting': _rejecting(record),
            'best': rows, 'weights': weights, 'parts': parts})

    def packed(self):
        """Return the arrays as octets."""
        arrays = [np.asarray(self.arrays[name], kind)
                  for name, kind in _ARRAYS.items()]
        sizes = array.array('q', [each.size for each in arrays])
        return b''.join([sizes, *(each.tobytes() for each in arrays)])

    @classmethod
    def unpacked(cls, fields, data):
        """Return the Kept of these fields and octets of ``packed``."""
        start, found = 8 * len(_ARRAYS), {}
        for (name, kind), size in zip(
                _ARRAYS.items(), np.frombuffer(data, np.int64, len(_ARRAYS)),
                strict=True):
            found[name] = np.frombuffer(data, kind, size, start)
            start += found[name].nbytes
        found['steps'] = found['steps'].reshape(-1, 4)
        count = len(fields['weighers'])
        found['parts'] = (found['parts'].reshape(-1, count, 3) if count
                          else np.zeros((0, 0, 3)))
        return cls(fields, found)

    def document(self, names, every=False):
        """Return all that is kept, as plain JSON: dict.

        names: (host, node) of each row, a list.
        every: whether to name all hosts instead of NAMED of a rule.
        """
        found, rules = dict(self.fields), self.fields['rules']
        del found['rules'], found['best_with_parts']
        found['version'] = VERSION
        found['arrived'] = iso(found['arrived'])
        state = found['state']
        found['state'] = state | {
            'decided': iso(state['decided']),
            'cells': [{'cell': uuid, 'read': iso(began)}
                      for uuid, began in state['cells']],
            'lost_cells': [{'cell': cell, 'why': why}
                           for cell, why in state['lost_cells']]}
        found['codes'] = code_counts(found['codes'])
        found['filters'] = [
            {'instance': index, 'name': rules[rule], 'before': before,
             'after': after}
            for index, rule, before, after in self.arrays['steps'].tolist()]
        found['best'] = [
            _named(names[row]) | {'weight': number(weight)}
            for row, weight in zip(
                self.arrays['best'].tolist(), self.arrays['weights'].tolist(),
                strict=True)]
        found['picks'] = [{
            'instance': uuid, 'host': host, 'node': node,
            'weight': number(float(weight)),
            'alternates': list(map(_named, alternates))}
            for uuid, host, node, weight, alternates in found['picks']]
        found['claims'] = [
            {'instance': uuid, 'host': host, 'node': node, 'taken': taken}
            for uuid, host, node, taken in found['claims']]
        self._tell_parts(found)
        return found | {'rejected': self._rejected(names, every),
                        'passed': self._named_rows(0, names, every)}

    def _tell_parts(self, found):
        """Add what weighers gave the best hosts and the picks."""
        names, parts = found.pop('weighers'), iter(self.arrays['parts'])
        for host in (*found['best'], *found['picks']):
            host['weighers'] = []
        told = self.fields['best_with_parts']
        hosts = [*found['best'][:told], *found['picks']]
        for host, numbers in zip(hosts, parts, strict=False):
            host['weighers'] = [
                {'name': name, 'raw': number(raw),
                 'normalized': number(normalized),
                 'multiplier': number(multiplier),
                 'score': number(normalized * multiplier)}
                for name, (raw, normalized, multiplier)
                in zip(names, numbers.tolist(), strict=True)]

    def _rejected(self, names, every):
        """Return the hosts that rules rejected, by rule: list."""
        found = []
        for number, rule in enumerate(self.fields['rules'], 1):
            of_rule = self._named_rows(number, names, every)
            if of_rule['hosts']:
                found.append({'rule': rule} | of_rule)
        return found

    def _named_rows(self, number, names, every):
        """Return how many hosts a rule, by its number, rejected, and which.

        0: those that no rule rejected.
        """
        rows = np.flatnonzero(self.arrays['rejecting'] == number)
        named = rows if every else rows[:NAMED]
        return {'hosts': len(rows),
                'named': [_named(names[row]) for row in named.tolist()]}


def best(record):
    """Return the best hosts of a closed Decision as a document has them: list.
    """
    kept = Kept.of(record)
    return Kept.unpacked(kept.fields, kept.packed()).document(
        host_names(record.state.names))['best']


def asked(spec_obj):
    """Return what a RequestSpec asks of one instance, as plain JSON: dict."""
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


def code_counts(counts):
    """Return how many hosts are out by which code: list of dicts.

    counts: (code, hosts) pairs.
    """
    return [{'code': code, 'stage': codes.stage(code), 'hosts': hosts}
            for code, hosts in counts]


def iso(seconds):
    """Return seconds since the epoch as ISO 8601 with milliseconds, in UTC.

    None for 0, which stands for never.
    """
    if not seconds:
        return None
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(
        timespec='milliseconds')


def _named(pair):
    host, node = pair
    return {'host': host, 'node': node}


def number(value):
    """Return a number, or the word for one that JSON does not have."""
    return value if math.isfinite(value) else str(value)


def _fields(record):
    state = record.state
    return {
        'request_id': record.request_id,
        'instance_uuids': [
            uuid[:LONGEST] for uuid in record.asked_uuids() or [
                pick.instance_uuid for pick in record.picks
                if pick.instance_uuid]],
        'arrived': record.arrived, 'outcome': record.outcome,
        'reason': record.reason and record.reason[:LONGEST_REASON],
        'code': record.refusal.code, 'kind': record.refusal.kind,
        'codes': record.refusal.codes,
        'instances': record.instances,
        'configuration': record.generation, 'seed': record.seed,
        'tries': record.tries, 'milliseconds': record.milliseconds,
        'state': {'decided': state.clock, 'hosts': state.hosts,
                  'in_flight': state.in_flight,
                  'cells': state.reads, 'lost_cells': state.lost},
        'candidates': _candidates(record),
        'weighers': record.weighing.weighers,
        'picks': _picks(record), 'alternates': record.alternates,
        'claims': [(claim.instance_uuid, claim.host, claim.nodename,
                    claim.taken)
                   for claim in record.claims[:MOST_INSTANCES]]}


def _candidates(record):
    """Return where the allocation candidates came from: dict."""
    offer, age = record.offer, getattr(record.offer, 'age', None)
    if not getattr(offer, 'asked', False):
        return {'source': 'none', 'providers': None, 'age_seconds': None}
    if isinstance(offer, NoCandidates):
        return {'source': 'placement', 'providers': 0, 'age_seconds': None,
                'why_none': offer.reason}
    found = {'source': 'placement' if age is None else 'copy',
             'providers': len(offer.providers), 'age_seconds': age}
    cut_at = getattr(offer, 'cut_at', None)
    return found if cut_at is None else found | {'cut_at': cut_at}


def _picks(record):
    # A weight may be what JSON has no number for.
    return [(pick.instance_uuid and pick.instance_uuid[:LONGEST], pick.host,
             pick.nodename, pick.weight if math.isfinite(pick.weight)
             else str(pick.weight), [
                 (other.service_host, other.nodename) for other in others])
            for pick, (_, *others) in itertools.zip_longest(
                record.picks, record.selections[:len(record.picks)],
                fillvalue=(None,))]


def _steps(record):
    steps = record.funnel.numbers()
    return steps[steps[:, 0] < MOST_INSTANCES]


def _rejecting(record):
    """Return which of the record's rules rejected each row, as of Kept."""
    names = record.state.names
    rejecting = np.zeros(len(names[0]) if names else 0, np.int16)
    if names:
        for name, rows in record.funnel.rejected():
            rejecting[rows] = record.funnel.rules.index(name) + 1
    return rejecting


def _best(record):
    """Return the rows of the best hosts for the first instance, and their
    weights: arrays (n,).
    """
    if not record.weighing.kept or not record.state.names:
        return np.zeros(0, np.int32), np.zeros(0)
    weighed = record.weighing.kept[0]
    return weighed.rows[:decision.BEST], weighed.weights[:decision.BEST]


def _parts(record):
    """Return the parts of weights, as of Kept: float64 (hosts, weighers, 3);
    and how many of the hosts are picks.
    """
    weighing = record.weighing
    count, weighed = len(weighing.weighers), weighing.kept[:MOST_INSTANCES]
    found = np.zeros((len(weighed), count, 3))
    for place, each in enumerate(weighed):
        if each.parts is not None and len(each.parts) == count:
            found[place] = each.parts
    best = weighed[0].best_parts if len(_best(record)[0]) else None
    if best is not None and best.shape[1] == count:
        found = np.concatenate([best, found])
    return found, len(weighed)


def rests_on(record):
    """Return what a decision rests on beside the host table: plain JSON.

    Which hosts Placement offers is known of the rules.  What it offers of each
    matters to guests with NUMA cells and PCI devices alone.
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
    """Return what Placement offers of each host, if that matters: dict.

    ``by_provider``: allocation requests by uuid; or ``offers``: what is
    offered of one provider each, and, in hexadecimal, the bits of the rows
    that it is offered of.
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


def host_names(columns):
    """Return the hosts and their nodes: list of pairs, one a row.

    columns: ``host`` and ``nodename`` of a table.
    """
    return [*zip(*(column.items() for column in columns), strict=True)]


def request(record):
    """Return the arguments of a call as JSON, without secrets: bytes.

    null for what is too large: one call must not cost the decisions on others.
    """
    if not isinstance(record.request, decision.Packed):
        return b'null'
    kept = bytes(record.request)
    if len(kept) > MOST_REQUEST:
        return b'null'
    if b'"request_spec"' in kept:
        # Callers before Pike send the whole instance.
        call = _without(json.loads(kept), _SECRETS)
        _reduce_instance(call['request_spec'])
        kept = json.dumps(call).encode()
    return kept


def _reduce_instance(request_spec):
    """Leave of an instance what a decision goes by, in place."""
    instance = isinstance(request_spec, dict) and request_spec.get(
        'instance_properties')
    if instance:
        request_spec['instance_properties'] = {
            name: instance[name] for name in spec_dicts.INSTANCE
            if name in instance} if isinstance(instance, dict) else None


def _without(value, names):
    """Return plain JSON without what has one of these names in an object."""
    if isinstance(value, dict):
        return {name: _without(each, names) for name, each in value.items()
                if name not in names}
    if isinstance(value, list):
        return [_without(each, names) for each in value]
    return value
