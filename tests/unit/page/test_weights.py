"""The weights of the best hosts, as bars."""

import pytest

from nova_sched.page import facts
from nova_sched.page import weights
from tests.builders import documents


def of(*scores, **fields):
    """Weights of hosts h0, h1 ..., each of {weigher: score}."""
    best = [{**documents.host(f'h{number}'), 'weight': 1.0,
             'weighers': documents.weighers(**each)}
            for number, each in enumerate(scores)]
    fields = {'picks': []} | fields
    return weights.weights(facts.of(documents.a_decision(best=best, **fields)))


def pieces(row):
    return [(part.place, round(part.left), round(part.width))
            for part in row.parts]


def test_parts_stand_behind_each_other():
    found = of({'A': 3.0, 'B': 1.0}, {'A': 1.0, 'B': 1.0})

    assert found.keys == ['A', 'B']
    assert [pieces(row) for row in found.rows] == [
        [(0, 0, 750), (1, 750, 250)], [(0, 0, 250), (1, 250, 250)]]


def test_negative_parts_go_to_the_other_side():
    [row] = of({'A': 3.0, 'B': -1.0}).rows

    assert pieces(row) == [(0, 250, 750), (1, 0, 250)]


def test_a_weigher_without_scores_is_silent():
    found = of({'A': 1.0, 'B': 0.0}, {'A': 0.0, 'B': 0.0})

    assert (found.weighers, found.silent) == (['A'], ['B'])


def test_many_weighers_end_in_one_piece():
    scores = {f'W{number}': number + 1.0 for number in range(10)}
    found = of(scores)

    assert found.keys == [f'W{number}' for number in range(3, 10)] + [
        weights.OTHERS]
    assert found.weighers == [*scores]
    assert pieces(found.rows[0])[-1][2] == round(1000 * (1 + 2 + 3) / 55)


def test_infinite_scores_have_no_piece():
    document = documents.a_decision()
    document['best'][0] |= {'weight': 'inf'}
    document['best'][0]['weighers'][0] |= {'score': 'inf'}
    first, _ = weights.weights(facts.of(document)).rows

    assert first.weight == 'inf'
    assert [part.place for part in first.parts] == [1]


def test_a_plan_has_multiplier_and_normalized_value():
    found = weights.weights(facts.of(documents.a_plan(
        {'a': (), 'b': (), 'c': ('RamFilter',)})))

    assert found.rows[0].scores == {
        'RAMWeigher': 4.0, 'DiskWeigher': 2.0, 'IoOpsWeigher': 0.0}


def test_a_pick_that_is_not_among_the_best_is_there():
    """Such as a host drawn from many."""
    pick = documents.a_decision()['picks'][0]
    found = of({'RAMWeigher': 9.0}, picks=[pick])

    assert [row.host for row in found.rows] == ['h0', 'a']


@pytest.mark.parametrize('scores', [[], [{}]])
def test_where_nothing_was_weighed_there_is_none(scores):
    assert of(*scores) is None
