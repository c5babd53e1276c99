"""The facts of a decision, for all that formats them.

A ``DecisionView`` is made from a closed ``Decision`` or read from the decision
store.  The JSON document, ``request plan`` and the explanations get each fact
from it.  The log line and the metrics are written while a worker serves other
requests: they read plain fields of the record.

Making a view is quick: it holds numbers, in arrays where they grow with the
cloud.  Host names and texts are added when they are read.
"""

import array
import dataclasses
import itertools
import math

import numpy as np

from nova_sched.hosts import decision
from nova_sched.hosts.allocation_candidates import NoCandidates
from nova_sched.rules import codes

#: Instances whose filter runs, weights and claims are stored; of the others
#: only the picked host is.
MOST_INSTANCES = decision.MOST_WEIGHED
#: Characters that are stored of an instance's id, and of a reason.
LONGEST, LONGEST_REASON = 255, 20000

#: The arrays of a view and their types, in the order in which they are stored.
_ARRAYS = {'steps': np.int64, 'rejecting': np.int16, 'best': np.int32,
           'weights': np.float64, 'parts': np.float64}


@dataclasses.dataclass(frozen=True)
class DecisionView:
    """The facts of one decision.

    fields: plain JSON, as ``_fields`` returns it.  arrays: by name:
        steps: (instance, place in the names of rules, hosts before, hosts
            after) of each filter run.
        rejecting: for each row the rule that rejected it, as a place in the
            names of rules, from 1; 0 for none.  Empty without host names.
        best, weights: rows of the best hosts for the first instance, best
            first, and their weights.
        parts: (hosts, weighers, 3) raw, normalized and multiplier: of the best
            hosts, and then of the first picks.
    host_of: function that returns (host, node) of a row.
    """

    fields: dict
    arrays: dict
    host_of: object = None

    @classmethod
    def of(cls, record):
        """Return the view of a closed Decision."""
        best, picked = _parts(record)
        rows, weights = _best(record)
        return cls(
            _fields(record) | {'rules': record.funnel.rules,
                               'best_with_parts': len(best)},
            {'steps': record.funnel.numbers(),
             'rejecting': _rejecting(record), 'best': rows,
             'weights': weights, 'parts': np.concatenate([best, picked])},
            record.state.host_of)

    def packed(self):
        """Return the arrays as bytes, for the store."""
        steps = self.arrays['steps']
        stored = self.arrays | {
            'steps': steps[steps[:, 0] < MOST_INSTANCES]}
        arrays = [np.asarray(stored[name], kind)
                  for name, kind in _ARRAYS.items()]
        sizes = array.array('q', [values.size for values in arrays])
        return b''.join([sizes, *(values.tobytes() for values in arrays)])

    @classmethod
    def unpacked(cls, fields, data, names=()):
        """Return the view of stored fields and of bytes from ``packed``.

        names: (host, node) of each row, a list.
        """
        start, arrays = 8 * len(_ARRAYS), {}
        for (name, kind), size in zip(
                _ARRAYS.items(), np.frombuffer(data, np.int64, len(_ARRAYS)),
                strict=True):
            arrays[name] = np.frombuffer(data, kind, size, start)
            start += arrays[name].nbytes
        arrays['steps'] = arrays['steps'].reshape(-1, 4)
        count = len(fields['weighers'])
        arrays['parts'] = (arrays['parts'].reshape(-1, count, 3) if count
                           else np.zeros((0, 0, 3)))
        return cls(fields, arrays, names.__getitem__)

    @property
    def is_placed(self):
        """Whether each instance has a host."""
        return self.fields['outcome'] == decision.PLACED

    @property
    def codes(self):
        """How many hosts are rejected with which code: list of dicts."""
        return [{'code': code, 'stage': codes.stage(code), 'hosts': hosts}
                for code, hosts in self.fields['codes']]

    @property
    def filters(self):
        """Every filter run: list of dicts."""
        rules = self.fields['rules']
        return [{'instance': index, 'name': rules[rule], 'before': before,
                 'after': after}
                for index, rule, before, after
                in self.arrays['steps'].tolist()]

    @property
    def best(self):
        """The best hosts for the first instance, with weights: list of dicts.
        """
        return self._with_parts([
            self._host(row) | {'weight': number(weight)}
            for row, weight in zip(
                self.arrays['best'].tolist(), self.arrays['weights'].tolist(),
                strict=True)],
            self.arrays['parts'][:self.fields['best_with_parts']])

    @property
    def picks(self):
        """The picked hosts, with weights and alternates: list of dicts."""
        return self._with_parts([{
            'instance': uuid, 'host': host, 'node': node,
            'weight': number(float(weight)),
            'alternates': [_named(alternate) for alternate in alternates]}
            for uuid, host, node, weight, alternates in self.fields['picks']],
            self.arrays['parts'][self.fields['best_with_parts']:])

    @property
    def picked(self):
        """The (host, node) of each pick: list."""
        return [(host, node) for _, host, node, *_ in self.fields['picks']]

    @property
    def refused(self):
        """Rows of the hosts that Placement did not grant: int (n,)."""
        return np.flatnonzero(self.is_rejected_by(codes.CLAIMED))

    def is_rejected_by(self, rule):
        """Return which hosts a rule rejected: bool (n,)."""
        rules = self.fields['rules']
        place = rules.index(rule) + 1 if rule in rules else -1
        return self.arrays['rejecting'] == place

    def rejected(self, most=None):
        """Return the rejected hosts by rule: list of dicts.

        most: how many hosts of a rule are named; all by default.
        """
        by_rule = [{'rule': rule} | self._rows(place, most)
                   for place, rule in enumerate(self.fields['rules'], 1)]
        return [hosts for hosts in by_rule if hosts['hosts']]

    def passed(self, most=None):
        """Return the hosts that no rule rejected: dict.  most: as above."""
        return self._rows(0, most)

    def _rows(self, place, most):
        rows = np.flatnonzero(self.arrays['rejecting'] == place)
        return {'hosts': len(rows),
                'named': [self._host(row) for row in rows[:most].tolist()]}

    def _host(self, row):
        return _named(self.host_of(row))

    def _with_parts(self, hosts, parts):
        """Return hosts, as dicts, with the parts of their weights: list.

        parts: (n, weighers, 3), of the first n hosts.
        """
        names = self.fields['weighers']
        return [host | {'weighers': [
            {'name': name, 'raw': number(raw),
             'normalized': number(normalized),
             'multiplier': number(multiplier),
             'score': number(normalized * multiplier)}
            for name, (raw, normalized, multiplier)
            in zip(names, values, strict=False)]}
            for host, values in itertools.zip_longest(
                hosts, parts[:len(hosts)].tolist(), fillvalue=())]


def number(value):
    """Return a number; as text if JSON has no such number."""
    return value if math.isfinite(value) else str(value)


def _named(pair):
    host, node = pair
    return {'host': host, 'node': node}


def _fields(record):
    """Return the plain values of a closed Decision: dict."""
    state = record.state
    return {
        'request_id': record.request_id,
        'instance_uuids': [
            uuid[:LONGEST] for uuid in record.instance_uuids() or [
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
        'candidates': _candidates(record.offer),
        'weighers': record.weighing.weighers,
        'picks': _picks(record), 'alternates': record.alternates,
        'claims': [(claim.instance_uuid, claim.host, claim.nodename,
                    claim.taken)
                   for claim in record.claims[:MOST_INSTANCES]]}


def _candidates(offer):
    """Return the source of the allocation candidates: dict."""
    age = getattr(offer, 'age', None)
    if not getattr(offer, 'is_used', False):
        return {'source': 'none', 'providers': None, 'age_seconds': None}
    if isinstance(offer, NoCandidates):
        return {'source': 'placement', 'providers': 0, 'age_seconds': None,
                'why_none': offer.reason}
    source = {'source': 'placement' if age is None else 'copy',
              'providers': len(offer.providers), 'age_seconds': age}
    cut_at = getattr(offer, 'cut_at', None)
    return source if cut_at is None else source | {'cut_at': cut_at}


def _picks(record):
    return [(pick.instance_uuid and pick.instance_uuid[:LONGEST], pick.host,
             pick.nodename, number(pick.weight), [
                 (other.service_host, other.nodename) for other in others])
            for pick, (_, *others) in itertools.zip_longest(
                record.picks, record.selections[:len(record.picks)],
                fillvalue=(None,))]


def _rejecting(record):
    """Return the rule that rejected each row, as in DecisionView.arrays."""
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
    """Return the parts of the weights of the best hosts, and of the first
    picks: two arrays (hosts, weighers, 3).
    """
    weighing = record.weighing
    count, weighed = len(weighing.weighers), weighing.kept[:MOST_INSTANCES]
    picked = np.zeros((len(weighed), count, 3))
    for place, weights in enumerate(weighed):
        if weights.parts is not None and len(weights.parts) == count:
            picked[place] = weights.parts
    best = weighed[0].best_parts if len(_best(record)[0]) else None
    if best is None or best.shape[1] != count:
        best = picked[:0]
    return best, picked
