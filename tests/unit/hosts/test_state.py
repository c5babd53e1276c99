"""A host as plug-ins see it."""

import datetime
import json

import pytest

from nova_sched.hosts.allocation_candidates import NO_CANDIDATES
from tests.builders.hosts import NEVER_REPORTED
from tests.builders.hosts import NOW
from tests.builders.hosts import a_host
from tests.builders.hosts import an_aggregate
from tests.builders.hosts import hosts
from tests.builders.numa import a_cell
from tests.builders.numa import cells_text
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_stats
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

    assert state.aggregates == [aggregate]
    assert set(state.instances) == {'u'}
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
