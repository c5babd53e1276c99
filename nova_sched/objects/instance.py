"""Instances, as compute services announce them."""

from nova_sched.objects import base
from nova_sched.objects import fields
from nova_sched.objects import flavor
from nova_sched.objects import numa
from nova_sched.objects import pci
from nova_sched.objects.fields import Field

_TEXTS = fields.dict_of(fields.TEXT, null=True)


@base.Registry.register
class Instance(base.NovaObject, base.DictCompat):
    """The few fields of an instance that scheduling looks at.

    memory_mb in MiB, disks in GiB.  Kilo sent version 1.x, others 2.x.
    """

    VERSION = '2.8'
    MAJORS = (1, 2)
    fields = {
        'id': Field(fields.INTEGER),
        'uuid': Field(fields.NAME),
        'host': Field(fields.NAME, null=True),
        'node': Field(fields.NAME, null=True),
        'project_id': Field(fields.TEXT, null=True),
        'user_id': Field(fields.TEXT, null=True),
        'vm_state': Field(fields.TEXT, null=True),
        'task_state': Field(fields.TEXT, null=True),
        'memory_mb': Field(fields.INTEGER, null=True),
        'vcpus': Field(fields.INTEGER, null=True),
        'root_gb': Field(fields.INTEGER, null=True),
        'ephemeral_gb': Field(fields.INTEGER, null=True),
        'instance_type_id': Field(fields.INTEGER, null=True),
        'flavor': Field(fields.nested(flavor.Flavor), null=True),
        'image_ref': Field(fields.TEXT, null=True),
        'system_metadata': Field(_TEXTS, null=True, unset=dict),
        'metadata': Field(_TEXTS, null=True, unset=dict),
        'numa_topology': Field(fields.nested(numa.InstanceNUMATopology),
                               null=True),
        'pci_requests': Field(fields.nested(pci.InstancePCIRequests),
                              null=True),
        'os_type': Field(fields.TEXT, null=True),
        'availability_zone': Field(fields.TEXT, null=True),
    }


@base.Registry.register
class InstanceList(base.NovaObjectList):
    """Instances; see Instance."""

    VERSION = '2.6'
    MAJORS = (1, 2)
    fields = {'objects': Field(fields.list_of(fields.nested(Instance)),
                               unset=list)}
