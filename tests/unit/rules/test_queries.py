"""Queries of users: refusals, and the costs of their parts."""

import json

import pytest

from nova_sched import exception
from nova_sched.objects import bounds
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


#: Hosts with distinct RAM; every second host has a mark.
COUNT = 128
#: A query, or a query in one, and a step on whole columns.
PART, STEP = 1, 20 + COUNT // 64
#: A value of each host put into a column; looking at each distinct one.
LOOK_UP, EACH = 3 * COUNT, COUNT
#: Comparing the values of two columns, besides the distinct pairs of them.
PAIRS = 400 + COUNT // 4


@pytest.fixture(scope='module')
def block():
    return hosts(*(a_host(f'h{number}', free_ram_mb=number,
                          stats={'even': 'x'} if number % 2 == 0 else {})
                   for number in range(COUNT)))


@pytest.fixture
def cost(block, monkeypatch):
    """Function: the least work that a query may take and is answered."""
    monkeypatch.setattr(bounds, 'QUERY_HOST_WORK', 0)

    def is_answered(query, work):
        monkeypatch.setattr(bounds, 'QUERY_WORK', work)
        try:
            queries.Query('the query', block).passes(query)
        except exception.InvalidInput:
            return False
        return True

    def cost(query):
        least, most = -1, 1 << 14
        assert is_answered(query, most)
        while most - least > 1:
            middle = (least + most) // 2
            if is_answered(query, middle):
                most = middle
            else:
                least = middle
        return most
    return cost


@pytest.mark.parametrize('query, expected', [
    ([], 0), (['and'], PART), (['and', 1, 1, 2], PART), (['not', 1], PART),
    (['=', 1, 1], PART + STEP), (['=', 1, *[1] * 128], PART + STEP + 2),
    (['and', '$free_ram_mb', '$free_ram_mb'], PART + STEP),
    (['or', '$free_ram_mb', '$vcpus_used', 1], PART + 2 * STEP),
    (['=', '$free_ram_mb', '$vcpus_used'], PART + 2 * STEP),
    (['or', ['=', '$free_ram_mb', 5], ['=', '$free_ram_mb', 5]],
     PART + STEP + 2 * PART + 2 * STEP)])
def test_a_part_costs_one_and_a_step_on_columns_some_more(cost, query,
                                                          expected):
    """For any number of equal arguments and of constants."""
    assert cost(query) == expected


@pytest.mark.parametrize('query, expected', [
    (['=', '$host', 'h5'], 2 * STEP + LOOK_UP + EACH + 1 + EACH),
    (['in', '$host', 'h5', 'h6', 'h7'],
     2 * STEP + LOOK_UP + EACH + 3 + EACH),
    (['in', '$free_ram_mb', 5, 6, 7], 2 * STEP + 3 + EACH),
    # Hosts without the first argument are not looked up.
    (['=', '$stats.even', 'x'], 3 * STEP + LOOK_UP + 2 + 1 + 2),
    (['in', '$stats', {'a': 1}, {'b': 1}],
     2 * STEP + LOOK_UP + EACH + 2 + EACH + 2 * EACH)])
def test_values_that_are_looked_up_cost_one_each(cost, query, expected):
    """Once each, but objects once for each comparison."""
    assert cost(query) == PART + expected


@pytest.mark.parametrize('query, expected', [
    (['<', '$host', 'h5'], LOOK_UP + EACH + PAIRS + COUNT),
    (['<', '$host', '$uuid'], 2 * (LOOK_UP + EACH) + PAIRS + COUNT)])
def test_comparisons_pair_by_pair_cost_most(cost, query, expected):
    assert cost(query) == PART + 2 * STEP + expected


@pytest.mark.parametrize('count', [1, 15, 16, 32])
def test_lists_of_opposites_cost_as_much_as_there_is_in_them(cost, count):
    """Two of them: all hosts have a name, and all but one RAM."""
    query = ['=', ['not', *['$host'] * count], ['not', '$free_ram_mb']]

    names = LOOK_UP + 2 * EACH + COUNT * (2 + count // 16) + count
    numbers = COUNT * 2 + 2
    assert cost(query) == (
        PART + 2 * STEP + 2 * (PART + STEP) + names + numbers + PAIRS
        + 2 * count)


def test_an_opposite_that_is_not_compared_costs_no_list(cost):
    assert cost(['not', '$host']) == PART + STEP + LOOK_UP + 2 * EACH
