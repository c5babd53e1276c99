"""The content of the documents of three commands, in one form.

The commands are ``decision show``, ``decision explain`` and ``request plan``
with ``-f json``.  Facts that a document lacks are empty.
"""

import dataclasses

from nova_sched.explain import words
from nova_sched.hosts import decision

#: How Placement answered a claim.
CLAIM_RESULTS = {True: 'granted', False: 'refused',
                 None: 'not answered in time'}

#: The source of the allocation candidates.
_SOURCES = {'placement': 'listed by Placement',
            'copy': 'from the mirror of Placement'}


@dataclasses.dataclass(frozen=True)
class Facts:
    """The facts that a page shows.

    title: such as 'Decision 12'.  is_plan: whether it has no effect.
    document: of ``decision show`` or ``request plan``, a dict.
    why: of ``decision explain`` or ``request plan``, a dict with why, why_not,
        changes and schedule_info.
    notes: remarks that the reader must know, texts.
    picks: list of dicts: instance, host, weight, weighers, and alternates, a
        list of names.  Host names include the node where it differs.
    request_id, instances, when: id of the request, number of instances, and
        time of the decision in ISO 8601; None if unknown.
    rejected: list of (rule, number of hosts, their names), the first rule of
        each host.
    passed: (number of hosts, their names) that no rule rejected; None if
        unknown.
    """

    title: str
    is_plan: bool
    document: dict
    why: dict
    notes: list
    picks: list
    request_id: str | None
    instances: int
    when: str | None
    rejected: list
    passed: tuple | None

    @property
    def is_placed(self):
        """Whether each instance has a host."""
        return self.document['outcome'] == decision.PLACED

    @property
    def uuids(self):
        """The known uuids of the instances: list."""
        return (self.document.get('instance_uuids')
                or [pick['instance'] for pick in self.picks
                    if pick['instance']])

    @property
    def matrix(self):
        """The verdict of each rule on each host: dict; None if unknown."""
        return (self.why.get('why') or {}).get('matrix')

    @property
    def instance(self):
        """Number of the instance that the page is about, from 0.

        For a refused request it is the instance without a host.
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
    """Return the Facts of a decision.  why: its explanation, if any."""
    passed, decided = document.get('passed'), document['state']['decided']
    return Facts(
        title=f'Decision {document["number"]}', is_plan=False,
        # The explanation refines the kind.
        document=document | {'kind': why.get('kind')}, why=why,
        notes=why.get('notes') or [], picks=_picks(document['picks']),
        request_id=document['request_id'], instances=document['instances'],
        when=decided or document['arrived'],
        rejected=[(rejected['rule'], rejected['hosts'],
                   [*map(name, rejected['named'])])
                  for rejected in document['rejected']],
        passed=passed and (passed['hosts'], [*map(name, passed['named'])]))


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
        title=f'Plan of a {document["operation"].replace("-", " ")}',
        is_plan=True, document=document, why=document, notes=notes,
        picks=_picks(document['placements']),
        request_id=document['request']['id'],
        instances=document['request']['instances'], when=state['decided_at'],
        rejected=[(rejected['name'], len(rejected['hosts']),
                   [*map(name, rejected['hosts'])])
                  for rejected in document['rejected']],
        passed=None)


def _picks(picks):
    return [pick | {
        'host': name(pick),
        'alternates': [*map(name, pick['alternates'])]} for pick in picks]


def name(host):
    """Return the name of a host, with its node if that is another name."""
    return words.host((host['host'], host.get('node') or host['host']))


def requested(facts):
    """Return the sizes and limits that the request sets: texts."""
    fields = facts.document.get('asked')
    if not fields:
        return []
    texts = [words.counted(fields['vcpus'], 'VCPU'),
             f'{fields["memory_mb"]:,} MB RAM',
             f'{fields["disk_gb"]:,} GB disk']
    if fields['swap_mb']:
        texts.append(f'{fields["swap_mb"]:,} MB swap')
    texts += [f'{word} {value}' for word, value in (
        ('flavor', fields['flavor']), ('zone', fields['availability_zone']),
        ('server group with', fields['group_policy'])) if value]
    texts += [f'forced to {host}' for host in (
        *fields['force_hosts'], *fields['force_nodes'])]
    return texts + [f'{key} = {value}' for key, value
                    in fields['extra_specs'].items()]


def state(facts):
    """Return the state that the request was decided on: (term, texts) pairs.
    """
    document = facts.document
    if facts.is_plan:
        offered = document['placement']['offered']
        placement = ('not used' if offered is None
                     else f'offers {offered:,} resource providers')
    else:
        placement = candidates(document['candidates'])
    return [('State', state_texts(document['state'])),
            ('Placement', [placement])]


def state_texts(fields):
    """Return the state of a document, a dict, as texts."""
    texts = [words.counted(fields['hosts'], 'host')]
    if fields.get('in_flight'):
        texts.append('with ' + words.counted(fields['in_flight'],
                                             'assumed instance'))
    texts += [f'cell {cell.get("cell", cell.get("uuid"))} read at '
              f'{moment(cell.get("read", cell.get("read_at")))}'
              for cell in fields['cells']]
    return texts + [f'without cell {lost["cell"]}: '
                    f'{lost.get("why", lost.get("reason"))}'
                    for lost in fields['lost_cells']]


def candidates(fields):
    """Return the source of the allocation candidates, a dict, as text."""
    if fields['source'] not in _SOURCES:
        return 'not used'
    age, why = fields['age_seconds'], fields.get('why_none')
    return (f'{fields["providers"]:,} resource providers, '
            f'{_SOURCES[fields["source"]]}'
            + (f', {age:.1f} s old' if age is not None else '')
            + (f': {why}' if why else ''))


def moment(text):
    """Return a time in ISO 8601 as people read it, in UTC."""
    return (text or 'an unknown time').replace('T', ' ').replace(
        '+00:00', ' UTC')
