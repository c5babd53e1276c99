"""A host's free PCI devices as plug-ins see them."""

from nova_sched.hardware.pci import devices as pci_devices


class DeviceStats:
    """What plug-ins ask of Nova's PciDeviceStats; cannot be changed.

    found: Pools.  topology: HostTopology of the host, or None.
    """

    def __init__(self, found, topology=None):
        self._found, self._topology = found, topology

    @property
    def pools(self):
        """Devices that are alike: list of dicts, the caller's own.

        Each has ``vendor_id``, ``product_id``, ``numa_node`` (integer or
        None), ``count`` and any number of tags.
        """
        return self._found.pools

    def support_requests(self, requests, provider_mapping=None,
                         numa_cells=None):
        """Return whether there are enough devices for all requests together.

        requests: list of InstancePCIRequest.
        provider_mapping: of the allocation candidate, request group ->
            provider uuids; or None.
        numa_cells: cells of the guest, whose ids are those of host cells;
            without any NUMA does not matter.
        """
        cells = None
        if numa_cells:
            host_cells = self._topology.cells if self._topology else ()
            cells = pci_devices.Cells(
                frozenset(cell.id for cell in numa_cells),
                {cell.id: cell.socket for cell in host_cells})
        return pci_devices.fits(self._found, requests, provider_mapping, cells)

    def __repr__(self):
        return f'{type(self).__name__}({self.pools})'
