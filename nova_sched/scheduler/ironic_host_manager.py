"""The hosts of a cloud with bare-metal nodes of Ironic among them."""

from nova_sched.hosts import rows as host_rows
from nova_sched.scheduler import host_manager

#: Hypervisor type of a node that is one whole machine.
IRONIC = 'ironic'


class IronicHostManager(host_manager.HostManager):
    """Takes the nodes of hypervisor type ``ironic`` for whole machines.

    Such a node is free or taken: any instance takes all of it, and no rule
    sees instances on it.  All other nodes are as in HostManager.
    """

    def make_record(self, row, cell_uuid, ratios):
        if row['hypervisor_type'] == IRONIC:
            return host_rows.bare_metal_record(row, cell_uuid, ratios)
        return super().make_record(row, cell_uuid, ratios)
