"""Compute nodes, as in requests and in lookups of plug-ins."""

from nova_sched.compat import current_hosts
from nova_sched.compat import nova_exception
from nova_sched.objects import base
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects.fields import Field


def _of(caller, *names):
    """Return the nodes of the current hosts, or of some of them: list."""
    hosts = current_hosts.get(caller)
    return [state.node_object() for state in hosts.states_of(*names)]


@base.Registry.register
class ComputeNode(base.NovaObject, base.DictCompat):
    """A compute node with its names and amounts.  MB is MiB, GB is GiB.

    Requests contain only names, of the hosts that were tried already.
    The class methods, which plug-ins call, return the nodes of the current
    hosts, without ids.  They raise current_hosts.NoCurrentHosts.
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

    @classmethod
    def get_by_host_and_nodename(cls, context, host, nodename):
        """Return the node of a host.  Raises ComputeHostNotFound."""
        for node in _of('ComputeNode.get_by_host_and_nodename',
                        'host', [host]):
            if node.hypervisor_hostname == nodename:
                return node
        raise nova_exception.ComputeHostNotFound(host=f'{host}/{nodename}')

    @classmethod
    def get_by_nodename(cls, context, hypervisor_hostname):
        """Return the node of a name.  Raises ComputeHostNotFound."""
        for node in _of('ComputeNode.get_by_nodename',
                        'nodename', [hypervisor_hostname]):
            return node
        raise nova_exception.ComputeHostNotFound(host=hypervisor_hostname)


@base.Registry.register
class ComputeNodeList(base.NovaObjectList):
    """Compute nodes; see ComputeNode."""

    VERSION = '1.17'
    fields = fields.objects_of(ComputeNode, bounds.RETRIES)

    @classmethod
    def get_all(cls, context):
        """Return all nodes."""
        return cls.holding(_of('ComputeNodeList.get_all'))

    @classmethod
    def get_all_by_host(cls, context, host, use_slave=False):
        """Return the nodes of a host.

        Raises ComputeHostNotFound if there are none.
        """
        nodes = _of('ComputeNodeList.get_all_by_host', 'host', [host])
        if not nodes:
            raise nova_exception.ComputeHostNotFound(host=host)
        return cls.holding(nodes)

    @classmethod
    def get_by_hypervisor(cls, context, hypervisor_match):
        """Return the nodes with a text in their name."""
        return cls.holding(
            node for node in _of('ComputeNodeList.get_by_hypervisor')
            if hypervisor_match in node.hypervisor_hostname)

    @classmethod
    def get_all_by_uuids(cls, context, compute_uuids):
        """Return the nodes with these uuids."""
        return cls.holding(_of('ComputeNodeList.get_all_by_uuids',
                               'uuid', compute_uuids))
