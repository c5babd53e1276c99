"""What the documents of three commands say, in one form.

They are those of ``decision show``, ``decision explain`` and ``request plan``
with ``-f json``.  What a document does not have is empty.
"""

import dataclasses

from nova_sched.explain import words
from nova_sched.hosts import decision

#: What Placement was asked, in words.
_SOURCES = {'placement': 'listed by Placement',
            'copy': 'from a copy of what Placement knows'}


@dataclasses.dataclass(frozen=True)
class Facts:
    """What a page is about.

    title: of the kind 'Decision 12'.  is_plan: whether it has no effect.
    document: of ``decision show`` or ``request plan``, a dict.
    why: of ``decision explain`` or ``request plan``, a dict with why, why_not,
        changes and schedule_info.
    notes: what must be known beside, texts.
    picks: list of dicts: instance, host, weight, weighers, and alternates, a
        list of names.  Names of hosts have the node's where that is another.
    rejected: list of (rule, number of hosts, their names), the first rule of
        each host.
    passed: (number of hosts, their names) that no rule rejected; None if that
        is not known.
    """

    title: str
    is_plan: bool
    document: dict
    why: dict
    notes: list
    picks: list
    rejected: list
    passed: tuple | None

    @property
    def is_placed(self):
        """Whether each instance has a host."""
        return self.document['outcome'] == decision.PLACED

    @property
    def instances(self):
        """How many were wanted."""
        request = self.document.get('request')
        return (request['instances'] if self.is_plan
                else self.document['instances'])

    @property
    def request_id(self):
        return (self.document['request']['id'] if self.is_plan
                else self.document['request_id'])

    @property
    def uuids(self):
        """The uuids of the instances, as far as they are known: list."""
        return (self.document.get('instance_uuids')
                or [pick['instance'] for pick in self.picks
                    if pick['instance']])

    @property
    def when(self):
        """When it was decided, in ISO 8601; None if that is not known."""
        if self.is_plan:
            return self.document['state']['decided_at']
        return (self.document['state']['decided']
                or self.document['arrived'])

    @property
    def matrix(self):
        """What every rule says of every host: a dict; None if unknown."""
        return (self.why.get('why') or {}).get('matrix')

    @property
    def instance(self):
        """Number of the instance that the page is about, from 0.

        Of a refused request the one that got no host.
        """
        if self.matrix is not None:
            return self.why['why']['instance']
        return 0 if self.is_placed else max(
            (step['instance'] for step in self.document['filters']),
            default=0)


def of(document):
    """Return the Facts of a document of one of the three commands, a dict."""
    if 'operation' in document:
        return _of_plan(document)
    return _of_decision(document.get('decision') or document, document)


def _of_decision(document, why):
    """Return the Facts of a decision, and why: {} if that was not asked."""
    passed = document.get('passed')
    # Of what all rules say more is known.
    document = document | {'kind': why.get('kind')}
    return Facts(
        f'Decision {document["number"]}', False, document, why,
        why.get('notes') or [], _picks(document['picks']),
        [(each['rule'], each['hosts'], [*map(name, each['named'])])
         for each in document['rejected']],
        passed and (passed['hosts'], [*map(name, passed['named'])]))


def _of_plan(document):
    state, changed = document['state'], document['configuration']['changed']
    notes = [f'Decided with {", ".join(changed)}.'] if changed else []
    notes += document['notes']
    if state['moved'] is None:
        notes.append('Whether the state has moved since is not known.')
    if state['changes']:
        notes.append('The state has moved since: '
                     + '; '.join(state['changes']) + '.')
    return Facts(
        f'Plan of a {document["operation"].replace("-", " ")}', True,
        document, document, notes, _picks(document['placements']),
        [(each['name'], len(each['hosts']), [*map(name, each['hosts'])])
         for each in document['rejected']], None)


def _picks(picks):
    return [pick | {
        'host': name(pick),
        'alternates': [*map(name, pick['alternates'])]} for pick in picks]


def name(found):
    """Return the name of a host, with its node's if that is another."""
    host, node = found['host'], found.get('node')
    return host if node in (None, host) else f'{host} (node {node})'


def asked(facts):
    """Return what was asked of one instance: texts; none if unknown."""
    found = facts.document.get('asked')
    if not found:
        return []
    texts = [words.counted(found['vcpus'], 'VCPU'),
             f'{found["memory_mb"]:,} MB RAM', f'{found["disk_gb"]:,} GB disk']
    if found['swap_mb']:
        texts.append(f'{found["swap_mb"]:,} MB swap')
    for word, value in (('flavor', found['flavor']),
                        ('zone', found['availability_zone']),
                        ('server group with', found['group_policy'])):
        if value:
            texts.append(f'{word} {value}')
    texts += [f'forced to {host}' for host in (
        *found['force_hosts'], *found['force_nodes'])]
    return texts + [f'{key} = {value}' for key, value
                    in found['extra_specs'].items()]


def state(facts):
    """Return on which state it was decided: list of (term, texts)."""
    found = facts.document['state']
    texts = [words.counted(found['hosts'], 'host')]
    if found.get('in_flight'):
        texts.append(words.counted(found['in_flight'], 'placement')
                     + ' in flight beside')
    texts += [f'cell {cell.get("cell", cell.get("uuid"))} read at '
              f'{moment(cell.get("read", cell.get("read_at")))}'
              for cell in found['cells']]
    texts += [f'without cell {lost["cell"]}: '
              f'{lost.get("why", lost.get("reason"))}'
              for lost in found['lost_cells']]
    return [('State', texts), ('Placement', [_offer(facts.document)])]


def _offer(document):
    if 'placement' in document:
        offered = document['placement']['offered']
        return ('not asked' if offered is None
                else f'offers {offered:,} resource providers')
    found = document['candidates']
    if found['source'] not in _SOURCES:
        return 'not asked'
    age, why = found['age_seconds'], found.get('why_none')
    return (f'{found["providers"]:,} resource providers, '
            f'{_SOURCES[found["source"]]}'
            + (f', {age:.1f} s old' if age is not None else '')
            + (f': {why}' if why else ''))


def moment(text):
    """Return a moment in ISO 8601 as people read it, in UTC."""
    return (text or 'an unknown time').replace('T', ' ').replace(
        '+00:00', ' UTC')
