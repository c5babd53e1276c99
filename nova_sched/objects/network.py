"""Networks, ports and security groups in a request."""

from nova_sched.objects import base
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects.fields import Field


@base.Registry.register
class NetworkMetadata(base.NovaObject):
    """Networks that matter for NUMA affinity of virtual switches."""

    VERSION = '1.0'
    fields = {
        'physnets': Field(
            fields.set_of(fields.NAME, bounds.NETWORKS), unset=set),
        'tunneled': Field(fields.BOOLEAN, unset=False),
    }


@base.Registry.register
class NetworkRequest(base.NovaObject):
    """One requested network or port."""

    VERSION = '1.3'
    fields = {
        **dict.fromkeys((
            'network_id', 'address', 'port_id', 'pci_request_id'),
            Field(fields.TEXT, null=True)),
        'tag': Field(fields.TEXT, null=True, since='1.2'),
        'arq_uuid': Field(fields.TEXT, null=True, since='1.3'),
        'device_profile': Field(fields.TEXT, null=True, since='1.3'),
    }


@base.Registry.register
class NetworkRequestList(base.NovaObjectList):
    """Network requests in the user's order."""

    VERSION = '1.1'
    fields = fields.objects_of(NetworkRequest, bounds.NETWORKS)


@base.Registry.register
class SecurityGroup(base.NovaObject):
    """A security group; the scheduler only passes on its uuid."""

    VERSION = '1.2'
    fields = {
        'id': Field(fields.INTEGER),
        'name': Field(fields.TEXT),
        'description': Field(fields.TEXT, null=True),
        'user_id': Field(fields.TEXT, null=True),
        'project_id': Field(fields.TEXT, null=True),
        'uuid': Field(fields.TEXT, since='1.2'),
        **fields.PERSISTENT,
    }


@base.Registry.register
class SecurityGroupList(base.NovaObjectList):
    """Security groups; see SecurityGroup."""

    VERSION = '1.1'
    fields = fields.objects_of(SecurityGroup, bounds.NETWORKS)
