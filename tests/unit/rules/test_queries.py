"""Queries of users: refusals, and the costs of their parts."""

import json

import pytest

from nova_sched import exception
from nova_sched.rules import queries
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts

BLOCK = hosts(a_host('a', stats={'n': 1}), a_host('b', stats={'n': 'x'}),
              a_host('c', stats={'n': 'y'}))


def refused(query):
    """The InvalidInput for a query of these hosts."""
    with pytest.raises(exception.InvalidInput) as caught:
        queries.Query(json.dumps(query), BLOCK).passes(query)
    return caught.value


@pytest.mark.parametrize(('query', 'said'), [
    (['<', '$stats.n', 5], 'a text < a number'),
    (['>=', 5, '$stats.n'], 'a number >= a text'),
    (['<', '$stats.n', ['not', '$host']], 'a number < a list'),
    (['<', '$stats', 5], 'an object < a number')])
def test_types_without_an_order_are_refused_with_the_first_host(query, said):
    """The text has types, and no values of the host."""
    found = refused(query)

    assert f'without an order: {said}' in str(found)
    [note] = found.__notes__
    host = 'b' if said.count('text') else 'a'
    assert note.startswith(f'on host ({host}, {host})')


def test_constants_without_an_order_have_no_host():
    found = refused(['<', 'x', 5])

    assert 'without an order: a text < a number' in str(found)
    assert not hasattr(found, '__notes__')


def test_keys_of_values_without_keys_are_refused():
    found = refused(['=', '$stats.n.more', 5])

    assert "reads 'more' of a value that is not a mapping" in str(found)
    [note] = found.__notes__
    assert note.startswith('on host (a, a)')
