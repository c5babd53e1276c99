"""The reasons on the pages are the filters' reasons."""

import json

import pytest

from nova_sched.hosts import instances
from nova_sched.objects import pci
from nova_sched.plugins import loading as plugins
from tests.builders.hosts import a_host
from tests.builders.hosts import table
from tests.builders.numa import a_cell
from tests.builders.numa import a_guest
from tests.builders.numa import cells_text
from tests.builders.numa import guest_cell
from tests.builders.requests import IMAGE_ID
from tests.builders.requests import a_flavor
from tests.builders.requests import a_group
from tests.builders.requests import a_request
from tests.builders.requests import an_image
from tests.builders.rules import configured
from tests.unit import doc_pages

FILTERS = {cls.__name__: cls for cls in plugins.all_filters()}
SMALL = a_host(total_usable_ram_mb=8192, free_ram_mb=1000, vcpus_used=254,
               free_disk_mb=10240, num_io_ops=9, num_instances=50)
NICS = a_host(pci_stats=json.dumps([
    {'vendor_id': '8086', 'product_id': '1520', 'numa_node': 0, 'count': 2,
     'dev_type': 'type-VF'}]))
NIC = {'vendor_id': '8086', 'product_id': '1520'}
NUMA = a_host(numa_topology=cells_text(
    a_cell(0, pinned_cpus=range(5), pages=[(4, 524288), (2048, 1024)]),
    a_cell(1, pinned_cpus=range(6), pages=[(4, 524288), (2048, 1024)])))
#: uuid, host and flavor of running instances.
RUNNING = [('m1', 'compute1', 3), ('m2', 'compute2', 7),
           ('m3', 'compute3', 3), ('m4', 'compute3', 3)]


def group(policy='anti-affinity', version='1.11', **values):
    made = a_group(policy, **values)
    made.wire_version = version
    return {'group': made}


def hints(**values):
    return {'hints': {name: value.split() for name, value in values.items()}}


def devices(*wanted):
    """A request for devices: pairs of a number and their properties."""
    return {'pci_requests': pci.requests_from_any([
        {'count': count, 'spec': [spec], 'alias_name': 'nic',
         'request_id': None} for count, spec in wanted])}


def pinned(count, **values):
    return {'numa_topology': a_guest(guest_cell(pinned=count, **values))}


def aggregate(**metadata):
    return [a_host(aggregates=[metadata])]


#: filter; the hosts, all rejected; the request; options.
CASES = [
    ('RamFilter', [SMALL], {'memory_mb': 6000}, {}),
    ('RamFilter', [SMALL], {'memory_mb': 9000}, {}),
    ('CoreFilter', [SMALL], {'vcpus': 4}, {}),
    ('DiskFilter', [SMALL], {'root_gb': 40}, {}),
    ('ExactRamFilter', [a_host()], {'memory_mb': 16384}, {}),
    ('ExactCoreFilter', [a_host(vcpus_total=0)], {'vcpus': 8}, {}),
    ('IoOpsFilter', [SMALL], {}, {}),
    ('NumInstancesFilter', [SMALL], {}, {}),
    ('ComputeFilter', [a_host(service_up=False)]
     + [a_host(service_disabled=True)] * 18, {}, {}),
    ('AvailabilityZoneFilter', [a_host(), *aggregate(availability_zone='az1')],
     {'availability_zone': 'az9'}, {}),
    ('RetryFilter', [a_host('compute1')],
     {'retry': [('compute1', 'compute1')]}, {}),
    ('DifferentHostFilter', [a_host('compute1'), a_host('compute2')],
     hints(different_host='m1 m2'), {}),
    ('SameHostFilter', [a_host()], hints(same_host='gone'), {}),
    ('SimpleCIDRAffinityFilter', [a_host()],
     hints(build_near_host_ip='10.8.1.100'), {}),
    ('ServerGroupAntiAffinityFilter', [a_host('compute1')],
     group(members=['m1']), {}),
    ('ServerGroupAntiAffinityFilter', [a_host('compute3')],
     group(members=['m3', 'm4'], rules={'max_server_per_host': 2}), {}),
    ('ServerGroupAntiAffinityFilter', [a_host('compute1')],
     group(version='1.10', hosts=['compute1']), {}),
    ('ServerGroupAffinityFilter', [a_host('compute2')],
     group('affinity', hosts=['compute1']), {}),
    ('AggregateTypeAffinityFilter',
     aggregate(instance_type='m1.gold,m1.silver'), {}, {}),
    ('TypeAffinityFilter', [a_host('compute1'), a_host('compute2')],
     {'flavor': a_flavor(id=5)}, {}),
    ('IsolatedHostsFilter', [a_host()], {'image': an_image()},
     {'isolated_images': [IMAGE_ID],
      'isolated_hosts': ['compute7', 'compute8']}),
    ('IsolatedHostsFilter', [a_host('compute7')], {'image': None},
     {'isolated_images': [IMAGE_ID], 'isolated_hosts': ['compute7']}),
    ('ComputeCapabilitiesFilter', [a_host(cpu_info='{"features": ["aes"]}')],
     {'extra_specs': {'capabilities:cpu_info:features': '<in> avx512f'}}, {}),
    ('ImagePropertiesFilter', [a_host()],
     {'image_properties': {'hw_architecture': 'aarch64'}}, {}),
    ('ImagePropertiesFilter', [a_host()], {'image_properties': {
        'img_hv_type': 'kvm', 'img_hv_requested_version': '>=9'}}, {}),
    ('AggregateInstanceExtraSpecsFilter', aggregate(disk='hdd'),
     {'extra_specs': {'aggregate_instance_extra_specs:disk': 'ssd'}}, {}),
    ('AggregateImagePropertiesIsolation', aggregate(os_distro='windows'),
     {'image_properties': {'os_distro': 'debian'}}, {}),
    ('AggregateMultiTenancyIsolation', aggregate(filter_tenant_id='p1,p2'),
     {'project_id': 'p3'}, {}),
    ('JsonFilter', [a_host(free_ram_mb=500), a_host(free_ram_mb=700)],
     {'hints': {'query': ['[">=", "$free_ram_mb", 1024]']}}, {}),
    ('MetricsFilter',
     [a_host(metrics='[{"name": "cpu.frequency", "value": 1}]')], {},
     {'metrics__weight_setting': ['cpu.percent=-1.0']}),
    ('PciPassthroughFilter', [NICS], devices((4, NIC)), {}),
    ('PciPassthroughFilter', [NICS],
     devices((2, NIC), (1, {'vendor_id': '8086'})), {}),
    ('NUMATopologyFilter', [a_host()], pinned(4, memory=4096), {}),
    ('NUMATopologyFilter', [NUMA], pinned(4, memory=4096, pagesize=2048), {}),
    ('NUMATopologyFilter', [NUMA], {'extra_specs': {
        'hw:cpu_policy': 'dedicated', 'hw:cpu_thread_policy': 'require'}},
     {}),
    ('TrustedFilter', [a_host()],
     {'extra_specs': {'trust:trusted_host': 'trusted'}}, {}),
]


def reason(name, records, wanted, options):
    """The reason of a filter that rejects all hosts."""
    rule, spec = configured(FILTERS[name], **options), a_request(**wanted)
    block = table(*records).snapshot(instances.Instances(
        lambda uuids: {uuid: host for uuid, host, _ in RUNNING
                       if uuid in uuids},
        lambda *names: [{'uuid': uuid, 'host': host,
                         'instance_type_id': flavor}
                        for uuid, host, flavor in RUNNING])).block()
    assert not rule.keep(block, spec).any()
    return rule.reason(block, spec)


@pytest.mark.parametrize('name, records, wanted, options', CASES)
def test_the_reason_of_a_filter_is_on_its_page(name, records, wanted, options):
    assert (name, reason(name, records, wanted, options)) in (
        doc_pages.reasons())


def test_pages_have_no_other_reasons():
    assert len(doc_pages.reasons()) == len(CASES)
