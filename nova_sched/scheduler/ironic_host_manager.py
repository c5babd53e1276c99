"""The host manager for clouds with bare-metal nodes of Ironic."""

from nova_sched.hosts import rows as host_rows
from nova_sched.scheduler import host_manager

#: Hypervisor type of a node that is one whole machine.
IRONIC = 'ironic'


class IronicHostManager(host_manager.HostManager):
    """A HostManager that treats ``ironic`` nodes as whole machines.

    An instance takes all of such a node, and rules see no instances on it.
    All other nodes are as in HostManager.
    """

    def make_record(self, row, cell_uuid, ratios):
        if row['hypervisor_type'] == IRONIC:
            return host_rows.bare_metal_record(row, cell_uuid, ratios)
        return super().make_record(row, cell_uuid, ratios)
