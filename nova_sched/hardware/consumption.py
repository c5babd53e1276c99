"""Consumption of a host's NUMA cells and PCI devices by a placed instance.

``Hardware.take``, for one picked host:

1. The guest's topology is fitted again, under the filters' limits.  The fitted
   topology replaces that of the request, also for its further instances: they
   request the page size that the first one got.  If it does not fit, the
   request loses its topology; if the search was given up, it keeps it.
2. The usage of the cells grows by the fitted guest (``used``).
3. The devices are taken from the pools.

On hosts older than Train, devices are taken before the usage grows.
"""

import dataclasses

from nova_sched.hardware.numa import effort
from nova_sched.hardware.numa import guest as numa_guest
from nova_sched.hardware.numa.topology import Fitting
from nova_sched.hardware.pci import devices as pci_devices
from nova_sched.hardware.pci.requests import DeviceRequests

#: Bound of the search for cells on a picked host.  It is larger than that of
#: the filter, which found cells after trying other candidates.
_MOST = 10 * effort.MOST

#: Columns of the host table with a host's hardware.
COLUMNS = ('numa_topology', 'pci_stats')


class FailedError(Exception):
    """A host lacks the hardware that an instance needs."""


class Hardware:
    """One host's cells and devices; ``take`` changes both attributes.

    topology: HostTopology or None.  pools: pools.Pools or None.
    """

    def __init__(self, topology, pools):
        self.topology, self.pools = topology, pools

    def columns(self):
        """Return the values for COLUMNS."""
        return self.topology, self.pools

    def take(self, spec_obj, limits, mapping, pack):
        """Take the hardware of one instance of a request.

        spec_obj: RequestSpec; its numa_topology becomes the fitted one.
        limits: NUMATopologyLimits of the filters, or None.
        mapping: of the claimed candidate, or None.
        pack: see Fitting.
        Raises FailedError; completed steps are not reverted.
        """
        pci_requests = spec_obj.pci_requests
        if spec_obj.numa_topology is None and not (
                pci_requests and pci_requests.requests):
            return
        guests = self._fitted(spec_obj, limits, mapping, pack)
        is_older = self.topology is not None and not self.topology.is_newer
        if is_older:
            self._take_devices(spec_obj, guests, mapping)
        if guests:
            self.topology = self.topology.with_cells(
                _used_by_all(cell, guests, not is_older)
                for cell in self.topology.cells)
        if not is_older:
            self._take_devices(spec_obj, guests, mapping)

    def _fitted(self, spec_obj, limits, mapping, pack):
        """Return the placed guest cells; None without any."""
        topology = self.topology
        required = numa_guest.GuestRequirements.of(spec_obj)
        if required is None or topology is None or not topology.cells:
            return None
        fitting = Fitting(topology, required, self.pools,
                          numa_guest.limits_of(limits), pack, _MOST)
        guests = fitting.fit(mapping)
        if fitting.is_given_up:
            raise FailedError('the search for NUMA cells was given up')
        spec_obj.numa_topology = None if guests is None else numa_guest.fitted(
            spec_obj.numa_topology, guests)
        return guests

    def _take_devices(self, spec_obj, guests, mapping):
        requests = numa_guest.pci_requests(spec_obj)
        if not requests or self.pools is None:
            return
        cells = None if guests is None else pci_devices.Cells(
            frozenset(guest.id for guest in guests),
            {cell.id: cell.socket for cell in self.topology.cells})
        self.pools, served = pci_devices.HostDevices(
            self.pools, DeviceRequests(requests)).taken(mapping, cells)
        if served < len(requests):
            raise FailedError(
                f'PCI device request {requests[served]} failed')


def _used_by_all(cell, guests, newer):
    for guest in guests:
        if guest.id == cell.id:
            cell = used(cell, guest, newer)
    return cell


def used(cell, guest, newer=True):
    """Return a HostCell with a further guest cell on it.

    newer: False on hosts older than Train.
    Raises FailedError if the guest cell is pinned to CPUs that are not free:
    a verdict shared with another guest cell does not update its pins.
    """
    cpus = len(guest.cpuset)
    if not newer:
        cpus = (guest.cpus + len(guest.reserved)) * (
            cell.threads if guest.thread_policy == 'isolate' else 1)
    return dataclasses.replace(
        cell, memory_usage=max(0, cell.memory_usage + guest.memory),
        cpu_usage=max(0, cell.cpu_usage + cpus),
        pages=tuple(_used_pages(cell, guest, newer)),
        pinned_cpus=cell.pinned_cpus | _pinned(cell, guest))


def _used_pages(cell, guest, newer):
    size = guest.pagesize
    if size is None and newer:
        # Nova fails here as well: the usage of such a cell never grows.
        if not cell.pages:
            raise FailedError(f'NUMA cell {cell.id} has no pages')
        size = cell.smallest_pages.size_kb
    for pages in cell.pages:
        if pages.size_kb == size:
            pages = pages._replace(
                used=pages.used + guest.memory * 1024 // size)
        yield pages


def _pinned(cell, guest):
    """Return the host CPUs of a guest cell: a set."""
    cpus = {*guest.pins.values(), *guest.reserved}
    if guest.thread_policy == 'isolate':
        cpus.update(*(core for core in cell.siblings
                      if not cpus.isdisjoint(core)))
    if not cpus <= cell.pcpuset:
        raise FailedError(
            f'CPU set to pin {sorted(cpus)} must be a subset of known CPU '
            f'set {sorted(cell.pcpuset)}')
    if cpus & cell.pinned_cpus:
        raise FailedError(
            f'CPU set to pin {sorted(cpus)} must be a subset of free CPU '
            f'set {sorted(cell.free_cpus)}')
    return cpus
