"""AggregateInstanceExtraSpecsFilter."""

import pytest

from nova_sched import exception
from nova_sched.scheduler.filters.aggregate_instance_extra_specs import (
    AggregateInstanceExtraSpecsFilter,
)
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request

SCOPED = 'aggregate_instance_extra_specs:'


def mask(extra_specs, *aggregates_of_hosts):
    block = hosts(*(a_host(aggregates=aggregates)
                    for aggregates in aggregates_of_hosts))
    return AggregateInstanceExtraSpecsFilter().mask(
        block, a_request(extra_specs=extra_specs)).tolist()


@pytest.mark.parametrize(('extra_specs', 'aggregates', 'passes'), [
    ({}, [], True),
    # Without a scope or with the filter's own, the key must be there.
    ({'ssd': 'true'}, [{'ssd': 'true'}], True),
    ({SCOPED + 'ssd': 'true'}, [{'ssd': 'true'}], True),
    ({'ssd': 'true'}, [{'ssd': 'false'}], False),
    ({'ssd': 'true'}, [], False),
    ({SCOPED + 'ssd': 's!= true'}, [{'rack': '1'}], False),
    # Extra specs of another scope do not matter.
    ({'hw:cpu_policy': 'dedicated'}, [], True),
    ({'capabilities:ssd': 'true'}, [{'ssd': 'false'}], True),
    # The key is what follows the first colon.
    ({SCOPED + 'a:b': '1'}, [{'a:b': '1'}], True),
    # One of the values is enough, of whatever aggregate.
    ({'rack': 'r2'}, [{'rack': 'r1, r2'}], True),
    ({'rack': 'r2'}, [{'rack': 'r1'}, {'rack': 'r2'}], True),
    ({'n': 's!= 1'}, [{'n': '1,2'}], True),
    ({'cpu': '<all-in> a b'}, [{'cpu': 'a,b'}], False),
    ({'cpu': '<all-in> a b'}, [{'cpu': 'a b'}], True),
    ({'n': ''}, [{'n': ''}], True),
    # All extra specs must be met.
    ({'n': '>= 2', 'ssd': 'true'}, [{'n': '3', 'ssd': 'true'}], True),
    ({'n': '>= 2', 'ssd': 'true'}, [{'n': '3', 'ssd': 'no'}], False),
])
def test_metadata_of_aggregates_meet_the_extra_specs(extra_specs, aggregates,
                                                     passes):
    assert mask(extra_specs, aggregates) == [passes]


@pytest.mark.parametrize('values', ['x,4', '4,x'])
def test_a_value_that_is_no_number_does_not_hide_one_that_meets(values):
    """In whatever order the values come."""
    assert mask({'n': '>= 4'}, [{'n': values}]) == [True]


@pytest.mark.parametrize('values', ['x', 'x,3', '3,x'])
def test_refuses_to_compare_what_is_no_number(values):
    with pytest.raises(exception.InvalidInput,
                       match=r"flavor.extra_specs.n = '>= 4'"):
        mask({'n': '>= 4'}, [{'n': values}])


def test_refuses_an_or_without_alternatives():
    with pytest.raises(exception.InvalidInput, match='no alternative'):
        mask({'n': '<or>'}, [{'n': '1'}])


def test_later_extra_specs_look_at_what_earlier_ones_left():
    assert mask({'ssd': 'true', 'n': '>= 4'},
                [{'ssd': 'no', 'n': 'x'}],
                [{'ssd': 'true', 'n': '4'}]) == [False, True]


def test_says_what_is_needed_and_what_hosts_have():
    block = hosts(a_host(aggregates=[{'rack': 'r1'}]),
                  a_host(aggregates=[{'rack': 'r2,r3'}]), a_host())

    assert AggregateInstanceExtraSpecsFilter().reason(
        block, a_request(extra_specs={'rack': 'r9'})) == (
        "aggregate metadata rack 'r9' needed, hosts have r1, r2, r3")


def test_logs_what_operators_search_for(caplog):
    with caplog.at_level('DEBUG', 'nova_sched'):
        mask({'rack': 'r9'}, [{'rack': 'r1'}], [])

    differs, lacks = caplog.messages
    assert differs.endswith(
        " fails flavor extra_specs requirements. '['r1']' do not match 'r9'"
        " (in Queens' words: fails instance_type extra_specs requirements)")
    assert lacks.endswith(
        ' fails flavor extra_specs requirements. Extra_spec rack is not in '
        "aggregate. (in Queens' words: fails instance_type extra_specs "
        'requirements)')


@pytest.mark.parametrize('extra_specs', [
    {'model': '>= 2', 'rack': 'r2'}, {'rack': 'r2', 'model': '>= 2'}])
def test_an_extra_spec_that_is_not_met_rejects_whatever_cannot_be_compared(
        extra_specs):
    """In whatever order they come."""
    assert mask(extra_specs, [{'model': 'epyc'}]) == [False]
    with pytest.raises(exception.InvalidInput, match='>= 2'):
        mask(extra_specs, [{'model': 'epyc', 'rack': 'r2'}])
