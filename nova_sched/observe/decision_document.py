"""A past decision as plain JSON: what the store keeps and commands show.

``VERSION`` is of this form: keys that are added raise its second number, keys
that change their meaning or go its first.  ``doc/source/decisions.rst`` lists
them.

What grows with the cloud is not in what is kept (``of``) but beside it, in
arrays: which rule rejected each row (``rejecting_rules``) and the names of the
hosts (``host_names``).  ``whole`` puts them together.
"""

import datetime
import itertools
import math

import numpy as np

from nova_sched.hosts import decision
from nova_sched.hosts import sorting
from nova_sched.hosts.allocation_candidates import NoCandidates

VERSION = '1.0'

#: Instances of a request of which all is told; of the others where they are.
MOST_INSTANCES = 100
#: Characters of what callers call an instance, and of a reason.
LONGEST, LONGEST_REASON = 255, 20000
#: Hosts that are named of those that a rule has rejected, unless all are
#: wanted.
NAMED = 3


def of(record):
    """Return what is kept of a closed Decision, apart from the arrays: dict.
    """
    return {
        'version': VERSION, 'request_id': record.request_id,
        'instance_uuids': _instance_uuids(record),
        'arrived': iso(record.arrived), 'outcome': record.outcome,
        'reason': record.reason and record.reason[:LONGEST_REASON],
        'instances': record.instances,
        'configuration': record.generation, 'seed': record.seed,
        'tries': record.tries, 'milliseconds': record.milliseconds,
        'state': _state(record), 'candidates': _candidates(record),
        'filters': _filters(record), 'picks': _picks(record),
        'best': _best(record), 'alternates': record.alternates,
        'claims': [{'instance': claim.instance_uuid, 'host': claim.host,
                    'node': claim.nodename, 'taken': claim.taken}
                   for claim in record.claims[:MOST_INSTANCES]]}


def iso(seconds):
    """Return seconds since the epoch as ISO 8601 with milliseconds, in UTC.

    None for 0, which stands for never.
    """
    if not seconds:
        return None
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(
        timespec='milliseconds')


def _instance_uuids(record):
    return [uuid[:LONGEST] for uuid in record.asked_uuids() or [
        pick.instance_uuid for pick in record.picks if pick.instance_uuid]]


def _state(record):
    return {
        'decided': iso(record.clock), 'hosts': record.hosts,
        'in_flight': len(record.in_flight),
        'cells': [{'cell': uuid, 'read': iso(began)}
                  for uuid, began in record.reads],
        'lost_cells': [{'cell': cell, 'why': why}
                       for cell, why in record.lost]}


def _candidates(record):
    """Return where the allocation candidates came from: dict."""
    offer, age = record.offer, record.copy_age
    if not getattr(offer, 'asked', False):
        return {'source': 'none', 'providers': None, 'age_seconds': None}
    if isinstance(offer, NoCandidates):
        return {'source': 'placement', 'providers': 0, 'age_seconds': None,
                'why_none': offer.reason}
    return {'source': 'placement' if age is None else 'copy',
            'providers': len(offer.providers), 'age_seconds': age}


def _filters(record):
    return [{'instance': step.index, 'name': step.name,
             'before': step.before, 'after': step.after}
            for step in itertools.takewhile(
                lambda step: step.index < MOST_INSTANCES, record.steps)]


def _picks(record):
    return [{'instance': pick.instance_uuid and pick.instance_uuid[:LONGEST],
             'host': pick.host, 'node': pick.nodename,
             'weight': _number(pick.weight),
             'alternates': _alternates(record, index),
             'weighers': [] if index >= MOST_INSTANCES else [
                 _part(part.name, part.raw, part.normalized, part.multiplier)
                 for part in record.parts(index)]}
            for index, pick in enumerate(record.picks)]


def _alternates(record, index):
    return [{'host': other.service_host, 'node': other.nodename}
            for answer in record.selections[index:index + 1]
            for other in answer[1:]]


def _best(record):
    """Return the best hosts for the first instance, best first: list."""
    if not record.weighed or not record.names:
        return []
    weighed = record.weighed[0]
    places = sorting.best(weighed.values, decision.BEST)[:decision.BEST]
    return [{'host': host, 'node': node,
             'weight': _number(weighed.values.item(place)),
             'weighers': [_part(name, *numbers) for name, numbers in zip(
                 record.weighers, weighed.numbers_at(place), strict=False)]}
            for place in places.tolist()
            for host, node in [record.host_of(weighed.given.item(place))]]


def _part(name, raw, normalized, multiplier):
    return {'name': name, 'raw': _number(raw),
            'normalized': _number(normalized),
            'multiplier': _number(multiplier),
            'score': _number(normalized * multiplier)}


def _number(value):
    """Return a number, or the word for one that JSON does not have."""
    return value if math.isfinite(value) else str(value)


def rejecting_rules(record):
    """Return which rule rejected each row: (names, int16 array (hosts,)).

    The numbers are places in the names, from 1; 0 for no rule.  None in place
    of the array where the hosts have no names.
    """
    if not record.names:
        return [], None
    names, codes = [], np.zeros(len(record.names[0]), dtype=np.int16)
    for name, rows in record.rejected():
        names.append(name)
        codes[rows] = len(names)
    return names, codes


def rests_on(record):
    """Return what a decision rests on beside the host table: plain JSON.

    Which hosts Placement offers is known of the rules.  What it offers of each
    matters to guests with NUMA cells and PCI devices alone.
    """
    cells = record.table.cells
    running, in_flight = ({}, {}) if record.instances_known is None else (
        record.instances_known.known())
    found = {'clock': record.clock, 'reads': cells.reads, 'lost': cells.lost,
             'disabled_cells': sorted(cells.disabled), 'running': running,
             'in_flight': in_flight, 'siblings': dict(record.siblings)}
    spec_obj = record.spec_obj
    if spec_obj is not None:
        wants_details = spec_obj.numa_topology or (
            spec_obj.pci_requests and spec_obj.pci_requests.requests)
        found |= {
            'spec_obj': spec_obj.obj_to_primitive(),
            'version': getattr(record.offer, 'version', None),
            'by_provider': dict(record.offer.by_provider) if (
                wants_details and hasattr(record.offer, 'by_provider'))
            else {}}
    return found


def host_names(columns):
    """Return the hosts and their nodes: list of pairs, one a row.

    columns: ``host`` and ``nodename`` of a table.
    """
    return [*zip(*(column.items() for column in columns), strict=True)]


def whole(document, codes, names, every=False):
    """Return a document with the hosts that rules rejected, by rule: dict.

    document: of ``of``, with the names of rules as ``rejecting``.
    codes: as of ``rejecting_rules``, or None.  names: as of ``host_names``.
    every: whether to name all rejected hosts instead of NAMED of a rule.
    """
    document = dict(document)
    rules, rejected = document.pop('rejecting', []), []
    for number, rule in enumerate(rules, 1):
        rows = np.flatnonzero(codes == number)
        named = rows if every else rows[:NAMED]
        rejected.append({
            'rule': rule, 'hosts': len(rows),
            'named': [{'host': names[row][0], 'node': names[row][1]}
                      for row in named.tolist()]})
    return document | {'rejected': rejected}


def rule_of(document, codes, names, host):
    """Return which rule rejected each node of a host: {node: rule or None}.

    Arguments as of ``whole``.  host: name of a host or node; empty for one
    that was not there.
    """
    rules = [None, *document.get('rejecting', [])]
    return {node: rules[codes[row]] for row, (name, node) in enumerate(names)
            if host in (name, node)}
