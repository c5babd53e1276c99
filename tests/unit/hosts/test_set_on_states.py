"""What plug-ins set on host states, for all rules of the request to see."""

import types

import numpy as np
import pytest

from nova_sched.hosts.state import HostState
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.hosts import table as table_of
from tests.builders.requests import a_flavor
from tests.builders.requests import a_request


def a_state(*args, **values):
    state, = hosts(a_host(*args, **values)).states()
    return state


@pytest.mark.parametrize(('name', 'value'), [
    ('free_ram_mb', 17), ('free_ram_mb', -17.0),
    ('num_instances', np.int64(3)),
    ('cpu_allocation_ratio', 2), ('hypervisor_type', 'xen'),
    ('aggregates', [])])
def test_built_in_rules_judge_by_what_is_set(name, value):
    table = table_of(a_host('a'), a_host('b'))
    snapshot = table.snapshot(None)
    setattr(snapshot.state(0), name, value)

    assert snapshot.block().objects(name) == [
        value or (), table.snapshot(None).block().objects(name)[1]]
    assert getattr(snapshot.state(0), name) == (
        [] if name == 'aggregates' else value)


@pytest.mark.parametrize('value', [1 << 64, None, 'x', [], float('nan')])
def test_what_no_column_holds_stays_with_the_state(value):
    state = a_state(free_ram_mb=5)
    state.free_ram_mb = value

    assert state.free_ram_mb is value
    assert state.block().free_ram_mb.tolist() == [5]
    state.free_ram_mb = 7
    assert state.free_ram_mb == 7


@pytest.mark.parametrize(('value', 'held'), [(4915.2, 4915), (-1.5, -1)])
def test_of_a_whole_number_the_fraction_is_left_out(value, held):
    state = a_state(free_ram_mb=5)
    state.free_ram_mb = value

    assert state.free_ram_mb == held
    assert state.block().free_ram_mb.tolist() == [held]


def test_what_is_set_is_consumed_from():
    state = a_state(free_ram_mb=5)
    state.free_ram_mb = 1000
    state.consume_from_request(a_request(flavor=a_flavor(memory_mb=300)))

    assert state.free_ram_mb == 700



def test_what_goes_wrong_with_consumption_is_told(caplog):
    """And fails nothing, as in Nova."""
    class Own(HostState):
        def _locked_consume_from_request(self, spec_obj):
            raise RuntimeError('no rack left')

    Own('h', 'n').consume_from_request(a_request())

    assert caplog.messages[0].endswith(
        'failed to consume from instance. Error: no rack left')


class TestSettled:
    """A state that a plug-in made becomes that of a row."""

    def settled(self, made, **reported):
        snapshot = table_of(a_host('h', nodename='n', **reported)).snapshot(
            None)
        snapshot.have(0, made)
        return snapshot.state(0)

    def test_has_what_is_reported(self):
        state = self.settled(HostState('h', 'n'), free_ram_mb=5)

        assert state.free_ram_mb == 5
        assert state.block().free_ram_mb.tolist() == [5]

    def test_keeps_what_was_set(self):
        made = HostState('h', 'n')
        made.free_ram_mb, made.rack = 7, 'r1'
        state = self.settled(made, free_ram_mb=5, vcpus_used=3)

        assert (state.free_ram_mb, state.rack, state.vcpus_used) == (
            7, 'r1', 3)
        assert state.block().free_ram_mb.tolist() == [7]

    def test_of_another_request_keeps_what_is_its_own(self):
        other = a_state('h', nodename='n', free_ram_mb=1)
        other.rack, other.limits['vcpu'] = 'r1', 9
        state = self.settled(other, free_ram_mb=5)

        assert (state.free_ram_mb, state.rack, state.limits) == (5, 'r1', {})

    def test_learns_only_what_differs(self):
        """What is consumed later is seen, then."""
        state = self.settled(HostState('h', 'n'), free_ram_mb=1000)
        state.update(types.SimpleNamespace(free_ram_mb=1000, vcpus=4))
        state.consume_from_request(a_request(flavor=a_flavor(memory_mb=300)))

        assert (state.free_ram_mb, state.vcpus_total) == (700, 4)
