"""The captured messages as tests read them."""

import json
import pathlib

WIRE = pathlib.Path(__file__).parents[2] / 'wire'


def load(name):
    """The capture of that name (without .json)."""
    return json.loads((WIRE / f'{name}.json').read_text())


def message(name):
    """The inner message of a captured request."""
    return load(name)['request']['decoded']['oslo.message']


def args(name):
    """The arguments of a captured request."""
    return message(name)['args']


def replies(name):
    """Results of the replies of a capture that are no failures."""
    found = [reply['decoded']['oslo.message']
             for reply in load(name).get('replies', [])]
    return [reply['result'] for reply in found
            if reply.get('result') is not None]


def names_where(test):
    """Names of the captures for whose request message test is true."""
    found = []
    for path in sorted(WIRE.glob('*.json')):
        capture = json.loads(path.read_text())
        request = capture.get('request') if isinstance(capture, dict) else {}
        inner = ((request or {}).get('decoded') or {}).get('oslo.message')
        if inner and test(inner):
            found.append(path.stem)
    return found


def with_argument(argument):
    """Names of the select_destinations calls with a usable argument."""
    return names_where(
        lambda m: m['method'] == 'select_destinations'
        and isinstance(m['args'].get(argument), dict))


def envelopes(value, name):
    """All object envelopes of that name within a JSON value."""
    if isinstance(value, dict):
        if value.get('nova_object.name') == name:
            yield value
        for part in value.values():
            yield from envelopes(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from envelopes(part, name)


def without_changes(value):
    """A JSON value without the optional list of changed fields.

    Sets come as lists in any order; lists of numbers or text are sorted.
    """
    if isinstance(value, dict):
        return {key: without_changes(part) for key, part in value.items()
                if key != 'nova_object.changes'}
    if isinstance(value, list):
        parts = [without_changes(part) for part in value]
        return (sorted(parts) if all(isinstance(p, (int, str)) for p in parts)
                and len({type(p) for p in parts}) == 1 else parts)
    return value
