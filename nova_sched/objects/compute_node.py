"""Compute nodes: in requests by name, on hosts with their attributes."""

from nova_sched.objects import base
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects.fields import Field


@base.Registry.register
class ComputeNode(base.NovaObject, base.DictCompat):
    """A compute node with its names and amounts.  MB is MiB, GB is GiB.

    Requests carry nothing of it but its names (the hosts already tried).
    A plug-in gets nodes of hosts, whose id is not known.
    """

    VERSION = '1.19'
    fields = {
        'id': Field(fields.INTEGER),
        'uuid': Field(fields.NAME, since='1.15'),
        'host': Field(fields.NAME, null=True, since='1.7'),
        'hypervisor_hostname': Field(fields.NAME, null=True),
        **dict.fromkeys((
            'vcpus', 'vcpus_used', 'memory_mb', 'memory_mb_used', 'local_gb',
            'local_gb_used', 'free_ram_mb', 'free_disk_gb', 'running_vms',
            'current_workload', 'hypervisor_version'),
            Field(fields.INTEGER, null=True)),
        'hypervisor_type': Field(fields.TEXT, null=True),
        'cpu_info': Field(fields.TEXT, null=True),
        'stats': Field(fields.dict_of(fields.TEXT, null=True), null=True,
                       since='1.3'),
        'host_ip': Field(fields.TEXT, null=True, since='1.4'),
        'numa_topology': Field(fields.TEXT, null=True, since='1.5'),
        'cpu_allocation_ratio': Field(fields.FLOAT, null=True, since='1.14'),
        'ram_allocation_ratio': Field(fields.FLOAT, null=True, since='1.14'),
        'disk_allocation_ratio': Field(fields.FLOAT, null=True,
                                       since='1.16'),
        **fields.PERSISTENT,
    }


@base.Registry.register
class ComputeNodeList(base.NovaObjectList):
    """Compute nodes; see ComputeNode."""

    VERSION = '1.17'
    fields = fields.objects_of(ComputeNode, bounds.RETRIES)
