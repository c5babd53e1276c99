"""Attributes of hosts that requests may name."""

import numpy as np
import pytest

from nova_sched.rules import attributes
from nova_sched.rules.attributes import Column
from nova_sched.rules.attributes import Numbers
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts

BLOCK = hosts(a_host('a', free_ram_mb=5, stats={'x': '1'}),
              a_host('b', free_ram_mb=5, stats={'x': '2'}))


def by_host(column):
    return [column.values[code] for code in column.codes.tolist()]


@pytest.mark.parametrize(('name', 'values'), [
    ('host', ['a', 'b']), ('hypervisor_hostname', ['a', 'b']),
    ('free_ram_mb', [5, 5]), ('stats', [{'x': '1'}, {'x': '2'}]),
    ('hypervisor_type', ['QEMU', 'QEMU']), ('limits', [{}, {}]),
    ('supported_instances', [[['x86_64', 'kvm', 'hvm']]] * 2)])
def test_attributes_are_those_of_a_host_state(name, values):
    assert by_host(attributes.column(BLOCK, name)) == values


@pytest.mark.parametrize('name', [
    '', 'nothing', 'service_up', 'bare_metal', 'block', '_row', '__class__',
    'update'])
def test_other_names_are_unknown(name):
    assert attributes.column(BLOCK, name) is None


def test_each_value_is_judged_once():
    asked = []

    verdict = Column.of(['x', 'y', 'x', 'y']).evaluate(
        lambda value: asked.append(value) or value == 'x', BLOCK)

    assert verdict.tolist() == [True, False, True, False]
    assert asked == ['x', 'y']


def test_an_error_at_a_value_names_the_first_host_with_it():
    column = Column.of([1, 'x', 'x'])

    with pytest.raises(ValueError, match='x') as raised:
        column.evaluate(int, hosts(a_host('a'), a_host('b'), a_host('c')))

    note, = raised.value.__notes__
    assert note.startswith('on host (b, b)')


def test_equal_values_of_different_types_are_not_the_same():
    assert by_host(Column.of([1, True, 1.0, '1'])) == [1, True, 1.0, '1']
    assert [type(value) for value in Column.of([1, True, 1.0]).values] == [
        int, bool, float]


def test_values_without_a_host_are_skipped():
    column = Column(np.array([1, 1]), ['unused', 'used'])

    assert column.in_use() == ['used']
    assert column.mapped(str.upper, BLOCK).values == [None, 'USED']


@pytest.mark.parametrize(('values', 'numbers'), [
    ([1, 2.5, True], [1, 2.5, 1]), ([], []), ([float('inf')], [float('inf')]),
    ([1, 'x'], None), ([None], None), ([2 ** 53 + 1], None)])
def test_numbers_must_be_exact_floats(values, numbers):
    found = Column.of(values).numbers

    assert (found if found is None else found.tolist()) == numbers


def test_an_array_of_big_numbers_is_compared_one_by_one():
    assert Numbers(np.array([1, 2])).numbers.tolist() == [1, 2]
    assert Numbers(np.array([1, -2 ** 63])).numbers is None
    assert by_host(Numbers(np.array([3, -2 ** 63]))) == [3, -2 ** 63]
    assert by_host(Numbers(np.array([True, False]))) == [True, False]
