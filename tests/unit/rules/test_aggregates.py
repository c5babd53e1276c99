"""Metadata of aggregates."""

import gc
import weakref

import pytest

from nova_sched.rules import aggregates as aggregate_values
from tests.builders.hosts import a_host
from tests.builders.hosts import an_aggregate
from tests.builders.hosts import hosts


def with_values(*values):
    return [an_aggregate({'k': value}) for value in values]


@pytest.mark.parametrize(('values', 'expected'), [
    ([], set()), (['a'], {'a'}), (['a, b', 'b'], {'a, b', 'b'})])
def test_values_are_those_of_all_aggregates(values, expected):
    assert aggregate_values.values(with_values(*values), 'k') == expected
    assert aggregate_values.values(with_values(*values), 'other') == set()


@pytest.mark.parametrize(('values', 'expected'), [
    ([], set()), (['a,b ', ' c'], {'a', 'b', 'c'}), ([''], {''})])
def test_pieces_are_split_at_commas(values, expected):
    assert aggregate_values.split_values(with_values(*values), 'k') == expected


def test_old_aggregates_are_not_kept_in_caches():
    """Reloads and changes make new aggregates."""
    found = with_values('a')
    for read in (aggregate_values.values, aggregate_values.split_values,
                 aggregate_values.keys,
                 aggregate_values.split_values_by_prefix):
        read(found, 'k')
    gone = weakref.ref(found.pop())
    gc.collect()

    assert gone() is None


@pytest.mark.parametrize(('found', 'cast', 'expected'), [
    (set(), int, 5), ({'3'}, int, 3), ({'3', '1', '2'}, int, 1),
    ({'3', 'x'}, int, 5), ({' 9 '}, int, 9), ({'-1', '0'}, int, -1),
    ({'9.5'}, int, 5), ({'9,10'}, int, 5), ({'9.5'}, float, 9.5)])
def test_the_smallest_number_counts(found, cast, expected):
    """One invalid number gives the default."""
    assert aggregate_values.number(found, 'k', 5, cast) == expected


def test_each_invalid_number_is_warned_about_once(caplog):
    aggregate_values._warn_once.cache_clear()
    for _ in range(3):
        aggregate_values.number({'bad'}, 'k', 5, float)

    text, = caplog.messages
    assert text.startswith("Could not decode k: 'could not convert")


def test_several_numbers_are_logged_once(caplog):
    caplog.set_level('INFO')
    aggregate_values._log_once.cache_clear()
    for _ in range(3):
        aggregate_values.number({'1', '2'}, 'k', 5, float)

    assert caplog.messages == ['2 values found for k, of which the minimum '
                               'value will be used.']


def test_numbers_of_hosts_are_judged_by_distinct_aggregates():
    block = hosts(a_host(aggregates=[{'k': '2'}, {'k': '1.5'}]),
                  a_host(), a_host(aggregates=[{'k': 'bad'}]))

    assert aggregate_values.numbers(
        block, 'k', 7.0, float).tolist() == [1.5, 7.0, 7.0]
    assert aggregate_values.numbers(
        block, 'k', block.cpu_allocation_ratio, float).tolist() == [
        1.5, 16.0, 16.0]
