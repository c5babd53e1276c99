"""Copying objects that cross RPC, quickly.

``clone`` does what copy.deepcopy does, for the few kinds of values that such
objects hold, in a fraction of the time (``python -m benchmarks.objects``).
"""

import copy
import datetime

from nova_sched.objects import base

_ATOMS = frozenset((str, int, float, bool, type(None), bytes,
                    datetime.datetime))


def clone(value):
    """Return a copy that shares nothing that can be changed.

    value: a NovaObject, or what one may hold.  What an object has as SHARED
    is shared.
    """
    kind = value.__class__
    if kind in _ATOMS:
        return value
    if kind is dict:
        return {key: item if item.__class__ in _ATOMS else clone(item)
                for key, item in value.items()}
    if kind in (list, set, tuple, frozenset):
        return kind([item if item.__class__ in _ATOMS else clone(item)
                     for item in value])
    if isinstance(value, base.NovaObject):
        return _clone_object(value, kind)
    return copy.deepcopy(value)


def _clone_object(value, kind):
    twin = kind.__new__(kind)
    twin.__dict__.update({
        name: item if item.__class__ in _ATOMS or name in kind.SHARED
        else clone(item) for name, item in value.__dict__.items()})
    return twin
