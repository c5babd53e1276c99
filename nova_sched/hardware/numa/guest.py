"""The NUMA requirements of a guest, and its cells as placed."""

import copy
import dataclasses
import functools

from nova_sched import objects
from nova_sched.hardware.pci.requests import DeviceRequests
from nova_sched.objects.numa import limits_from_any


@dataclasses.dataclass(slots=True)
class GuestCell:
    """One NUMA cell of a guest, while it is tried on one host.

    Placing it on a host cell sets ``id`` to that of the host cell,
    ``pagesize`` to the selected size, ``pins`` to its pins (guest CPU -> host
    CPU) and ``reserved`` to the host CPUs for the emulator.
    memory in MiB; pagesize in KiB, one of SMALL, LARGE and ANY, or None.
    """

    id: int
    cpuset: frozenset
    pcpuset: frozenset
    memory: int
    pagesize: int | None = None
    cpu_policy: str | None = None
    thread_policy: str | None = None
    pins: dict = dataclasses.field(default_factory=dict)
    reserved: frozenset = frozenset()

    @classmethod
    def of(cls, cell):
        """Return the GuestCell of an InstanceNUMACell."""
        return cls(
            id=cell.id or 0, cpuset=frozenset(cell.cpuset),
            pcpuset=frozenset(cell.pcpuset), memory=cell.memory or 0,
            pagesize=cell.pagesize, cpu_policy=cell.cpu_policy,
            thread_policy=cell.cpu_thread_policy)

    def __copy__(self):
        # Ten times faster than the copy module with slots.
        return GuestCell(self.id, self.cpuset, self.pcpuset, self.memory,
                         self.pagesize, self.cpu_policy, self.thread_policy,
                         self.pins, self.reserved)

    @property
    def needs(self):
        """Its requirements of a host cell: a tuple.

        The cells of a guest differ in CPU numbers, but often in nothing else.
        """
        return (len(self.cpuset), len(self.pcpuset),
                len(self.cpuset | self.pcpuset), self.memory, self.pagesize,
                self.cpu_policy, self.thread_policy)

    @property
    def is_pinned(self):
        """Whether some of its CPUs are pinned."""
        return self.cpu_policy in ('dedicated', 'mixed')

    @property
    def is_shared(self):
        """Whether some of its CPUs float."""
        return self.cpu_policy != 'dedicated'

    @property
    def cpus(self):
        """The number of all its CPUs."""
        return len(self.cpuset) + len(self.pcpuset)


@dataclasses.dataclass(frozen=True)
class Limits:
    """The overcommit ratios of a host's cells."""

    cpu_ratio: float
    ram_ratio: float


@dataclasses.dataclass(frozen=True)
class GuestRequirements:
    """The requirements of a request for NUMA and PCI affinity.

    cells: tuple of GuestCell, unchanged; ``copies`` are placed on hosts.
    isolate_emulator: whether the emulator needs a host CPU of its own.
    pci: list of InstancePCIRequest.  networks: NetworkMetadata or None.
    """

    cells: tuple
    isolate_emulator: bool
    pci: list
    networks: object

    @classmethod
    def of(cls, spec_obj):
        """Return the requirements of a RequestSpec; None without a topology.
        """
        topology = spec_obj.numa_topology
        if topology is None:
            return None
        return cls(
            tuple(map(GuestCell.of, topology.cells)),
            topology.emulator_threads_policy == 'isolate',
            pci_requests(spec_obj), network_metadata(spec_obj))

    @functools.cached_property
    def kind(self):
        """A key of guests that fit on the same hosts: a tuple.

        None if the fit also depends on devices or networks.
        """
        if self.pci or (self.networks is not None and (
                self.networks.physnets or self.networks.tunneled)):
            return None
        return (self.isolate_emulator, self.networks is None, *(
            (cell.id, cell.cpuset, cell.pcpuset, cell.memory, cell.pagesize,
             cell.cpu_policy, cell.thread_policy) for cell in self.cells))

    def copies(self):
        """Return copies of the cells for one host: list of GuestCell."""
        return [copy.copy(cell) for cell in self.cells]

    @functools.cached_property
    def device_requests(self):
        """The DeviceRequests of the PCI devices."""
        return DeviceRequests(self.pci)


def pci_requests(spec_obj):
    """Return the list of InstancePCIRequest of a RequestSpec."""
    return spec_obj.pci_requests.requests if spec_obj.pci_requests else []


def network_metadata(spec_obj):
    """Return the NetworkMetadata of a RequestSpec; None if it has none."""
    if not spec_obj.obj_attr_is_set('network_metadata'):
        return None
    return spec_obj.network_metadata


def fitted(topology, guests):
    """Return a copy of an InstanceNUMATopology with the placed guest cells."""
    made = copy.deepcopy(topology)
    for cell, guest in zip(made.cells, guests, strict=True):
        cell.id, cell.pagesize = guest.id, guest.pagesize
        cell.cpu_pinning_raw = guest.pins or None
        cell.cpuset_reserved = guest.reserved or None
    return made


def limits_of(limits):
    """Return the Limits of the filters, given in any form; None of None."""
    limits = limits_from_any(limits)
    if limits is None:
        return None
    return Limits(limits.cpu_allocation_ratio, limits.ram_allocation_ratio)


def limits_object(ratios, networks):
    """Return the NUMATopologyLimits of Limits and NetworkMetadata or None."""
    made = objects.NUMATopologyLimits(
        cpu_allocation_ratio=ratios.cpu_ratio,
        ram_allocation_ratio=ratios.ram_ratio)
    if networks is not None:
        made.network_metadata = networks
    return made
