"""Captured messages for tests."""

import copy
import json
import pathlib

WIRE = pathlib.Path(__file__).parents[2] / 'wire'


def load(name):
    """Return the capture of a name without .json."""
    return json.loads((WIRE / f'{name}.json').read_text())


def message(name):
    """Return the inner message of a captured request."""
    return load(name)['request']['decoded']['oslo.message']


def args(name):
    """Return the arguments of a captured request."""
    return message(name)['args']


def replies(name):
    """Return the results of the successful replies of a capture."""
    return [reply['decoded']['oslo.message']['result']
            for reply in load(name).get('replies', [])
            if reply['decoded']['oslo.message'].get('result') is not None]


def names_where(test):
    """Return the names of the captures with a matching request message."""
    names = []
    for path in sorted(WIRE.glob('*.json')):
        capture = json.loads(path.read_text())
        request = capture.get('request') if isinstance(capture, dict) else {}
        inner = ((request or {}).get('decoded') or {}).get('oslo.message')
        if inner and test(inner):
            names.append(path.stem)
    return names


def with_argument(argument):
    """Return the captured select_destinations calls with an argument."""
    return names_where(
        lambda m: m['method'] == 'select_destinations'
        and isinstance(m['args'].get(argument), dict))


def changed(spec, path, value):
    """Return a copy of an envelope with another value at a path of its data.
    """
    spec = copy.deepcopy(spec)
    place = spec['nova_object.data']
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return spec


def envelopes(value, name):
    """Yield the envelopes of a class in a JSON value."""
    if isinstance(value, dict):
        if value.get('nova_object.name') == name:
            yield value
        for part in value.values():
            yield from envelopes(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from envelopes(part, name)


def without_changes(value):
    """Return a JSON value without the optional list of changed fields.

    Lists of numbers or texts are sorted, as sets have no order.
    """
    if isinstance(value, dict):
        return {key: without_changes(part) for key, part in value.items()
                if key != 'nova_object.changes'}
    if isinstance(value, list):
        parts = [without_changes(part) for part in value]
        return (sorted(parts) if all(isinstance(p, (int, str)) for p in parts)
                and len({type(p) for p in parts}) == 1 else parts)
    return value
