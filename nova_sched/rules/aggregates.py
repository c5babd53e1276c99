"""Reading the metadata of a host's aggregates.

The argument ``aggregates`` is a collection of objects with a ``metadata`` dict
of texts.
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
    """Return the values of one key in all aggregates: frozenset."""
    return _metadata(_weakly(aggregates)).get(key, _NOTHING)[0]


def split_values(aggregates, key):
    """Return the comma-separated parts of one key's values: frozenset."""
    return _metadata(_weakly(aggregates)).get(key, _NOTHING)[1]


def keys(aggregates, prefix=''):
    """Return the sorted keys of all aggregates with a prefix: list."""
    return [key for key in _metadata(_weakly(aggregates))
            if key.startswith(prefix)]


def split_values_by_prefix(aggregates, prefix):
    """Return the comma-separated parts of all values of keys with a prefix."""
    return _split_values_by_prefix(_weakly(aggregates), prefix)


def _weakly(aggregates):
    """Return a cache key that does not keep deleted aggregates in memory."""
    return tuple(map(weakref.ref, aggregates))


@functools.lru_cache(maxsize=4096)
def _split_values_by_prefix(aggregates, prefix):
    return frozenset().union(*(
        split for key, (_, split) in _metadata(aggregates).items()
        if key.startswith(prefix)))


@functools.lru_cache(maxsize=4096)
def _metadata(aggregates):
    """Return key -> (values, comma-separated parts), sorted by key.

    aggregates: tuple of weak references.
    """
    by_key = {}
    for aggregate in aggregates:
        for key, value in aggregate().metadata.items():
            by_key.setdefault(key, set()).add(value)
    return {key: (frozenset(by_key[key]), frozenset(
        piece.strip() for value in by_key[key] for piece in value.split(',')))
        for key in sorted(by_key)}


_NOTHING = (frozenset(), frozenset())


def number(texts, key, default, cast, warning=_UNREADABLE):
    """Return the smallest number in a set of texts.

    Returns the default for an empty set and, with a warning, if ``cast`` (int
    or float) refuses any of the texts.
    warning: text of the warning, with %(key)s and %(error)s.
    """
    if not texts:
        return default
    try:
        numbers = sorted(map(cast, texts))
    except ValueError as exc:
        _warn_once(warning, key, str(exc))
        return default
    if len(numbers) > 1:
        _log_once(key, tuple(numbers))
    return numbers[0]


def numbers(hosts, key, default, cast, warning=_UNREADABLE):
    """Return the ``number`` of a key for each host of a HostBlock.

    default: a number, or array (n,) with a number for each host.
    Returns float64 (n,), or the default if no aggregate has the key.
    """
    def smallest(aggregates):
        least = number(values(aggregates, key), key, None, cast, warning)
        if least is None:
            return False, 0.0
        if cast is int:
            # It may be too big for a float.
            least = max(-_BIGGEST, min(least, _BIGGEST))
        return True, least

    # A fast path, because most keys are in no aggregate.
    if key not in hosts.snapshot.column('aggregates').united('keys', keys):
        return default
    codes, by_code = hosts.derived_by_code('aggregates', (key, cast),
                                           smallest, _NUMBER)
    by_host = by_code.take(codes)
    if not by_host['is_set'].any():
        return default
    return np.where(by_host['is_set'], by_host['value'], default)


@functools.lru_cache(maxsize=1024)
def _log_once(key, numbers):
    LOG.info('%(count)d values found for %(key)s, of which the minimum value '
             'will be used.', {'count': len(numbers), 'key': key})


@functools.lru_cache(maxsize=1024)
def _warn_once(warning, key, error):
    LOG.warning(warning, {'key': key, 'error': error})
