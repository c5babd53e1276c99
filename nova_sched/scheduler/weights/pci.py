"""PCIWeigher: prefers hosts with few free PCI devices."""

from nova_sched.scheduler import weights

#: More free devices than this do not change the weight.
_MANY = 99


class PCIWeigher(weights.ColumnWeigher):
    """Weighs 100 minus the number of free devices, of which at most 99 count.

    It does so for all requests: instances without devices avoid hosts with
    devices, and instances with devices fill one host after the other.
    """

    multiplier_name = 'pci_weight_multiplier'
    inputs = ('pci_stats',)

    def column(self, hosts, spec_obj):
        return hosts.derived('pci_stats', 'weight', _weight)


def _weight(pools):
    free = 0 if pools is None else pools.free_by_node.total()
    return 100 - min(free, _MANY)
