"""What the aggregates of a host say: values of their metadata.

The three readings that rules use; ``aggregates`` is a collection of objects
with a ``metadata`` dict of texts.
"""

import functools
import sys
import weakref

import numpy as np
from oslo_log import log as logging

LOG = logging.getLogger(__name__)

_UNREADABLE = "Could not decode %(key)s: '%(error)s'"

_BIGGEST = sys.float_info.max
_NUMBER = np.dtype([('is_set', np.bool_), ('value', np.float64)])


def values(aggregates, key):
    """Return the raw values of one key over all aggregates: frozenset."""
    return _metadata(_weakly(aggregates)).get(key, _NOTHING)[0]


def pieces(aggregates, key):
    """Return the values of one key, split at commas and stripped: frozenset.
    """
    return _metadata(_weakly(aggregates)).get(key, _NOTHING)[1]


def keys(aggregates, prefix=''):
    """Return the keys over all aggregates that begin with a prefix, sorted:
    list.
    """
    return [key for key in _metadata(_weakly(aggregates))
            if key.startswith(prefix)]


def pieces_by_prefix(aggregates, prefix):
    """Return ``pieces`` of all keys that begin with ``prefix`` together."""
    return _pieces_by_prefix(_weakly(aggregates), prefix)


def _weakly(aggregates):
    """Return what remembers no aggregate that is gone, with all its hosts."""
    return tuple(map(weakref.ref, aggregates))


@functools.lru_cache(maxsize=4096)
def _pieces_by_prefix(aggregates, prefix):
    return frozenset().union(*(
        split for key, (_, split) in _metadata(aggregates).items()
        if key.startswith(prefix)))


@functools.lru_cache(maxsize=4096)
def _metadata(aggregates):
    """Return key -> (raw values, pieces), sorted by key; of weak references.
    """
    found = {}
    for aggregate in aggregates:
        for key, value in aggregate().metadata.items():
            found.setdefault(key, set()).add(value)
    return {key: (frozenset(found[key]), frozenset(
        piece.strip() for value in found[key] for piece in value.split(',')))
        for key in sorted(found)}


_NOTHING = (frozenset(), frozenset())


def number(found, key, default, cast, warning=_UNREADABLE):
    """Return one number from a set of values: the smallest.

    No value gives the default; so does, with a warning, any value that
    ``cast`` (int or float) refuses, even if others are fine.
    warning: its text, with %(key)s and %(error)s.
    """
    if not found:
        return default
    try:
        numbers = sorted(map(cast, found))
    except ValueError as exc:
        _warn_once(warning, key, str(exc))
        return default
    if len(numbers) > 1:
        _tell_once(key, tuple(numbers))
    return numbers[0]


def numbers(hosts, key, default, cast, warning=_UNREADABLE):
    """Return ``number`` of each host of a HostBlock: float64 (n,).

    default: a number, or an array (n,) of each host's own; returned as it is
        when no aggregate has the key.
    """
    def smallest(aggregates):
        found = number(values(aggregates, key), key, None, cast, warning)
        if found is None:
            return False, 0.0
        if cast is int:
            # It may be too big for a float.
            found = max(-_BIGGEST, min(found, _BIGGEST))
        return True, found

    # Most keys are in no aggregate at all.
    if key not in hosts.snapshot.column('aggregates').united('keys', keys):
        return default
    codes, by_code = hosts.derived_by_code('aggregates', (key, cast),
                                           smallest, _NUMBER)
    found = by_code.take(codes)
    if not found['is_set'].any():
        return default
    return np.where(found['is_set'], found['value'], default)


@functools.lru_cache(maxsize=1024)
def _tell_once(key, numbers):
    LOG.info('%(count)d values found for %(key)s, of which the minimum value '
             'will be used.', {'count': len(numbers), 'key': key})


@functools.lru_cache(maxsize=1024)
def _warn_once(warning, key, error):
    LOG.warning(warning, {'key': key, 'error': error})
