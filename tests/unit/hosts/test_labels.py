"""Columns of values that repeat."""

import numpy as np
import pytest

from nova_sched.hosts.labels import Labels
from nova_sched.hosts.labels import in_use


def items(column):
    return [column.values[code] for code in column.codes.tolist()]


@pytest.mark.parametrize('values', [
    [], ['a'], ['a', 'b', 'a'], [None, '', None], [1, 1.5, 'x', (1, 2)]])
def test_a_column_holds_its_items(values):
    column = Labels.of(values)

    assert items(column) == values
    assert len(column) == len(values)
    assert len(set(column.values)) == len(column.values)


def test_a_replaced_column_differs_in_those_rows_only():
    column = Labels.of(['a', 'b', 'a'])

    changed = column.replaced({0: 'b', 2: 'new'})

    assert items(changed) == ['b', 'b', 'new']
    assert items(column) == ['a', 'b', 'a']


@pytest.mark.parametrize('changes', [{}, {0: 'a'}, {1: 'b', 2: 'a'}])
def test_a_column_is_the_same_where_nothing_differs(changes):
    column = Labels.of(['a', 'b', 'a'])

    assert column.replaced(changes) is column


def test_codes_of_an_older_column_stay_right():
    """The list of values is shared and only grows."""
    column = Labels.of(['a', 'b'])
    changed = column.replaced({0: 'c'})

    assert changed.values is column.values
    assert changed.code('c') == 2


def test_an_unknown_value_has_no_code():
    assert Labels.of(['a']).code('b') == -1


@pytest.mark.parametrize(('codes', 'expected'), [
    ([], []), ([2, 0, 2], [0, 2]), ([1], [1])])
def test_the_codes_in_use_are_distinct(codes, expected):
    assert in_use(np.array(codes, dtype=np.int32)) == expected


def test_a_private_column_adds_to_no_shared_list():
    column = Labels.of(['a', 'b'])

    private = column.private().replaced({0: 'c'})

    assert items(private) == ['c', 'b']
    assert column.values == ['a', 'b']
    assert private.code('b') == 1


class TestDerived:
    """Results are read by code."""

    @staticmethod
    def derived(column, key, function, codes=None):
        codes = column.codes if codes is None else codes
        return column.derived_by_code(codes, key, function, np.int64).take(
            codes).tolist()

    def test_computes_each_value_in_use_once(self):
        asked, column = [], Labels.of(['a', 'bcd'])

        def length(value):
            asked.append(value)
            return len(value)

        self.derived(column, 'length', length)
        other = column.replaced({0: 'ef', 1: 'ghij'})
        more = other.replaced({0: 'klmno'})

        assert self.derived(column, 'length', length, column.codes[:1]) == [1]
        for found, expected in ((more, [5, 4]), (other, [2, 4]),
                                (column, [1, 3]), (more, [5, 4])):
            assert self.derived(found, 'length', length) == expected
        assert asked == ['a', 'bcd', 'ghij', 'klmno', 'ef']

    def test_a_value_that_fails_is_tried_again(self):
        column = Labels.of(['1', 'x'])
        for _ in range(2):
            with pytest.raises(ValueError, match='x'):
                self.derived(column, 'number', int)
        assert self.derived(column, 'number', int, column.codes[:1]) == [1]


class TestRows:
    def test_can_be_taken_out(self):
        column = Labels.of(['a', 'b', 'a', 'c'])

        less = column.without([0, 3])

        less._check()
        assert less.items() == ['b', 'a']
        assert column.items() == ['a', 'b', 'a', 'c']

    def test_can_be_put_before_others_and_at_the_end(self):
        column = Labels.of(['b', 'd'])

        more = column.with_added([0, 1, 2, 2], ['a', 'b', 'e', 'f'])

        more._check()
        assert more.items() == ['a', 'b', 'b', 'd', 'e', 'f']
        assert column.items() == ['b', 'd']

    def test_come_and_go_with_at_most_twice_as_many_values(self):
        """And one more; until then the list is shared."""
        column, most = Labels.of(['a', 'b']), 0

        for number in range(50):
            column = column.with_added([2], [number]).without([2])
            most = max(most, len(column.values))

        column._check()
        assert column.items() == ['a', 'b']
        assert most == 6

    @pytest.mark.parametrize('changed', [1, 3])
    def test_change_with_at_most_twice_as_many_values(self, changed):
        column, most = Labels.of(['a', 'b', 'c']), 0

        for number in range(60):
            column = column.replaced(dict.fromkeys(range(changed), number))
            most = max(most, len(column.values))

        column._check()
        assert column.items() == [59] * changed + ['a', 'b', 'c'][changed:]
        assert most == 6 + changed + 1


def test_united_values_are_cached_and_extended():
    asked = []

    def pieces(value):
        asked.append(value)
        return set(value)

    column = Labels.of(['ab', 'b', 'ab'])
    assert column.united('pieces', pieces) == {'a', 'b'}
    changed = column.replaced({0: 'c'})
    assert changed.united('pieces', pieces) == {'a', 'b', 'c'}
    assert asked == ['ab', 'b', 'c']
