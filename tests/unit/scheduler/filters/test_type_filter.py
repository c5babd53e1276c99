"""TypeAffinityFilter and AggregateTypeAffinityFilter."""

import pytest

from nova_sched.hosts import instances
from nova_sched.scheduler.filters.type_filter import (
    AggregateTypeAffinityFilter,
)
from nova_sched.scheduler.filters.type_filter import TypeAffinityFilter
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.hosts import table
from tests.builders.requests import a_flavor
from tests.builders.requests import a_request
from tests.builders.rules import survivors


def running(**flavor_ids):
    """A block of hosts a and b with instances of these flavors."""
    rows = [{'uuid': f'{host}{number}', 'host': host,
             'instance_type_id': flavor_id}
            for host, found in flavor_ids.items()
            for number, flavor_id in enumerate(found)]
    return table(a_host('a'), a_host('b')).snapshot(
        instances.Instances(
            lambda uuids: {}, lambda *names: rows)).block()


class TestTypeAffinityFilter:
    REQUEST = a_request(flavor=a_flavor(id=5))

    @pytest.mark.parametrize(('flavor_ids', 'left'), [
        ({}, ['a', 'b']),
        ({'a': [5, 5]}, ['a', 'b']),
        ({'a': [5, 6], 'b': [5]}, ['b']),
        ({'a': [6], 'b': [None]}, []),
    ])
    def test_wants_no_other_flavor_on_a_host(self, flavor_ids, left):
        """An empty host takes any."""
        assert survivors(TypeAffinityFilter(), running(**flavor_ids),
                         self.REQUEST) == left

    def test_runs_for_each_instance_of_a_request(self):
        """They are all of one flavor."""
        block = running()
        block.instances.place('new', 'a')

        assert TypeAffinityFilter().run_filter_for_index(1)
        assert survivors(TypeAffinityFilter(), block,
                         self.REQUEST) == ['a', 'b']

    def test_says_which_flavors_are_there(self):
        assert TypeAffinityFilter().reason(
            running(a=[5, 7], b=[6]), self.REQUEST) == (
                'flavor id 5 wanted alone, hosts run instances of 6, 7')


class TestAggregateTypeAffinityFilter:
    REQUEST = a_request(flavor=a_flavor(name='m1.tiny'))

    @pytest.mark.parametrize(('values', 'passes'), [
        ([], True),
        (['m1.tiny'], True),
        (['m1.small'], False),
        (['m1.small , m1.tiny'], True),
        (['m1.small', 'm1.tiny'], True),
        (['M1.tiny'], False),
        (['m1.tiny.big'], False),
        ([''], False),
        (['m1.small,'], False),
    ])
    def test_takes_the_flavors_that_aggregates_name(self, values, passes):
        """One of them suffices; an empty value takes none."""
        block = hosts(a_host(aggregates=[
            {'instance_type': value} for value in values]))

        assert AggregateTypeAffinityFilter().mask(
            block, self.REQUEST) == [passes]

    def test_says_which_flavors_are_taken(self):
        block = hosts(a_host(aggregates=[{'instance_type': 'b, a'}]))

        assert AggregateTypeAffinityFilter().reason(
            block, self.REQUEST) == (
                "flavor 'm1.tiny' requested, aggregates take a, b")
