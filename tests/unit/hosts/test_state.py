"""A host as plug-ins see it, and values that they set on it."""

import datetime
import json
import types

import numpy as np
import pytest

from nova_sched.hosts.allocation_candidates import NO_CANDIDATES
from nova_sched.hosts.state import HostState
from tests.builders.hosts import NEVER_REPORTED
from tests.builders.hosts import NOW
from tests.builders.hosts import a_host
from tests.builders.hosts import an_aggregate
from tests.builders.hosts import hosts
from tests.builders.hosts import table as table_of
from tests.builders.numa import a_cell
from tests.builders.numa import cells_text
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_stats
from tests.builders.requests import a_flavor
from tests.builders.requests import a_request


def a_state(*args, **values):
    state, = hosts(a_host(*args, **values)).states()
    return state


def test_shows_plain_python_values():
    state = a_state(cpu_allocation_ratio=2.0)

    assert type(state.free_ram_mb) is int
    assert type(state.cpu_allocation_ratio) is float
    assert type(state.service_up) is bool
    assert state.hypervisor_hostname == state.nodename


def test_has_lists_of_supported_instances():
    assert a_state().supported_instances == [['x86_64', 'kvm', 'hvm']]
    assert a_state(supported_instances=None).supported_instances == []


def test_has_metrics_as_objects():
    metric, = a_state(metrics=json.dumps([
        {'name': 'cpu.percent', 'value': 0.5, 'source': 'libvirt.LibvirtDrv',
         'timestamp': '2026-01-02T03:04:05'}])).metrics

    assert (metric.name, metric.value, metric.source) == (
        'cpu.percent', 50, 'libvirt.LibvirtDrv')
    assert metric.timestamp.isoformat() == '2026-01-02T03:04:05+00:00'


def test_was_updated_at_a_time_in_utc():
    """With its time zone, as in Nova."""
    assert a_state(updated=NOW).updated == datetime.datetime(
        2023, 11, 14, 22, 13, 20, tzinfo=datetime.UTC)


def test_is_updated_when_it_is_given_an_instance():
    state = a_state()
    before = state.updated

    state.block().snapshot.consume(0, a_request(), NOW + 60)

    assert state.updated - before == datetime.timedelta(minutes=1)


@pytest.mark.parametrize(('name', 'value'), [
    ('stats', {}), ('supported_instances', None),
    ('updated', None), ('pci_stats', None), ('numa_topology', None),
    ('uuid', None), ('free_ram_mb', 0)])
def test_without_a_report_has_defaults(name, value):
    assert getattr(a_state(**NEVER_REPORTED), name) == value
    assert a_state(**NEVER_REPORTED).metrics.to_list() == []


def test_shows_aggregates_and_instances():
    aggregate = an_aggregate({'a': 'b'})
    state, other = hosts(a_host('h', aggregates=[aggregate]),
                         a_host('i'), running={'u': 'h'}).states()

    assert (state.aggregates, set(state.instances)) == ([aggregate], {'u'})
    assert other.aggregates == [] == list(other.instances)


def test_shows_its_service_as_a_mapping():
    state = a_state(disabled_reason='moving')

    assert state.service['disabled_reason'] == 'moving'
    assert state.service['topic'] == 'compute'
    assert state.service['last_seen_up'] == state.updated


def test_knows_whether_it_has_devices():
    devices = a_state(pci_stats=pci_stats(a_pool(count=2))).pci_stats

    assert devices.pools == [a_pool(count=2)]
    assert devices.support_requests([a_pci_request(2)])
    assert not devices.support_requests([a_pci_request(2), a_pci_request()])


def test_knows_whether_devices_are_near_its_cells():
    devices = a_state(
        numa_topology=cells_text(*(a_cell(i, socket=i) for i in range(2))),
        pci_stats=pci_stats(a_pool(numa_node=0))).pci_stats

    for policy in ('required', 'socket'):
        requests = [a_pci_request(numa_policy=policy)]
        assert devices.support_requests(requests, None, [a_cell(0)])
        assert not devices.support_requests(requests, None, [a_cell(1)])
        assert devices.support_requests(requests, numa_cells=[])


def test_keeps_own_attributes_for_the_request():
    block = hosts(a_host())
    block.states()[0].mark = 7

    assert block.states()[0].mark == 7
    with pytest.raises(AttributeError):
        a_state().mark  # noqa: B018


@pytest.mark.parametrize('name', ['free_ram_mb', 'stats', 'updated'])
def test_may_have_its_attributes_set_for_the_request(name):
    """Built-in rules keep the report if no column can hold the value."""
    block = hosts(a_host())
    reported = block.objects(name)
    setattr(block.states()[0], name, 'mine')

    assert getattr(block.states()[0], name) == 'mine'
    assert block.objects(name) == reported


def test_is_printed_as_in_nova():
    """With Placement's candidates if there are any."""
    state = a_state('h', nodename='n', free_ram_mb=1, free_disk_mb=2,
                    num_io_ops=3, num_instances=4)

    text = '(h, n) ram: 1MB disk: 2MB io_ops: 3 instances: 4'
    assert str(state) == text
    state._snapshot.offer = NO_CANDIDATES
    assert str(state) == text + ', allocation_candidates: 0'


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
