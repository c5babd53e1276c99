"""When each built-in filter runs, and that it logs each rejected host once.

Each filter passes the host good, and rejects the host bad, for some request.
"""

import functools
import logging

import pytest

from nova_sched.plugins import loading
from tests.builders import numa
from tests.builders import pci
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import picks
from tests.builders.hosts import a_host
from tests.builders.requests import a_request

RUNNING = {'m1': {'host': 'bad', 'instance_type_id': 9},
           'm2': {'host': 'good', 'instance_type_id': 5}}
SMALL = {'total_usable_ram_mb': 256, 'free_ram_mb': 256, 'free_disk_mb': 0,
         'vcpus_used': 256}

#: Filter -> columns of the host bad, the request, options.
REJECTING = {
    'AggregateCoreFilter': (SMALL, {}, {}),
    'AggregateDiskFilter': (SMALL, {}, {}),
    'AggregateImagePropertiesIsolation': (
        {'aggregates': [{'os_distro': 'windows'}]},
        {'image_properties': {'os_distro': 'debian'}}, {}),
    'AggregateInstanceExtraSpecsFilter': (
        {'aggregates': [{'ssd': 'no'}]},
        {'extra_specs': {'aggregate_instance_extra_specs:ssd': 'yes'}}, {}),
    'AggregateIoOpsFilter': ({'num_io_ops': 9}, {}, {}),
    'AggregateMultiTenancyIsolation': (
        {'aggregates': [{'filter_tenant_id': 'other'}]}, {}, {}),
    'AggregateNumInstancesFilter': ({'num_instances': 50}, {}, {}),
    'AggregateRamFilter': (SMALL, {}, {}),
    'AggregateTypeAffinityFilter': (
        {'aggregates': [{'instance_type': 'm1.huge'}]}, {}, {}),
    'AvailabilityZoneFilter': (
        {'aggregates': [{'availability_zone': 'z1'}]},
        {'availability_zone': 'nova'}, {}),
    'ComputeCapabilitiesFilter': (
        {'hypervisor_type': 'xen'},
        {'extra_specs': {'capabilities:hypervisor_type': 'QEMU'}}, {}),
    'ComputeFilter': ({'service_up': False}, {}, {}),
    'CoreFilter': (SMALL, {}, {}),
    'DifferentHostFilter': ({}, {'hints': {'different_host': ['m1']}}, {}),
    'DiskFilter': (SMALL, {}, {}),
    'ExactCoreFilter': ({}, {'vcpus': 16}, {}),
    'ExactDiskFilter': ({}, {'root_gb': 500}, {}),
    'ExactRamFilter': ({}, {'memory_mb': 32768}, {}),
    'ImagePropertiesFilter': (
        {'supported_instances': '[["i686", "kvm", "hvm"]]'},
        {'image_properties': {'hw_architecture': 'x86_64'}}, {}),
    'IoOpsFilter': ({'num_io_ops': 9}, {}, {}),
    'IsolatedHostsFilter': (
        {}, {}, {'isolated_hosts': ['bad'], 'isolated_images': ['x']}),
    'JsonFilter': ({}, {'hints': {'query': ['["=", "$host", "good"]']}}, {}),
    'MetricsFilter': (
        {'metrics': None}, {}, {'metrics__weight_setting': ['m=1.0']}),
    'NUMATopologyFilter': (
        {'numa_topology': None},
        {'numa_topology': numa.a_guest(numa.guest_cell(floating=1))}, {}),
    'NumInstancesFilter': ({'num_instances': 50}, {}, {}),
    'PciPassthroughFilter': (
        {'pci_stats': '[]'},
        {'pci_requests': pci.pci_requests(pci.a_pci_request())}, {}),
    'RamFilter': (SMALL, {}, {}),
    'RetryFilter': ({}, {'retry': [('bad', 'bad')]}, {}),
    'SameHostFilter': ({}, {'hints': {'same_host': ['m2']}}, {}),
    'ServerGroupAffinityFilter': (
        {}, {'group': {'policy': 'affinity', 'hosts': ['good']}}, {}),
    'ServerGroupAntiAffinityFilter': ({}, {'group': {'members': ['m1']}}, {}),
    'SimpleCIDRAffinityFilter': (
        {'host_ip': '198.51.100.1'},
        {'hints': {'build_near_host_ip': '192.0.2.9'}}, {}),
    'TypeAffinityFilter': ({}, {}, {}),
}

#: Filters that run only for the first instance of a request.
ONCE = {
    'AggregateImagePropertiesIsolation', 'AggregateInstanceExtraSpecsFilter',
    'AggregateMultiTenancyIsolation', 'AggregateTypeAffinityFilter',
    'AllHostsFilter', 'AvailabilityZoneFilter', 'ComputeCapabilitiesFilter',
    'ComputeFilter', 'DifferentHostFilter', 'ImagePropertiesFilter',
    'IsolatedHostsFilter', 'SameHostFilter', 'SimpleCIDRAffinityFilter',
    'TrustedFilter'}
#: Filters that run for rebuilds, because they depend on the image.
ON_REBUILD = {'AggregateImagePropertiesIsolation', 'ImagePropertiesFilter',
              'IsolatedHostsFilter'}


def hosts_for(name):
    """The hosts bad and good for a filter."""
    host = REJECTING[name][0]
    good = {'aggregates': [{'ssd': 'yes'}],
            'metrics': '[{"name": "m", "value": 1}]',
            'numa_topology': numa.cells_text(numa.a_cell()),
            'pci_stats': pci.pci_stats(pci.a_pool())}
    if name.startswith('Exact'):
        host = {'vcpus_total': 15, 'free_disk_mb': 1, 'free_ram_mb': 1}
    return a_host('bad', **good | host), a_host('good', **good)


@functools.cache
def scheduler(name):
    """A driver with one filter, on its hosts."""
    return MemoryScheduler(
        *hosts_for(name), running=RUNNING, enabled_filters=[name],
        weight_classes=[], **REJECTING[name][2])


def answer(name, **fields):
    """The picks for a request for which the filter rejects the host bad."""
    request = {**REJECTING[name][1]}
    hints = request.pop('hints', {}) | fields.pop('hints', {})
    return picks(scheduler(name), a_request(hints=hints, **request, **fields))


def test_the_table_is_complete():
    built_in = {cls.__name__ for cls in loading.all_filters()}

    assert built_in - REJECTING.keys() == {'AllHostsFilter', 'TrustedFilter'}
    assert built_in >= REJECTING.keys() | ONCE | ON_REBUILD


@pytest.mark.parametrize('name', REJECTING)
def test_debug_has_one_line_for_a_rejected_host(name, caplog):
    """Lines about both hosts do not count."""
    with caplog.at_level(logging.DEBUG, 'nova_sched'):
        assert answer(name) == ['good']

    lines = [line for line in caplog.messages if 'bad' in line
            and line.replace('bad', 'good') not in caplog.messages
            and not line.startswith(('Filter', 'Weighed'))]
    general = [line for line in lines if ' is rejected by ' in line]
    assert len(lines) == 1 or (lines and not general)


@pytest.mark.parametrize('name', REJECTING)
def test_only_filters_of_images_run_for_rebuilds(name):
    picked = answer(name, hints={'_nova_check_type': ['rebuild']})

    assert picked == ['good' if name in ON_REBUILD else 'bad']


def test_some_filters_run_for_the_first_instance_only():
    names = sorted(cls.__name__ for cls in loading.all_filters()
                   if not cls.__name__.startswith('Exact'))
    driver = MemoryScheduler(a_host(), enabled_filters=names)

    picks(driver, a_request(num_instances=2))

    ran = [{step.name for step in driver.decision.funnel.steps
            if step.index == index} for index in range(2)]
    assert ran == [{*names}, {*names} - ONCE]
