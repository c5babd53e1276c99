"""What the aggregates of a host say: values of their metadata.

The three readings that rules use; ``aggregates`` is an iterable of objects
with a ``metadata`` dict of texts.
"""

import functools

import numpy as np
from oslo_log import log as logging

LOG = logging.getLogger(__name__)

_UNREADABLE = "Could not decode %(key)s: '%(error)s'"


def values(aggregates, key):
    """The set of raw values of one key over all aggregates."""
    return {aggregate.metadata[key] for aggregate in aggregates
            if key in aggregate.metadata}


def pieces(aggregates, key):
    """The values of one key, split at commas and stripped: set of texts."""
    return {piece.strip() for value in values(aggregates, key)
            for piece in value.split(',')}


def pieces_by_prefix(aggregates, prefix):
    """``pieces`` of all keys that begin with ``prefix`` together."""
    keys = {key for aggregate in aggregates for key in aggregate.metadata
            if key.startswith(prefix)}
    return set().union(*(pieces(aggregates, key) for key in keys))


def number(found, key, default, cast, warning=_UNREADABLE):
    """One number from a set of values: the smallest.

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
    """``number`` of each host of a HostBlock: float64 (n,).

    default: a number, or an array (n,) of each host's own; returned as it is
        when no aggregate has the key.
    """
    codes, in_use, sets = hosts.labels('aggregates')
    found = {code: number(values(sets[code], key), key, None, cast, warning)
             for code in in_use}
    if all(value is None for value in found.values()):
        return default
    by_code = np.zeros(len(sets))
    is_set = np.zeros(len(sets), dtype=np.bool_)
    for code, value in found.items():
        if value is not None:
            by_code[code], is_set[code] = value, True
    return np.where(is_set[codes], by_code[codes], default)


@functools.lru_cache(maxsize=1024)
def _tell_once(key, numbers):
    LOG.info('%(count)d values found for %(key)s, of which the minimum value '
             'will be used.', {'count': len(numbers), 'key': key})


@functools.lru_cache(maxsize=1024)
def _warn_once(warning, key, error):
    LOG.warning(warning, {'key': key, 'error': error})
