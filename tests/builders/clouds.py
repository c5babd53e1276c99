"""Rows of a cloud in its JSON form, with valid defaults.

All builders take columns as keywords; nova_sched.cloud.file loads the result
of a_cloud.
"""

import itertools
import json
import uuid

NOW = '2026-04-03T09:40:41'
CELL_UUID = '00000000-0000-0000-0000-0000000000c1'

_numbers = itertools.count(1)


def a_uuid(number=None):
    """A valid uuid: a new one at each call, or the uuid of a number."""
    number = next(_numbers) << 32 if number is None else number
    return str(uuid.UUID(int=number, version=4))


def a_compute_node(host='host1', **columns):
    """A healthy, empty KVM host: 16 VCPUs, 32 GB of memory, 500 GB of disk."""
    row = {
        'uuid': a_uuid(),
        'host': host,
        'hypervisor_hostname': host,
        'service_id': None,
        'vcpus': 16, 'vcpus_used': 0,
        'memory_mb': 32768, 'memory_mb_used': 512,
        'local_gb': 500, 'local_gb_used': 0,
        'free_ram_mb': 32256,
        'free_disk_gb': 500,
        'disk_available_least': 475,
        'current_workload': 0,
        'running_vms': 0,
        'hypervisor_type': 'QEMU',
        'hypervisor_version': 8002002,
        'cpu_info': json.dumps({
            'arch': 'x86_64', 'model': 'Skylake', 'vendor': 'Intel',
            'topology': {'cells': 1, 'sockets': 1, 'cores': 8, 'threads': 2},
            'features': ['aes', 'vmx']}),
        'host_ip': '192.0.2.1',
        'supported_instances': '[["x86_64", "kvm", "hvm"]]',
        'pci_stats': None,
        'metrics': '[]',
        'extra_resources': None,
        'stats': json.dumps({'failed_builds': '0', 'num_instances': '0',
                             'io_workload': '0'}),
        'numa_topology': None,
        'ram_allocation_ratio': 1.0,
        'cpu_allocation_ratio': 4.0,
        'disk_allocation_ratio': 1.0,
        'mapped': 1,
        'created_at': NOW, 'updated_at': NOW,
        'deleted_at': None, 'deleted': 0,
    }
    return {**row, **columns}


def a_service(host='host1', **columns):
    """An enabled nova-compute service that was just seen."""
    row = {
        'uuid': a_uuid(),
        'host': host,
        'binary': 'nova-compute',
        'topic': 'compute',
        'report_count': 1,
        'disabled': False,
        'disabled_reason': None,
        'last_seen_up': NOW,
        'forced_down': False,
        'version': 74,
        'created_at': NOW, 'updated_at': NOW,
        'deleted_at': None, 'deleted': 0,
    }
    return {**row, **columns}


def an_instance(host='host1', **columns):
    """An active server with 2 VCPUs, 2 GB of memory and 20 GB of disk."""
    row = {
        'uuid': a_uuid(),
        'host': host,
        'node': host,
        'compute_id': None,
        'project_id': 'project1',
        'user_id': 'user1',
        'vm_state': 'active',
        'task_state': None,
        'power_state': 1,
        'memory_mb': 2048,
        'vcpus': 2,
        'root_gb': 20,
        'ephemeral_gb': 0,
        'instance_type_id': 1,
        'image_ref': a_uuid(7),
        'availability_zone': None,
        'created_at': NOW, 'updated_at': None,
        'deleted_at': None, 'deleted': 0,
    }
    return {**row, **columns}


def an_aggregate(id=1, hosts=('host1',), **entries):
    """An aggregate without metadata; give metadata={...} for some."""
    aggregate = {'id': id, 'uuid': a_uuid(), 'name': f'aggregate{id}',
                 'hosts': list(hosts), 'metadata': {}}
    return {**aggregate, **entries}


def a_group(id=1, members=(), **entries):
    """An anti-affinity server group in the form of current Nova."""
    group = {'id': id, 'uuid': a_uuid(), 'name': f'group{id}',
             'project_id': 'project1', 'user_id': 'user1',
             'policy': 'anti-affinity', 'rules': None,
             'members': list(members)}
    return {**group, **entries}


def a_cloud(hosts=3, **lists):
    """A cloud of healthy empty hosts host1, host2, ... at the time NOW.

    hosts: their number, their names, or a dict of name to uuid.
    lists: replace whole default lists, for example
    aggregates=[an_aggregate()].
    """
    if isinstance(hosts, int):
        hosts = [f'host{number}' for number in range(1, hosts + 1)]
    if not isinstance(hosts, dict):
        hosts = {host: a_uuid() for host in hosts}
    cloud = {
        'now': NOW,
        'compute_nodes': [a_compute_node(host, uuid=uuid)
                          for host, uuid in hosts.items()],
        'services': [a_service(host) for host in hosts],
        'instances': [],
        'instance_system_metadata': [],
        'aggregates': [],
        'instance_groups': [],
        'cells': [{'uuid': CELL_UUID, 'name': 'cell1'}],
        'host_mappings': [{'host': host, 'cell_uuid': CELL_UUID}
                          for host in hosts],
    }
    return {**cloud, **lists}
