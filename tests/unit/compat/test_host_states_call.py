"""A method of any release receives the arguments that it takes."""

import functools

import pytest

from nova_sched.compat.row_api import host_states


def of_class(function):
    """Return a bound method."""
    return type('Own', (), {'method': function})().method


@pytest.mark.parametrize(('method', 'given'), [
    (lambda: (), ()),
    (lambda a: (a,), (1,)),
    (lambda a, b: (a, b), (1, 2)),
    (lambda a, b, c: (a, b, c), (1, 2, 3)),
    (lambda a, b=7: (a, b), (1, 2)),
    (lambda a, b, c, d=7: (a, b, c, d), (1, 2, 3, 7)),
    (lambda *args: args, (1, 2, 3)),
    (lambda a, *args: (a, args), (1, (2, 3))),
    (lambda a, index: (a, index), (1, 'i')),
    (lambda a, names, index, b: (a, names, index, b), (1, 'n', 'i', 2)),
    (lambda a, b, *, index: (a, b, index), (1, 2, 'i')),
    (lambda a, b, *, other=7: (a, b, other), (1, 2, 7)),
    (lambda a, **kwargs: (a, kwargs), (1, {'names': 'n', 'index': 'i'})),
    (lambda *args, **kwargs: (args, kwargs),
     ((1, 2, 3), {'names': 'n', 'index': 'i'})),
    (of_class(lambda self, a, b: (a, b)), (1, 2)),
    (of_class(staticmethod(lambda a, b: (a, b))), (1, 2)),
    (of_class(classmethod(lambda cls, a, b: (a, b))), (1, 2)),
    (functools.partial(lambda a, b: (a, b), 0), (0, 1)),
])
def test_method_receives_its_arguments(method, given):
    assert host_states.call(method, 1, 2, 3, names='n', index='i') == given
