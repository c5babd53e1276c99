"""Bare-metal nodes are whole machines."""

import pytest

from nova_sched.scheduler import ironic_host_manager
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import requests

FULL_STATS = ('{"num_instances": "3", "io_workload": "2", '
              '"failed_builds": "4", "rack": "r1"}')


def a_node(name, **columns):
    """A bare-metal node of the compute host ``metal``."""
    return clouds.a_compute_node('metal', **{
        'hypervisor_hostname': name, 'hypervisor_type': 'ironic',
        'vcpus': 8, 'memory_mb': 4096, 'free_ram_mb': 4096, 'local_gb': 100,
        'free_disk_gb': 100, 'disk_available_least': None, **columns})


@pytest.fixture
def states(cloud):
    """Function: load these nodes, return their host states by node name."""
    def states(*nodes, **lists):
        cloud.load_nodes(*nodes, **lists)
        manager = ironic_host_manager.IronicHostManager(cloud.conf())
        manager.refresh()
        hosts = manager.snapshot(manager.view().table,
                                 manager.instances()).block()
        return {state.nodename: state for state in hosts.states()}
    return states


class TestBareMetalNode:
    @pytest.mark.parametrize('name, value', [
        ('vcpus_total', 8), ('total_usable_ram_mb', 4096),
        ('free_ram_mb', 4096), ('total_usable_disk_gb', 100),
        ('free_disk_mb', 100 * 1024), ('failed_builds', 4),
        ('hypervisor_type', 'ironic'), ('cpu_allocation_ratio', 4.0),
        ('supported_instances', [['x86_64', 'kvm', 'hvm']]),
        # No load, and no attributes of hypervisors.
        ('num_instances', 0), ('num_io_ops', 0), ('disk_mb_used', 0),
        ('host_ip', None), ('numa_topology', None)])
    def test_shows_the_machine(self, states, name, value):
        state = states(a_node('n1', stats=FULL_STATS, local_gb_used=7,
                              numa_topology='{}'))['n1']

        assert getattr(state, name) == value
        assert state.stats['rack'] == 'r1'

    def test_has_the_free_disk_of_its_report(self, states, caplog):
        """disk_available_least, of hypervisors, does not count."""
        state = states(a_node('n1', disk_available_least=300))['n1']

        assert state.free_disk_mb == 100 * 1024
        assert 'more disk space' not in caplog.text

    def test_without_a_report_is_empty(self, states):
        state = states(a_node('n1', free_disk_gb=None))['n1']

        assert (state.free_ram_mb, state.vcpus_total, state.uuid) == (
            0, 0, None)

    def test_has_no_instances(self, states):
        """Though the database has some on its compute host, for groups."""
        running = clouds.an_instance('metal')
        state = states(a_node('n1'), instances=[running])['n1']
        found = state.block().snapshot.instances

        assert state.instances == {}
        assert found.located([running['uuid']]) == {}
        assert found.running([running['uuid']]) == {running['uuid']: 'metal'}


def test_other_nodes_are_plain_hosts(states):
    running = clouds.an_instance('kvm')
    state = states(a_node('n1'), clouds.a_compute_node('kvm'),
                   instances=[running])['kvm']

    assert state.free_disk_mb == 475 * 1024
    assert state.host_ip == '192.0.2.1'
    assert list(state.instances) == [running['uuid']]


class TestPlacing:
    def test_takes_a_bare_metal_node_whole(self, states):
        state = states(a_node('n1'))['n1']

        state.block().snapshot.consume(
            0, requests.a_request(memory_mb=1, vcpus=1), 5.0)

        assert (state.free_ram_mb, state.free_disk_mb, state.vcpus_used,
                state.num_instances, state.num_io_ops) == (0, 0, 8, 0, 0)

    @pytest.mark.parametrize(('name', 'calls'), [
        ('filter_scheduler', ['ab']), ('caching_scheduler', ['ab']),
        ('caching_scheduler', ['a', 'b'])])
    def test_puts_one_instance_on_each_node(self, cloud, name, calls):
        """With the caching driver until the node reports."""
        cloud.load_nodes(a_node('n1'), a_node('n2'))
        driver, found = cloud.driver(name, scheduler__host_manager=(
            'ironic_host_manager'), enabled_filters=['RamFilter']), []
        for uuids in calls:
            found += drivers.select(
                driver, requests.a_request(memory_mb=4096), [*uuids])
            driver.run_periodic_tasks(None)

        assert {selection.nodename for selection, in found} == {'n1', 'n2'}


@pytest.mark.parametrize('options, names', [
    ({'use_baremetal_filters': True}, ['RamFilter']),
    ({'use_baremetal_filters': False}, ['ComputeFilter']),
    ({'use_baremetal_filters': True,
      'scheduler__host_manager': 'host_manager'}, ['ComputeFilter'])])
def test_filters_may_have_a_list_of_their_own(cloud, options, names):
    cloud.load_nodes(a_node('n1'))
    driver = cloud.driver(**{
        'scheduler__host_manager': 'ironic_host_manager',
        'enabled_filters': ['ComputeFilter'],
        'baremetal_enabled_filters': ['RamFilter'], **options})

    assert [type(rule).__name__ for rule in driver.ranker.filters] == names
