"""The made-up cloud of the schedulers in a Rig.

KINDS has the kinds of hosts; a seed decides their sizes.  Two hosts of a kind
differ only in their names, so that both are equally right.
"""

import dataclasses
import random
import uuid

#: Allocation ratios of all compute nodes.
RATIOS = {'VCPU': 4.0, 'MEMORY_MB': 1.0, 'DISK_GB': 1.0, 'PCPU': 1.0}
#: MB that each host reserves.
RESERVED_MB = 512
#: Traits of all compute nodes.
TRAITS = ('COMPUTE_NODE', 'OWNER_NOVA', 'COMPUTE_TRUSTED_CERTS',
          'COMPUTE_IMAGE_TYPE_QCOW2', 'COMPUTE_STORAGE_BUS_VIRTIO',
          'HW_CPU_X86_SSE42')
#: Resource class of a whole network card, and of a part of another.
CARD, PART = 'CUSTOM_PCI_8086_154D', 'CUSTOM_PCI_8086_1520'
BANDWIDTH = ('NET_BW_EGR_KILOBIT_PER_SEC', 'NET_BW_IGR_KILOBIT_PER_SEC')


@dataclasses.dataclass
class Device:
    """A child provider of a host.

    name: suffix to the host's name.  inventory: resource class -> total.
    parent: name of its parent device, or None.
    """

    name: str
    inventory: dict
    traits: tuple
    parent: str | None = None


@dataclasses.dataclass
class Kind:
    """A kind of hosts; their sizes are random."""

    cell: str
    zone: str | None = None
    traits: tuple = ()
    devices: tuple = ()
    disabled: bool = False
    down: bool = False
    numa: bool = False
    count: int = 2


@dataclasses.dataclass
class Host:
    """A host; its node has the host's name and a domain.

    instances: uuids of its instances.  each: resources of an instance.
    providers: name of a device, '' for the host itself -> provider uuid.
    """

    name: str
    kind: str
    is_: Kind
    vcpus: int
    pcpus: int
    memory_mb: int
    disk_gb: int
    instances: list
    each: dict
    providers: dict

    @property
    def uuid(self):
        return self.providers['']

    @property
    def node(self):
        return f'{self.name}.example.org'

    @property
    def texts(self):
        """Texts by which a request can name this host."""
        return [self.name, self.node, *self.providers.values(),
                *self.instances]


def _cards(count):
    return tuple(Device(f'0000:8{number}:00.0', {CARD: 1},
                        ('COMPUTE_MANAGED_PCI_DEVICE', 'OWNER_NOVA'))
                 for number in range(count))


_PARTS = (Device('0000:90:00.0', {PART: 4},
                 ('COMPUTE_MANAGED_PCI_DEVICE', 'OWNER_NOVA',
                  'CUSTOM_FIRMWARE_7')),)
_NETWORKS = (
    Device('agent', {}, ()),
    *(Device(f'br-{name}', dict.fromkeys(BANDWIDTH, 10000),
             (f'CUSTOM_PHYSNET_{name.upper()}', 'CUSTOM_VNIC_TYPE_NORMAL'),
             'agent') for name in ('red', 'blue')))
_ACCELERATORS = (
    Device('gpu0', {'VGPU': 4}, ('CUSTOM_GPU_SMALL', 'HW_GPU_API_VULKAN')),
    Device('gpu1', {'VGPU': 2}, ('CUSTOM_GPU_LARGE', 'HW_GPU_API_VULKAN')),
    Device('fpga0', {'FPGA': 1, 'CUSTOM_FUNCTION': 3}, ()))

KINDS = {
    'plain': Kind('cell1', 'east'),
    'large': Kind('cell1', 'east', ('COMPUTE_IMAGE_TYPE_RAW',
                                    'HW_CPU_X86_AVX2',
                                    'COMPUTE_STORAGE_BUS_SCSI')),
    'pinned': Kind('cell1', traits=('HW_CPU_HYPERTHREADING',), numa=True),
    'licensed': Kind('cell1', traits=('CUSTOM_LICENSED',)),
    'ssd': Kind('cell2', 'west', ('CUSTOM_SSD', 'HW_CPU_X86_AVX2')),
    'pci': Kind('cell2', 'west', devices=(*_cards(3), *_PARTS)),
    'network': Kind('cell2', devices=_NETWORKS,
                    traits=('CUSTOM_SSD', 'COMPUTE_IMAGE_TYPE_RAW',
                            'COMPUTE_STORAGE_BUS_SCSI')),
    'gpu': Kind('cell2', 'west', devices=_ACCELERATORS),
    'single': Kind('cell2', 'west', count=1),
    'disabled': Kind('cell1', 'east', ('COMPUTE_STATUS_DISABLED',),
                     disabled=True, count=1),
    'down': Kind('cell2', 'west', down=True, count=1),
    'closed': Kind('cell3', 'west', ('CUSTOM_SSD',)),
}
#: Name -> (metadata, kinds of hosts in it).  Zones come to these.
_AGGREGATES = {
    'fast': ({'ssd': 'true'}, ('ssd', 'network', 'large')),
    'racked': ({}, ('plain', 'pci', 'ssd')),
    'tenants': ({'filter_tenant_id': 'tenant'}, ('large', 'gpu')),
    'licences': ({'trait:CUSTOM_LICENSED': 'required'}, ('licensed',)),
}


class World:
    """Hosts and aggregates.

    hosts: list of Host.  aggregates: name -> (uuid, metadata, host names).
    cells: names of the cells with hosts; the last cell is disabled.
    """

    cells = ('cell1', 'cell2', 'cell3')

    def __init__(self, seed):
        self._draw = random.Random(seed)
        sizes = zip(*(self._draw.sample(range(*ends), len(KINDS))
                      for ends in ((8, 40), (16, 96), (200, 900))),
                    strict=True)
        self.hosts = [host for (name, kind), drawn
                      in zip(KINDS.items(), sizes, strict=True)
                      for host in self._alike(name, kind, *drawn)]
        zones = {zone: ({'availability_zone': zone}, tuple(
            name for name, kind in KINDS.items() if kind.zone == zone))
            for zone in ('east', 'west')}
        self.aggregates = {
            name: (self._uuid(), metadata,
                   [host.name for host in self.hosts if host.kind in kinds])
            for name, (metadata, kinds) in (zones | _AGGREGATES).items()}

    def _uuid(self):
        return str(uuid.UUID(int=self._draw.getrandbits(128), version=4))

    def _alike(self, name, kind, vcpus, memory_gb, disk_gb):
        """The hosts of a kind."""
        count = self._draw.randint(0, 4)
        each = {'VCPU': self._draw.randint(1, 6),
                'MEMORY_MB': self._draw.randint(1, 8) * 512,
                'DISK_GB': self._draw.randint(1, 40)}
        for letter in 'ab'[:kind.count]:
            yield Host(
                f'{name}-{letter}', name, kind,
                vcpus=16 if kind.numa else vcpus,
                pcpus=8 if kind.numa else 0,
                memory_mb=memory_gb * 1024, disk_gb=disk_gb,
                instances=[self._uuid() for _ in range(count)], each=each,
                providers={device: self._uuid() for device in (
                    '', *(device.name for device in kind.devices))})

    def host(self, name):
        """The host with a name."""
        return next(host for host in self.hosts if host.name == name)

    def aggregates_of(self, host):
        """Uuids of a host's aggregates."""
        return [uuid for uuid, _, hosts in self.aggregates.values()
                if host.name in hosts]

    def inventory(self, host):
        """The inventories of a host's root provider, in Placement's form."""
        totals = {'VCPU': host.vcpus - host.pcpus, 'PCPU': host.pcpus,
                  'MEMORY_MB': host.memory_mb, 'DISK_GB': host.disk_gb}
        return {name: {
            'total': total, 'max_unit': total,
            'allocation_ratio': RATIOS[name],
            'reserved': RESERVED_MB if name == 'MEMORY_MB' else 0}
            for name, total in totals.items() if total}

    def held(self):
        """Initial allocations: consumer -> provider -> class -> amount."""
        return {instance: {host.uuid: host.each} for host in self.hosts
                for instance in host.instances}

    def named_in(self, text):
        """Kinds of the hosts that a text names."""
        return {host.kind for host in self.hosts
                if any(name in text for name in host.texts)}

    def part_names(self):
        """Provider uuid -> (host, name of the device or '')."""
        return {uuid: (host, device) for host in self.hosts
                for device, uuid in host.providers.items()}

    def __repr__(self):
        return '\n'.join(
            f'{host.name}: {host.vcpus} VCPUs, {host.memory_mb} MB, '
            f'{host.disk_gb} GB, {len(host.instances)} instances'
            for host in self.hosts)
