"""Parts of requests for new instances: functions that add to a Draft."""

from nova_sched import objects
from tests.builders import numa
from tests.builders import pci
from tests.builders import requests
from tests.interop import rig_world

_TRAITS = ('CUSTOM_SSD', 'HW_CPU_X86_AVX2', 'HW_CPU_X86_SSE42',
           'COMPUTE_NODE', 'HW_CPU_HYPERTHREADING')


def plain(draft):
    """A flavor alone."""


def too_much(draft):
    """About as much of a resource as the largest host has, or more."""
    field, attribute = draft.random.choice([
        ('vcpus', 'vcpus'), ('memory_mb', 'memory_mb'),
        ('root_gb', 'disk_gb')])
    most = max(getattr(host, attribute) for host in draft.world.hosts)
    draft.request[field] = int(most * draft.random.choice([.6, .9, 1.1, 2]))


def several(draft):
    """Some instances in one request, at times too many for the cloud."""
    draft.several(draft.random.randint(2, 5))
    if draft.random.random() < .3:
        draft.request['memory_mb'] = draft.random.randint(12, 40) * 1024


def flavor_traits(draft):
    for trait in draft.random.sample(_TRAITS, draft.random.randint(1, 2)):
        draft.extra_specs[f'trait:{trait}'] = draft.random.choice(
            ['required', 'required', 'forbidden'])


def image_traits(draft):
    draft.image_properties['traits_required'] = draft.random.sample(
        _TRAITS, draft.random.randint(1, 2))


def unknown_trait(draft):
    """A trait that Placement does not know, or an invalid value."""
    draft.extra_specs.update(draft.random.choice([
        {'trait:CUSTOM_UNHEARD_OF': 'required'},
        {'trait:CUSTOM_UNHEARD_OF': 'forbidden'},
        {'trait:CUSTOM_SSD': 'perhaps'},
        {'resources:NO_SUCH_CLASS': '1'},
        {'resources:CUSTOM_UNHEARD_OF': '1'},
        {'resources:VCPU': '-1'}, {'resources:VCPU': 'some'}]))


def overrides(draft):
    """Extra specs that override amounts of the flavor."""
    amounts = {'VCPU': ('0', '3', '30'), 'MEMORY_MB': ('0', '3000', '70000'),
               'DISK_GB': ('0', '33', '500'), 'VGPU': ('0', '1')}
    for name in draft.random.sample(sorted(amounts),
                                    draft.random.randint(1, 3)):
        draft.extra_specs[f'resources:{name}'] = draft.random.choice(
            amounts[name])


def granular(draft):
    """Granular request groups of the flavor."""
    wanted = draft.random.sample([
        ({'VGPU': 1}, None), ({'VGPU': 2}, 'CUSTOM_GPU_LARGE'),
        ({'VGPU': 1}, 'CUSTOM_GPU_SMALL'), ({'VGPU': 1}, 'HW_GPU_API_VULKAN'),
        ({'FPGA': 1}, None), ({'CUSTOM_FUNCTION': 1, 'FPGA': 1}, None),
        ({'CUSTOM_FUNCTION': 2}, None), ({'VGPU': 3}, None)],
        draft.random.randint(1, 3))
    suffixes = draft.random.sample(['1', '2', '9', '_GPU', '-x'], len(wanted))
    for suffix, (amounts, trait) in zip(suffixes, wanted, strict=True):
        for name, amount in amounts.items():
            draft.extra_specs[f'resources{suffix}:{name}'] = str(amount)
        if trait:
            draft.extra_specs[f'trait{suffix}:{trait}'] = (
                draft.random.choice(['required', 'required', 'forbidden']))
    policy = draft.random.choice(['none', 'isolate', 'none', None])
    if policy:
        draft.extra_specs['group_policy'] = policy
    if len(suffixes) > 1 and draft.random.random() < .3:
        draft.same_subtree = [suffixes]


def ports(draft):
    """Bandwidth of physical networks, as Neutron requests it."""
    for _ in range(draft.random.randint(1, 2)):
        network = draft.random.choice(['RED', 'BLUE', 'BLUE'])
        draft.group(draft.uuid(), dict.fromkeys(
            rig_world.BANDWIDTH, draft.random.choice([500, 2000, 6000])),
            [f'CUSTOM_PHYSNET_{network}', 'CUSTOM_VNIC_TYPE_NORMAL'])
    if len(draft.groups) > 1:
        if draft.random.random() < .7:
            draft.extra_specs['group_policy'] = draft.random.choice(
                ['none', 'isolate'])
        if draft.random.random() < .3:
            draft.same_subtree = [[group.requester_id
                                   for group in draft.groups]]
    if draft.random.random() < .3:
        draft.root_required = [draft.random.choice(['COMPUTE_NODE',
                                                    'CUSTOM_SSD'])]


def zone(draft):
    draft.request['availability_zone'] = draft.random.choice(
        ['east', 'west', 'nowhere'])


def aggregates(draft):
    """Required sets of aggregates, and forbidden aggregates."""
    uuids = [uuid for uuid, _, _ in draft.world.aggregates.values()]
    draft.destination['aggregates'] = [
        ','.join(draft.random.sample(uuids, draft.random.randint(1, 2)))
        for _ in range(draft.random.randint(1, 2))]
    if draft.random.random() < .5:
        draft.destination['forbidden_aggregates'] = set(
            draft.random.sample(uuids, 1))


def forced(draft):
    """A forced host, node or both, which may not exist."""
    host, draft.ignored = draft.host(), []
    host_name, node_name = draft.random.choice([
        (host.name, None), (host.name, None), (None, host.node),
        (host.name, host.node), (host.name, draft.host().node),
        ('nobody', None), (None, 'nobody.example.org')])
    draft.request['force_hosts'] = [host_name] if host_name else None
    draft.request['force_nodes'] = [node_name] if node_name else None


def requested_host(draft):
    """A requested destination, which filters may reject."""
    host, draft.ignored = draft.host(), []
    draft.destination['host'] = draft.random.choice(
        [host.name, host.name, host.name, 'nobody'])
    draft.destination['node'] = draft.random.choice(
        [None, None, host.node, host.node, draft.host().node])
    if draft.random.random() < .5:
        draft.destination['cell'] = host.is_.cell


def ignored_hosts(draft):
    draft.ignored = [host.name for host in draft.some(draft.world.hosts)]


def cell(draft):
    """A cell, possibly disabled, or with cross-cell moves allowed."""
    draft.destination['cell'] = draft.random.choice(draft.world.cells)
    draft.destination['allow_cross_cell_move'] = (
        draft.random.random() < .3)


def volume(draft):
    """Boot from volume: the root disk is not on the host."""
    draft.request.update(is_bfv=True, root_gb=draft.random.choice([40, 2000]))


def tenant(draft):
    """A project with hosts of its own."""
    draft.request['project_id'] = 'tenant'


def licensed(draft):
    """A trait of isolated aggregates."""
    draft.extra_specs['trait:CUSTOM_LICENSED'] = draft.random.choice(
        ['required', 'required', 'forbidden'])


def image(draft):
    """Image properties that become traits, and disk formats."""
    draft.image_properties.update(draft.random.choice([
        {'hw_disk_bus': 'virtio'}, {'hw_disk_bus': 'scsi'},
        {'hw_architecture': 'x86_64'}, {'hw_architecture': 'aarch64'},
        {'img_hv_type': 'kvm'}, {'img_hv_type': 'vmware'}, {}]))
    draft.disk_format = draft.random.choice(['qcow2', 'raw', 'raw', 'vmdk'])


def capabilities(draft):
    """Capabilities that hosts report."""
    draft.extra_specs.update(draft.random.choice([
        {'capabilities:cpu_info:vendor': 'Intel'},
        {'capabilities:cpu_info:vendor': 'AMD'},
        {'capabilities:hypervisor_type': 's== QEMU'},
        {'capabilities:num_instances': '>= 1'},
        {'capabilities:num_instances': '<= 2'},
        {'capabilities:cpu_info:features': '<in> vmx'}]))


def group(draft):
    """A server group with members on some hosts."""
    # One host of a kind, so that no two hosts are equally near to the group.
    near = {host.kind: host for host in draft.some(draft.world.hosts)
            if host.instances}
    hosts = list(near.values())[:draft.random.randint(0, 3)]
    policy = draft.random.choice(['affinity', 'anti-affinity',
                                  'soft-affinity', 'soft-anti-affinity'])
    if policy == 'affinity':
        hosts = hosts[:1]
    draft.several(draft.random.randint(1, 4))
    members = [instance for host in hosts for instance in host.instances]
    rules = {}
    if policy == 'anti-affinity' and draft.random.random() < .5:
        rules = {'max_server_per_host': '2'}
    made = requests.a_group(policy, [*members, *draft.uuids],
                            [host.name for host in hosts], rules,
                            uuid=draft.uuid())
    made.id, made.project_id, made.user_id = 7, 'a-project', 'a-user'
    draft.request['group'] = made
    draft.hints['group'] = [made.uuid]


def beside(draft):
    """On the hosts of other instances, or on other hosts."""
    instances = [instance for host in draft.world.hosts
                 for instance in host.instances]
    draft.hints[draft.random.choice(['same_host', 'different_host'])] = (
        draft.random.sample(instances, draft.random.randint(1, 4)))


def devices(draft):
    """PCI devices, each with a request group in Placement."""
    wanted = draft.random.sample([
        (rig_world.CARD, 'type-PF', 1, ()), (rig_world.CARD, 'type-PF', 2, ()),
        (rig_world.PART, 'type-VF', 1, ()),
        (rig_world.PART, 'type-VF', 3, ('CUSTOM_FIRMWARE_7',)),
        (rig_world.PART, 'type-VF', 5, ())],
        draft.random.randint(1, 2))
    asked = []
    for number, (name, kind, count, traits) in enumerate(wanted):
        made = pci.a_pci_request(
            count, {'vendor_id': '8086', 'product_id': name[-4:].lower(),
                    'dev_type': kind},
            alias_name=f'alias{number}', request_id=draft.uuid(),
            numa_policy='legacy', is_new=False, requester_id=None)
        asked.append(made)
        for device in range(count):
            draft.group(f'{made.request_id}-{device}', {name: 1}, traits)
    draft.request['pci_requests'] = pci.pci_requests(*asked)
    if draft.random.random() < .4:
        draft.extra_specs['group_policy'] = draft.random.choice(
            ['none', 'isolate'])
    draft.several(draft.random.choice([1, 1, 2, 3]))


def pinned(draft):
    """Dedicated CPUs, which few hosts have."""
    count, cells = draft.random.choice([(2, 1), (4, 1), (4, 2), (6, 2)])
    draft.request.update(vcpus=count, memory_mb=2048)
    draft.extra_specs.update({'hw:cpu_policy': 'dedicated',
                              'hw:numa_nodes': str(cells)})
    each = count // cells
    made = [numa.guest_cell(
        number, memory=2048 // cells, pinned=each, cpuset=set(),
        pcpuset=set(range(number * each, (number + 1) * each)),
        cpuset_reserved=None, cpu_pinning_raw=None)
        for number in range(cells)]
    draft.request['numa_topology'] = numa.a_guest(*made)
    draft.several(draft.random.choice([1, 1, 2, 3]))


def rebuild(draft):
    """A rebuild on the instance's host, without Placement."""
    host, draft.ignored = draft.host(), []
    draft.hints['_nova_check_type'] = ['rebuild']
    draft.request.update(force_hosts=[host.name], force_nodes=[host.node])
    draft.request['limits'] = objects.SchedulerLimits()


WISHES = {
    'plain': plain, 'too much': too_much, 'several': several,
    'flavor traits': flavor_traits, 'image traits': image_traits,
    'unknown names': unknown_trait, 'overrides': overrides,
    'granular groups': granular, 'ports': ports, 'zone': zone,
    'aggregates': aggregates, 'forced': forced,
    'requested host': requested_host, 'ignored hosts': ignored_hosts,
    'cell': cell, 'volume': volume, 'tenant': tenant,
    'licensed': licensed, 'image': image, 'capabilities': capabilities,
    'server group': group, 'beside': beside, 'devices': devices,
    'pinned': pinned, 'rebuild': rebuild,
}
