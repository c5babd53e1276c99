"""Answers of schedulers in a form that can be compared."""

import dataclasses
import json
import re

from tests.interop import rig_providers

_REASONS = re.compile(r' (\d+ of \d+ hosts|hosts rejected): .*')


@dataclasses.dataclass
class Outcome:
    """The outcome of a question, in plain JSON.

    refusal: (class of the exception, text) or None.  picks: a selection an
    instance.  alternates: a list of selections an instance.  allocations:
    consumer -> Placement's answer.  Hosts have names of rig_providers.Names.
    """

    refusal: list | None
    picks: list
    alternates: list
    allocations: dict

    def differences(self, other):
        """Differences to another Outcome: lines of text."""
        return [f'{where}: {mine:.500} != {others:.500}'
                for where, mine, others
                in _differences('', vars(self), vars(other))]


def _differences(where, mine, others):
    """(path, JSON here, JSON there) of the innermost differing parts."""
    if isinstance(mine, dict) and isinstance(others, dict) and (
            mine.keys() == others.keys()):
        parts = [(f'{where}.{key}', mine[key], others[key]) for key in mine]
    elif isinstance(mine, list) and isinstance(others, list) and (
            len(mine) == len(others)):
        parts = [(f'{where}[{number}]', *pair) for number, pair
                 in enumerate(zip(mine, others, strict=True))]
    elif mine != others:
        return [(where.lstrip('.'), json.dumps(mine), json.dumps(others))]
    else:
        return []
    return [found for part in parts for found in _differences(*part)]


def refusal(error):
    """[class, text] of a RemoteError, without our counted reasons."""
    text = (error.value or '').partition('\n')[0]
    return [error.exc_type, _REASONS.sub('', text)]


def outcome(world, question, refused, selections, allocations):
    """The Outcome of a Question.

    refused: as of ``refusal``.  selections: as on the wire.
    allocations: consumer -> Placement's answer.
    """
    lists = [[_data(selection) for selection in chosen]
             for chosen in selections]
    names = rig_providers.Names(world, question.text, {
        selection['service_host'] for chosen in lists for selection in chosen})
    picks = [_plain(names, chosen[0]) for chosen in lists]
    alternates = [[_plain(names, found) for found in chosen[1:]]
                  for chosen in lists]
    return Outcome(refused, picks, alternates, {
        consumer: {**answer, 'allocations': names.of_allocations(
            answer['allocations'])}
        for consumer, answer in allocations.items()})


def _data(primitive):
    """The fields of an object on the wire, including nested objects."""
    if isinstance(primitive, dict):
        return {name: _data(value) for name, value in primitive.get(
            'nova_object.data', primitive).items()}
    if isinstance(primitive, list):
        return [_data(item) for item in primitive]
    return primitive


def _plain(names, selection):
    request = json.loads(selection['allocation_request'] or 'null')
    if request:
        request = [names.of_allocations(request['allocations']), {
            suffix: sorted(map(names.of_provider, uuids))
            for suffix, uuids in sorted(request['mappings'].items())}]
    return {**dict(sorted(selection.items())),
            'service_host': names.of_text(selection['service_host']),
            'nodename': names.of_text(selection['nodename']),
            'compute_node_uuid': names.of_provider(
                selection['compute_node_uuid']),
            'limits': dict(sorted((selection['limits'] or {}).items())),
            'allocation_request': request}
