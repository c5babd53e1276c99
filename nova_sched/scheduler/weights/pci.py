"""PCIWeigher: the fewer free PCI devices, the better."""

from nova_sched.scheduler import weights

#: From this number of devices on hosts are all alike.
_MANY = 99


class PCIWeigher(weights.ColumnWeigher):
    """100 less the free devices, of which no more than 99 count.

    Whatever is asked for: instances without devices stay off the hosts that
    have some, and those with devices fill one host after the other.
    """

    multiplier_name = 'pci_weight_multiplier'
    inputs = ('pci_stats',)

    def column(self, hosts, spec_obj):
        return hosts.derived('pci_stats', 'weight', _weight)


def _weight(pools):
    free = 0 if pools is None else pools.free_devices
    return 100 - min(free, _MANY)
