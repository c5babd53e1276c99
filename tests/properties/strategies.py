"""Random clouds and requests, biased towards edges."""

import json

from hypothesis import strategies as st

from tests.builders.hosts import NEVER_REPORTED
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.numa import FOUR_CORES
from tests.builders.numa import a_cell
from tests.builders.numa import a_guest
from tests.builders.numa import cells_text
from tests.builders.numa import guest_cell
from tests.builders.numa import metadata
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_requests
from tests.builders.pci import pci_stats
from tests.builders.requests import INSTANCE_UUID
from tests.builders.requests import a_group
from tests.builders.requests import a_request

UUIDS = ['m1', 'm2', 'm3', INSTANCE_UUID]
NAMES = ['host0', 'host1', 'host2', 'host3', 'elsewhere']
RATIOS = st.sampled_from([0.5, 1.0, 1.5, 16.0])
AMOUNTS = st.sampled_from([-2048, -1, 0, 1, 511, 512, 1024, 4096, 65536])
CPU_INFO = json.dumps({'vendor': 'Intel', 'topology': {'cores': 2},
                       'maxphysaddr': {'bits': 40}})
TRIPLES = st.lists(st.sampled_from([
    ['x86_64', 'kvm', 'hvm'], ['i386', 'xen', 'pv'], ['aarch64', 'kvm']]),
    max_size=2)
METADATA = st.dictionaries(
    st.sampled_from(['availability_zone', 'ram_weight_multiplier',
                     'io_ops_weight_multiplier']),
    st.sampled_from(['nova', 'z1', 'z1, z2', '', '-2', '3.5', 'bad']))
POOLS = st.lists(st.builds(
    lambda tags, **fields: a_pool(**fields, **tags),
    st.sampled_from([{}, {'dev_type': 'type-PF'}, {'dev_type': 'vdpa'},
                     {'address': '0000:01:00.0', 'dev_type': 'vdpa'},
                     {'remote_managed': 'true'}, {'rp_uuid': 'p1'},
                     {'live_migratable': 'true'}]),
    product_id=st.sampled_from(['1520', '10fb']),
    numa_node=st.sampled_from([None, 0, 1]),
    count=st.sampled_from([0, 1, 2, 99])), max_size=3)
PCI_STATS = st.sampled_from([None, '{', '[{}]']) | POOLS.map(
    json.dumps) | POOLS.map(lambda found: pci_stats(*found))
#: As they stand on whole hosts, where drawing pool by pool would take long.
SOME_PCI_STATS = st.sampled_from([
    None, '{', pci_stats(), json.dumps(a_pool(count=2)),
    pci_stats(a_pool(dev_type='vdpa'), a_pool(numa_node=0)),
    pci_stats(a_pool(dev_type='vdpa', address='0000:01:00.0')),
    pci_stats(a_pool(dev_type='type-PF'), a_pool(count=99, numa_node=1)),
    pci_stats(a_pool(remote_managed='true'),
              a_pool(live_migratable='true', count=2))])


#: A host of each era, and reports that are of none.
SOME_CELLS = st.sampled_from([
    None, '{', '{"cells": []}', cells_text(a_cell()),
    '{"cells": [{"id": 0, "cpus": "0-3", "mem": {"total": 512, "used": 0}}]}',
    cells_text(a_cell(siblings=FOUR_CORES, pinned_cpus={0, 4, 1}),
               a_cell(1, pages=[(4, 1024), (2048, 512)])),
    cells_text(a_cell(siblings=FOUR_CORES, cpuset={0, 4}, pcpuset={1, 2, 5}),
               a_cell(1, cpu_usage=9, networks=['p1'], socket=1),
               a_cell(2, memory_usage=4096, pages=[(2048, 512, 500)])),
    cells_text(a_cell(pinned_cpus={0, 1}), a_cell(1, memory=512), newer=False),
    cells_text(a_cell(siblings=FOUR_CORES, pages=[(4, 9), (1048576, 4)]),
               a_cell(1, memory_usage=4096), newer=False)])
GUESTS = st.lists(st.builds(
    guest_cell, floating=st.integers(0, 3), pinned=st.integers(0, 3),
    id=st.integers(0, 2), memory=st.sampled_from([0, 3, 512, 1024]),
    pagesize=st.sampled_from([None, -3, -2, -1, 2048, 8192]),
    cpu_thread_policy=st.sampled_from([None, 'require', 'isolate'])),
    max_size=3).flatmap(lambda cells: st.builds(
        lambda emulator: a_guest(*cells, emulator=emulator),
        st.sampled_from([None, 'isolate'])))


@st.composite
def host_records(draw):
    """One host, as builders.hosts.a_host makes them."""
    values = {
        'total_usable_ram_mb': max(draw(AMOUNTS), 0),
        'free_ram_mb': draw(AMOUNTS),
        'total_usable_disk_gb': draw(st.sampled_from([0, 1, 40])),
        'free_disk_mb': draw(AMOUNTS),
        'vcpus_total': draw(st.sampled_from([0, 1, 8])),
        'vcpus_used': draw(st.sampled_from([0, 1, 64])),
        'num_io_ops': draw(st.integers(0, 3)),
        'cpu_allocation_ratio': draw(RATIOS),
        'ram_allocation_ratio': draw(RATIOS),
        'disk_allocation_ratio': draw(RATIOS),
        'service_up': draw(st.booleans()),
        'service_disabled': draw(st.booleans()),
        'hypervisor_type': draw(st.sampled_from(['QEMU', 'lxd', None])),
        'hypervisor_version': draw(st.sampled_from([0, 5, 6002000, None])),
        'cpu_info': draw(st.sampled_from([CPU_INFO, '{', None])),
        'stats': draw(st.sampled_from([{}, {'rack': 'r1'}, {'rack': None}])),
        'supported_instances': json.dumps(draw(TRIPLES)),
        'pci_stats': draw(SOME_PCI_STATS),
        'numa_topology': draw(SOME_CELLS),
        'aggregates': draw(st.lists(METADATA, max_size=2)),
    }
    if draw(st.integers(0, 9)) == 0:
        values |= NEVER_REPORTED
    return a_host(**values)


@st.composite
def blocks(draw, min_size=0, max_size=5):
    """A HostBlock of a few hosts, with instances on some of them."""
    records = draw(st.lists(host_records(), min_size=min_size,
                            max_size=max_size))
    running = draw(st.dictionaries(st.sampled_from(UUIDS),
                                   st.sampled_from(NAMES)))
    return hosts(*records, running=running)


SPEC_VALUES = {'hw:maxphysaddr_bits': '40', 'hw:cpu_policy': 'dedicated',
               'hw:cpu_thread_policy': 'require'}
EXTRA_SPECS = st.dictionaries(
    st.sampled_from(['rack', 'free_ram_mb', 'capabilities:rack',
                     'capabilities:cpu_info:vendor', 'capabilities:host_ip',
                     'capabilities:cpu_info:topology:cores', 'hw:x',
                     'capabilities:hypervisor_type',
                     'capabilities:supported_instances',
                     *SPEC_VALUES]),
    st.sampled_from(['r1', 's!= r1', '<in> n', '<or> QEMU <or> lxd', '2']),
    max_size=2).map(lambda specs: {
        key: SPEC_VALUES.get(key, value) for key, value in specs.items()})

IMAGE_PROPERTIES = st.fixed_dictionaries({}, optional={
    'hw_architecture': st.sampled_from(['x86_64', 'i686', 'aarch64']),
    'img_hv_type': st.sampled_from(['kvm', 'xen']),
    'hw_vm_mode': st.sampled_from(['hvm', 'xen']),
    'img_hv_requested_version': st.sampled_from(['>=6', '<6', '>=5,<7']),
    'hw_maxphysaddr_bits': st.sampled_from([0, 40, 41])})


@st.composite
def groups(draw):
    """A server group, of either era."""
    group = a_group(
        draw(st.sampled_from(['affinity', 'anti-affinity'])),
        members=draw(st.lists(st.sampled_from(UUIDS), max_size=3)),
        hosts=draw(st.lists(st.sampled_from(NAMES), max_size=2)),
        rules=draw(st.sampled_from([{}, {'max_server_per_host': 2}])))
    group.wire_version = draw(st.sampled_from(['1.10', '1.11']))
    return group


PCI_REQUESTS = st.lists(st.builds(
    a_pci_request, st.integers(0, 2), st.sampled_from([
        {'vendor_id': '8086'}, {'product_id': '1520'},
        {'dev_type': 'VDPA'}, {'dev_type': 'type-PF'}, {'traits': 'T'},
        {'live_migratable': 'true'}, {'remote_managed': 'true'}]),
    alias_name=st.sampled_from([None, 'alias']),
    numa_policy=st.sampled_from([None, 'required', 'preferred', 'socket'])),
    max_size=2).map(lambda found: pci_requests(*found))


@st.composite
def requests(draw):
    """A RequestSpec that asks for a bit of everything."""
    retry = draw(st.lists(st.tuples(st.sampled_from(NAMES),
                                    st.sampled_from(NAMES)), max_size=2))
    return a_request(
        memory_mb=draw(st.sampled_from([0, 1, 512, 513, 4096])),
        vcpus=draw(st.sampled_from([1, 2, 8, 9])),
        root_gb=draw(st.sampled_from([0, 1, 40])),
        ephemeral_gb=draw(st.sampled_from([0, 1])),
        swap=draw(st.sampled_from([0, 1])),
        availability_zone=draw(st.sampled_from([None, 'nova', 'z1', 'z9'])),
        extra_specs=draw(EXTRA_SPECS),
        image_properties=draw(IMAGE_PROPERTIES), retry=retry or None,
        instance_group=draw(st.none() | groups()),
        pci_requests=draw(st.none() | PCI_REQUESTS),
        numa_topology=draw(st.none() | GUESTS),
        network_metadata=draw(st.none() | st.just(metadata('p1'))))
