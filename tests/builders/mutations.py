"""Mutated messages: a valid message with one value changed.

The value at any path is replaced by values of all types, removed, repeated,
enlarged, or replaced by odd texts.
"""

import copy
import random

#: Replacements of any value.
_OTHERS = (
    None, True, False, 0, 1, -1, 2 ** 31, 2 ** 63, -2 ** 63 - 1, 10 ** 40,
    0.5, -0.0, 1e308, float('nan'), float('-inf'),
    '', ' ', 'x', '0', '-1', 'None', 'null', '[]', '{}', '$host', '\x00',
    'a\nb\r\x1b[31m\u2028\u202ec', '\ud800', '\U0001f600', '../../etc/passwd',
    '%s%n%(host)s{0}', '0-65535,' * 100, 'serve', 'driver', '__init__',
    [], [None], [[]], [0], ['x'], [{}], {}, {'': None}, {'x': 'x'},
    {'nova_object.name': 'Instance'},
    {'nova_object.name': 'RequestSpec', 'nova_object.namespace': 'nova',
     'nova_object.version': '9.9', 'nova_object.data': {}},
    {'py/object': 'os.system'})

#: Sizes of enlarged values; the largest is rare.
_SIZES = (100, 100, 1_000, 1_000, 10_000, 10_000, 100_000)


class Removed:
    """Replacement that removes a value with its key."""


def paths(value, path=()):
    """The paths of all values in a JSON value: tuples of keys and indices."""
    inner = (value.items() if isinstance(value, dict) else
             enumerate(value) if isinstance(value, list) else ())
    for key, part in inner:
        yield (*path, key)
        yield from paths(part, (*path, key))


def at(value, path):
    """The value at a path."""
    for key in path:
        value = value[key]
    return value


def changed(value, path, other):
    """A copy of a JSON value with another value at a path."""
    value = copy.deepcopy(value)
    *outer, last = path
    holder = at(value, outer)
    if other is Removed:
        del holder[last]
    else:
        holder[last] = other
    return value


def mutated(value, seed):
    """(path, copy of a JSON value with the value at the path changed).

    A seed makes the same change of the same value.
    """
    rng = random.Random(seed)
    path = rng.choice(list(paths(value)))
    return path, changed(value, path, _other(rng, at(value, path)))


def _other(rng, value):
    kind = rng.random()
    if kind < 0.1:
        return Removed
    if kind < 0.3:
        return enlarged(value, rng.choice(_SIZES))
    if kind < 0.4:
        return [copy.deepcopy(value)]
    if kind < 0.5:
        return {'nova_object.data': copy.deepcopy(value)}
    if kind < 0.6:
        return str(value)
    return copy.deepcopy(rng.choice(_OTHERS))


def enlarged(value, size):
    """A value of the same type with about ``size`` parts."""
    if isinstance(value, dict):
        more = next(iter(value.values()), 'x')
        return value | {f'more{number}': more
                        for number in range(size // (1 + _parts(more)))}
    if isinstance(value, list):
        return (value or ['x']) * (1 + size // (1 + _parts(value)))
    if isinstance(value, str):
        return (value or 'x') * (1 + size // max(len(value), 1))
    # A number or None: a number with as many digits as JSON allows.
    return 10 ** min(size, 4_000)


def _parts(value):
    return sum(1 for _ in paths(value))
