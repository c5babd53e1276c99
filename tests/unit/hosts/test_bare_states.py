"""Host states that plug-ins make, and their methods."""

import types

import pytest

from nova_sched import exception
from nova_sched.hosts.state import HostState
from nova_sched.scheduler.filters.ram_filter import RamFilter
from tests.builders import hosts
from tests.builders import numa
from tests.builders import requests
from tests.builders.hosts import a_host
from tests.builders.rules import configured

COMPUTE = types.SimpleNamespace(
    uuid='u', memory_mb=4096, free_ram_mb=3000, local_gb=20, local_gb_used=3,
    free_disk_gb=10, disk_available_least=7, vcpus=8, vcpus_used=2,
    stats={'num_instances': '5', 'io_workload': '1'})


def test_a_state_without_a_table_has_novas_defaults():
    state = HostState('h', 'n', 'c')

    assert (state.host, state.nodename, state.cell_uuid) == ('h', 'n', 'c')
    assert (state.free_ram_mb, state.num_instances) == (0, 0)
    assert (state.limits, state.instances, state.aggregates) == ({}, {}, [])
    assert state.updated is state.metrics is state.uuid is None
    for name in ('service', 'stats', 'unknown'):
        with pytest.raises(AttributeError):
            getattr(state, name)
    assert repr(state).startswith('(h, n) ram: 0MB')


def test_update_sets_its_arguments_only():
    state = HostState('h', 'n', compute=COMPUTE)
    state.update_service({'disabled': True})
    assert state.service == {'disabled': True}
    state.update(service={'disabled': False}, aggregates=['an aggregate'],
                 inst_dict={'i': 'an instance'})

    assert (state.total_usable_ram_mb, state.free_ram_mb) == (4096, 3000)
    assert (state.free_disk_mb, state.disk_mb_used) == (7168, 3072)
    assert (state.num_instances, state.num_io_ops) == (5, 1)
    assert (state.service, state.aggregates, state.instances) == (
        {'disabled': False}, ['an aggregate'], {'i': 'an instance'})
    assert state.host_ip is None


def test_an_override_of_update_from_compute_node_is_called():
    class Own(HostState):
        def _update_from_compute_node(self, compute):
            super()._update_from_compute_node(compute)
            self.free_ram_mb += 1

    state = Own('h', 'n')
    state.update_from_compute_node(COMPUTE)
    assert state.free_ram_mb == 3001
    state.update(COMPUTE)
    assert state.free_ram_mb == 3001


def test_a_state_without_a_table_can_be_consumed():
    state = HostState('h', 'n', compute=COMPUTE)
    state.consume_from_request(
        requests.a_request(memory_mb=1000, vcpus=3, root_gb=1))

    assert (state.free_ram_mb, state.vcpus_used) == (2000, 5)
    assert (state.num_instances, state.num_io_ops) == (6, 2)
    assert state.updated is not None


#: instance_properties of Kilo.
PROPERTIES = {'root_gb': 1, 'ephemeral_gb': 1, 'memory_mb': 1000, 'vcpus': 3,
              'uuid': 'an-instance', 'vm_state': 'building'}


@pytest.mark.parametrize('state', [
    HostState('h', 'n', compute=COMPUTE),
    hosts.table(a_host('a', free_ram_mb=3000, free_disk_mb=7168, vcpus_used=2,
                       num_instances=5, num_io_ops=1)).snapshot(
        hosts.instances_on({}, {})).state(0)])
def test_states_can_be_consumed_by_instance_properties_of_kilo(state):
    properties = dict(PROPERTIES)
    state.consume_from_instance(properties)

    assert (state.free_ram_mb, state.free_disk_mb) == (2000, 5120)
    assert (state.vcpus_used, state.num_instances, state.num_io_ops) == (
        5, 6, 2)
    assert properties == PROPERTIES


def test_consumed_numa_cells_are_written_to_the_properties():
    cells = [{'id': 0, 'cpuset': [0, 1], 'memory': 512}]
    properties = PROPERTIES | {'numa_topology': {'cells': cells}}
    table = hosts.table(a_host('a', numa_topology=numa.cells_text(
        numa.a_cell(id=3, cpus=range(4), pages=[(4, 1 << 20)]))))
    state = table.snapshot(hosts.instances_on({}, {})).state(0)
    for _ in range(2):
        state.consume_from_instance(properties)

    [cell] = properties['numa_topology'].cells
    assert cell.id == 3
    assert '"cpu_usage": 4' in state.numa_topology


def test_properties_without_a_size_are_refused_by_its_name():
    with pytest.raises(exception.InvalidInput, match='memory_mb'):
        HostState('h', 'n').consume_from_instance({'vcpus': 1})


def test_a_built_in_filter_refuses_it_with_advice():
    rule = configured(RamFilter)

    with pytest.raises(TypeError, match=r'by HostState.* yours from'):
        rule.host_passes(HostState('h', 'n'), requests.a_request())
