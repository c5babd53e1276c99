"""How much of all selections of host cells is walked."""

import types

import pytest

from nova_sched.hardware.numa import search as numa_search
from nova_sched.hardware.numa.matching import Matching
from tests.builders.numa import free


def walked(tokens_class, fits, hosts, guests, first_look=10 ** 9):
    """(what is found, steps that it took), with no other help by default.

    fits: the positions of the host cells that take any guest cell.
    """
    host_cells = [types.SimpleNamespace(id=number) for number in range(hosts)]
    guest_cells = [types.SimpleNamespace(id=number, pagesize=None)
                   for number in range(guests)]

    def place(index, position):
        if position in fits:
            guest_cells[index].id = position
            return True
        return False

    search = numa_search.Search(
        tokens_class(host_cells, guest_cells, place),
        Matching([*range(hosts)], guests, lambda _, position: (
            position in fits)), None, spend=free)
    search._next_look = first_look
    return search.find(), search._steps


@pytest.mark.parametrize(('tokens_class', 'most'), [
    (numa_search.ById, 250), (numa_search.ByCell, 157)])
@pytest.mark.parametrize('fits', [{0, 1, 2, 3}, {5, 6, 7, 8}, {1, 3, 5, 7}])
def test_impossible_prefix_is_skipped(tokens_class, most, fits):
    """Of 15120 selections: four of nine host cells do for five guest cells.
    """
    found, steps = walked(tokens_class, fits, 9, 5)

    assert found is None
    assert steps <= most


@pytest.mark.parametrize('tokens_class', [numa_search.ById,
                                          numa_search.ByCell])
def test_impossible_search_ends_at_the_first_check(tokens_class):
    found, steps = walked(tokens_class, {0, 2, 4}, 6, 4, first_look=5)

    assert found is None
    assert steps == 5


@pytest.mark.parametrize('tokens_class', [numa_search.ById,
                                          numa_search.ByCell])
def test_possible_search_continues_after_a_check(tokens_class):
    """The host cells are those that do, in order."""
    assert walked(tokens_class, {3, 4, 6, 8}, 9, 4, first_look=1)[0] == [
        3, 4, 6, 8]


def test_irrelevant_selections_are_not_walked_again():
    """Whoever asks, the same host cells take all or none."""
    found, steps = walked(numa_search.ById, {0, 2, 4, 6}, 10, 5)

    assert found is None
    assert steps <= 215
