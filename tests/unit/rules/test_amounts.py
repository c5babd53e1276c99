"""What filters of counts have in common."""

import pytest

from nova_sched.scheduler.filters import io_ops_filter
from nova_sched.scheduler.filters import num_instances_filter
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured
from tests.builders.rules import survivors

IO_OPS = (io_ops_filter.IoOpsFilter, io_ops_filter.AggregateIoOpsFilter)
INSTANCES = (num_instances_filter.NumInstancesFilter,
             num_instances_filter.AggregateNumInstancesFilter)

each_filter = pytest.mark.parametrize('cls', IO_OPS + INSTANCES)
each_aggregate_filter = pytest.mark.parametrize('cls', [
    IO_OPS[1], INSTANCES[1]])


def counting(cls, *counts, values=()):
    """Hosts with these counts, in aggregates with these maxima."""
    return hosts(*(a_host(**{cls.column: count}, aggregates=[
        {cls.key: value} for value in values]) for count in counts))


@each_filter
@pytest.mark.parametrize(('most', 'left'), [
    (1, ['host0']),
    (2, ['host0', 'host1']),
    (3, ['host0', 'host1', 'host2']),
])
def test_takes_hosts_below_the_maximum(cls, most, left):
    rule = configured(cls, **{cls.key: most})

    assert survivors(rule, counting(cls, 0, 1, 2), a_request()) == left


@each_filter
def test_counts_what_the_request_has_placed(cls):
    block, request = counting(cls, 1), a_request()
    rule = configured(cls, **{cls.key: 2})
    assert survivors(rule, block, request) == ['host0']

    block.snapshot.consume(0, request, 0.0)

    assert survivors(rule, block.snapshot.block(), request) == []


@each_aggregate_filter
@pytest.mark.parametrize(('values', 'most'), [
    ([], 3), (['5'], 5), (['5', ' 4 '], 4), (['5', 'many'], 3),
    (['4.5'], 3), (['4,5'], 3), (['0'], 0), (['-1'], -1), (['1_0'], 10),
    (['9' * 30], 11), (['-' + '9' * 30], 0), (['9' * 5000], 3)])
def test_aggregates_may_set_the_maximum(cls, values, most):
    """The smallest counts; one that is no integer spoils them all."""
    rule = configured(cls, **{cls.key: 3})
    block = counting(cls, *range(11), values=values)

    assert len(survivors(rule, block, a_request())) == max(most, 0)


@each_aggregate_filter
def test_a_maximum_is_that_of_the_aggregates_hosts_alone(cls):
    rule = configured(cls, **{cls.key: 3})
    block = hosts(a_host(**{cls.column: 2}),
                  a_host(**{cls.column: 2}, aggregates=[{cls.key: '2'}]),
                  a_host(**{cls.column: 3}, aggregates=[{cls.key: '4'}]))

    assert survivors(rule, block, a_request()) == ['host0', 'host2']
    assert rule.reason(block.where(~rule.mask(block, a_request())),
                       a_request()).startswith('need fewer than 2 ')


@each_filter
def test_says_how_many_the_nearest_host_has(cls):
    rule = configured(cls, **{cls.key: 2})

    assert rule.reason(counting(cls, 9, 4), a_request()) == (
        f'need fewer than 2 {cls.noun}, nearest has 4')


@each_aggregate_filter
def test_a_maximum_is_no_bigger_than_floats_are_exact(cls):
    """And no smaller."""
    assert cls.cast('9' * 30) == 2 ** 53
    assert cls.cast(f'-{"9" * 30}') == -2 ** 53
    assert cls.cast(str(2 ** 53 - 1)) == 2 ** 53 - 1
