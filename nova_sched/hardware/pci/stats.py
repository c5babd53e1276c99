"""A host's free PCI devices in the form of Nova's PciDeviceStats."""

from nova_sched.hardware.pci import devices as pci_devices
from nova_sched.hardware.pci.requests import DeviceRequests


class DeviceStats:
    """The methods of Nova's PciDeviceStats for plug-ins; read-only.

    pools: Pools.  topology: HostTopology of the host, or None.
    """

    def __init__(self, pools, topology=None):
        self._pools, self._topology = pools, topology

    @property
    def pools(self):
        """Pools of equal devices: list of dicts, a copy.

        Each has ``vendor_id``, ``product_id``, ``numa_node`` (integer or
        None), ``count`` and any number of tags.
        """
        return self._pools.pools

    def support_requests(self, requests, provider_mapping=None,
                         numa_cells=None):
        """Return whether there are enough devices for all requests together.

        requests: list of InstancePCIRequest.
        provider_mapping: of the allocation candidate, request group ->
            provider uuids; or None.
        numa_cells: cells of the guest with the ids of host cells; if empty,
            NUMA affinity is ignored.
        """
        cells = None
        if numa_cells:
            host_cells = self._topology.cells if self._topology else ()
            cells = pci_devices.Cells(
                frozenset(cell.id for cell in numa_cells),
                {cell.id: cell.socket for cell in host_cells})
        return pci_devices.HostDevices(
            self._pools, DeviceRequests(requests)).fits(
                provider_mapping, cells)

    def __repr__(self):
        return f'{type(self).__name__}({self.pools})'
