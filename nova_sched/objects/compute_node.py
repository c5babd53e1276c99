"""Compute nodes as requests name them."""

from nova_sched.objects import base
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects.fields import Field


@base.Registry.register
class ComputeNode(base.NovaObject, base.DictCompat):
    """A node by its names.

    Requests carry nothing more of it (the hosts already tried); all other
    fields that may come along are kept aside unread.
    """

    VERSION = '1.19'
    fields = {
        'id': Field(fields.INTEGER),
        'uuid': Field(fields.NAME, since='1.15'),
        'host': Field(fields.NAME, null=True, since='1.7'),
        'hypervisor_hostname': Field(fields.NAME, null=True),
    }


@base.Registry.register
class ComputeNodeList(base.NovaObjectList):
    """Compute nodes; see ComputeNode."""

    VERSION = '1.17'
    fields = {'objects': Field(
        fields.list_of(fields.nested(ComputeNode), bounds.RETRIES),
        unset=list)}
