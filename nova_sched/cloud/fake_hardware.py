"""Realistic rows of compute nodes, with the texts a compute service writes.

``fake_hardware.toml`` has types of machine, which are chosen at random.
"""

import collections
import functools
import json
import uuid

from nova_sched import toml_files

# memory_mb MiB, local_gb GiB; vcpus is sockets * cores * threads.
Profile = collections.namedtuple(
    'Profile', 'arch vendor model sockets cores threads memory_mb local_gb '
    'hypervisor_version features numa pci weight')

_TABLE = toml_files.read('fake_hardware.toml', __package__)
PROFILES = tuple(Profile(**row | {'features': tuple(row['features'])})
                 for row in _TABLE['profiles'])

# Reserved on a compute node: MiB of memory (Nova's default), and the percent
# of the disk that images and overhead take.
RESERVED_MB = 512
_DISK_OVERHEAD_PERCENT = 5


def host_name(number):
    """Return the name of a host by its number, from 1: fake-0001."""
    return f'fake-{number:04d}'


def compute_node(number, rng, now, huge_pages=0, ram_ratio=1.0):
    """Return a row of compute_nodes without instances.

    rng: random.Random for the profile and the uuid.  now: text.
    huge_pages: percent of the memory of NUMA cells in pages of 2 MB.
    ram_ratio: how often memory is given away.
    """
    profile = rng.choices(PROFILES, [p.weight for p in PROFILES])[0]
    row = {
        'id': number,
        'uuid': random_uuid(rng),
        'host': host_name(number),
        'hypervisor_hostname': host_name(number),
        'vcpus': profile.sockets * profile.cores * profile.threads,
        'memory_mb': profile.memory_mb,
        'local_gb': profile.local_gb,
        'current_workload': 0,
        'hypervisor_type': 'QEMU',
        'hypervisor_version': profile.hypervisor_version,
        'host_ip': f'10.{number >> 16 & 255}.{number >> 8 & 255}'
                   f'.{number & 255}',
        'metrics': '[]',
        'cpu_allocation_ratio': 4.0,
        'ram_allocation_ratio': ram_ratio,
        'disk_allocation_ratio': 1.0,
        'mapped': 1,
        'created_at': now,
        'updated_at': now,
        **_texts(profile, huge_pages),
    }
    row.update(usage(row, []))
    return row


def random_uuid(rng):
    """Return a uuid4 from a random.Random: text."""
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


@functools.cache
def _texts(profile, huge_pages):
    cpu_info = {
        'arch': profile.arch, 'model': profile.model,
        'vendor': profile.vendor,
        'topology': {'cells': profile.sockets, 'sockets': 1,
                     'cores': profile.cores, 'threads': profile.threads},
        'features': list(profile.features)}
    return {
        'cpu_info': json.dumps(cpu_info),
        'supported_instances': json.dumps(
            _TABLE['supported'][profile.arch]),
        'numa_topology': (_numa(profile, huge_pages)
                          if profile.numa else None),
        'pci_stats': json.dumps(_object(
            'PciDevicePoolList', '1.1',
            {'objects': [_pci_pool()] if profile.pci else []})),
    }


def _object(name, version, data):
    return {'nova_object.name': name, 'nova_object.namespace': 'nova',
            'nova_object.version': version, 'nova_object.data': data,
            'nova_object.changes': list(data)}


def _pci_pool():
    return _object('PciDevicePool', '1.1', {
        'product_id': '1018', 'vendor_id': '15b3', 'numa_node': 0,
        'tags': {'dev_type': 'type-VF', 'physical_network': 'physnet0'},
        'count': 16})


def _numa(profile, huge_pages):
    """Return a NUMA topology with a cell per socket: JSON text.

    The threads of core n are n, n + cores, and so on.
    huge_pages: percent of a cell's memory.
    """
    per_cell = profile.memory_mb // profile.sockets
    huge = per_cell * huge_pages // 100 // 2
    all_cores = profile.sockets * profile.cores
    cells = []
    for cell in range(profile.sockets):
        cores = range(cell * profile.cores, (cell + 1) * profile.cores)
        siblings = [[core + thread * all_cores
                     for thread in range(profile.threads)] for core in cores]
        cells.append(_object('NUMACell', '1.5', {
            'id': cell,
            'cpuset': sorted(cpu for pair in siblings for cpu in pair),
            'pcpuset': [],
            'memory': per_cell, 'cpu_usage': 0, 'memory_usage': 0,
            'pinned_cpus': [], 'siblings': siblings,
            'mempages': [_pages(4, (per_cell - 2 * huge) * 256),
                         _pages(2048, huge)],
            'network_metadata': _object('NetworkMetadata', '1.0', {
                'physnets': ['physnet0'], 'tunneled': False}),
            'socket': cell}))
    return json.dumps(_object('NUMATopology', '1.2', {'cells': cells}))


def _pages(size_kb, total):
    return _object('NUMAPagesTopology', '1.1', {
        'size_kb': size_kb, 'total': total, 'used': 0, 'reserved': 0})


def usage(node, instances):
    """Return the usage columns of a node with these instances.

    node: its totals vcpus, memory_mb (MiB), local_gb (GiB).  instances: rows
    with vcpus, memory_mb, root_gb, ephemeral_gb, vm_state, task_state,
    project_id, os_type.
    """
    memory = RESERVED_MB + sum(i['memory_mb'] or 0 for i in instances)
    disk = sum((i['root_gb'] or 0) + (i['ephemeral_gb'] or 0)
               for i in instances)
    real_gb = node['local_gb'] * (100 - _DISK_OVERHEAD_PERCENT) // 100
    return {
        'vcpus_used': sum(i['vcpus'] or 0 for i in instances),
        'memory_mb_used': memory,
        'local_gb_used': disk,
        'free_ram_mb': node['memory_mb'] - memory,
        'free_disk_gb': node['local_gb'] - disk,
        'disk_available_least': real_gb - disk,
        'running_vms': len(instances),
        'stats': json.dumps(_stats(instances)),
    }


_IO_VM_STATES = ('building',)
_IO_TASK_STATES = ('resize_migrating', 'rebuilding', 'resize_prep',
                   'image_snapshot', 'image_backup', 'rescuing', 'unshelving')


def _stats(instances):
    counts = collections.Counter()
    for instance in instances:
        counts['num_vm_{vm_state}'.format(**instance)] += 1
        counts['num_task_{task_state}'.format(**instance)] += 1
        counts['num_os_type_{os_type}'.format(**instance)] += 1
        counts['num_proj_{project_id}'.format(**instance)] += 1
    io_workload = sum(
        i['vm_state'] in _IO_VM_STATES or i['task_state'] in _IO_TASK_STATES
        for i in instances)
    return {'failed_builds': '0', 'num_instances': str(len(instances)),
            'io_workload': str(io_workload),
            **{key: str(counts[key]) for key in sorted(counts)}}
