"""Values that plug-ins set on host states are seen by later rules."""

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
def test_built_in_rules_use_the_value(name, value):
    table = table_of(a_host('a'), a_host('b'))
    snapshot = table.snapshot(None)
    setattr(snapshot.state(0), name, value)

    assert snapshot.block().objects(name) == [
        value or (), table.snapshot(None).block().objects(name)[1]]
    assert getattr(snapshot.state(0), name) == (
        [] if name == 'aggregates' else value)


@pytest.mark.parametrize('value', [1 << 64, None, 'x', [], float('nan')])
def test_a_value_that_no_column_holds_stays_with_the_state(value):
    state = a_state(free_ram_mb=5)
    state.free_ram_mb = value

    assert state.free_ram_mb is value
    assert state.block().free_ram_mb.tolist() == [5]
    state.free_ram_mb = 7
    assert state.free_ram_mb == 7


@pytest.mark.parametrize(('value', 'held'), [(4915.2, 4915), (-1.5, -1)])
def test_fractions_are_truncated_for_integer_columns(value, held):
    state = a_state(free_ram_mb=5)
    state.free_ram_mb = value

    assert state.free_ram_mb == held
    assert state.block().free_ram_mb.tolist() == [held]


def test_consumption_starts_from_the_value():
    state = a_state(free_ram_mb=5)
    state.free_ram_mb = 1000
    state.consume_from_request(a_request(flavor=a_flavor(memory_mb=300)))

    assert state.free_ram_mb == 700


def test_values_survive_concurrent_requests():
    """Between two slices of the request."""
    table = table_of(a_host('a', free_ram_mb=5, vcpus_used=1))
    snapshot = table.snapshot(None)
    snapshot.state(0).free_ram_mb = 9
    snapshot.go_on(table_of(
        a_host('a', free_ram_mb=3, vcpus_used=2)).snapshot(None))

    assert snapshot.state(0).free_ram_mb == 9
    assert snapshot.state(0).vcpus_used == 2


def test_failed_consumption_is_logged(caplog):
    """And fails nothing, as in Nova."""
    class Own(HostState):
        def _locked_consume_from_request(self, spec_obj):
            raise RuntimeError('no rack left')

    Own('h', 'n').consume_from_request(a_request())

    assert caplog.messages[0].endswith(
        'failed to consume from instance. Error: no rack left')


class TestAdopted:
    """A state made by a plug-in becomes the state of a row."""

    def adopted(self, made, **reported):
        snapshot = table_of(a_host('h', nodename='n', **reported)).snapshot(
            None)
        snapshot.have(0, made)
        return snapshot.state(0)

    def test_has_the_report(self):
        state = self.adopted(HostState('h', 'n'), free_ram_mb=5)

        assert state.free_ram_mb == 5
        assert state.block().free_ram_mb.tolist() == [5]

    def test_keeps_values_of_the_plug_in(self):
        made = HostState('h', 'n')
        made.free_ram_mb, made.rack = 7, 'r1'
        state = self.adopted(made, free_ram_mb=5, vcpus_used=3)

        assert (state.free_ram_mb, state.rack, state.vcpus_used) == (
            7, 'r1', 3)
        assert state.block().free_ram_mb.tolist() == [7]

    def test_from_another_request_keeps_own_attributes_only(self):
        other = a_state('h', nodename='n', free_ram_mb=1)
        other.rack, other.limits['vcpu'] = 'r1', 9
        state = self.adopted(other, free_ram_mb=5)

        assert (state.free_ram_mb, state.rack, state.limits) == (5, 'r1', {})

    def test_sets_only_differences(self):
        """So later consumption is seen."""
        state = self.adopted(HostState('h', 'n'), free_ram_mb=1000)
        state.update(types.SimpleNamespace(free_ram_mb=1000, vcpus=4))
        state.consume_from_request(a_request(flavor=a_flavor(memory_mb=300)))

        assert (state.free_ram_mb, state.vcpus_total) == (700, 4)
