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
    """The fields of an instance that matter for scheduling.

    memory_mb in MiB, disks in GiB.  Kilo sends version 1.x, later releases
    2.x.
    Lazy fields of an instance on a host are read from the database at their
    first use, which may raise DatabaseUnavailable.
    """

    VERSION = '2.8'
    MAJORS = (1, 2)
    SHARED = base.NovaObject.SHARED | {'_kept'}
    fields = {
        'id': Field(fields.INTEGER),
        'uuid': Field(fields.NAME),
        'host': Field(fields.NAME, null=True),
        'node': Field(fields.NAME, null=True),
        **dict.fromkeys((
            'project_id', 'user_id', 'vm_state', 'task_state'),
            Field(fields.TEXT, null=True)),
        **dict.fromkeys((
            'memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb',
            'instance_type_id'), Field(fields.INTEGER, null=True)),
        **dict.fromkeys((
            'flavor', 'old_flavor', 'new_flavor'),
            Field(fields.nested(flavor.Flavor), null=True, lazy=True)),
        'image_ref': Field(fields.TEXT, null=True),
        'system_metadata': Field(_TEXTS, null=True, unset=dict, lazy=True),
        'metadata': Field(_TEXTS, null=True, unset=dict, lazy=True),
        'numa_topology': Field(fields.nested(numa.InstanceNUMATopology),
                               null=True, lazy=True),
        'pci_requests': Field(fields.nested(pci.InstancePCIRequests),
                              null=True, lazy=True),
        'power_state': Field(fields.INTEGER, null=True, lazy=True),
        **dict.fromkeys((
            'os_type', 'availability_zone', 'display_name', 'hostname'),
            Field(fields.TEXT, null=True, lazy=True)),
        **dict.fromkeys((
            'created_at', 'launched_at', 'updated_at'),
            Field(fields.DATETIME, null=True, lazy=True)),
    }

    @classmethod
    def on_host(cls, row, kept=None):
        """Return an instance with these fields, which are not checked.

        row: dict.  kept: object with ``of(uuid, name)``, which returns the
            value of a lazy field, or None.
        """
        obj = cls.known(row)
        obj.__dict__['_kept'] = kept
        return obj

    def obj_load_attr(self, attrname):
        """Read an unset lazy field of an instance on a host."""
        kept = self.__dict__.get('_kept')
        if kept is None:
            return
        value = kept.of(self.uuid, attrname)
        if value is None and callable(self.fields[attrname].unset):
            value = self.fields[attrname].unset()
        self.__dict__[f'_obj_{attrname}'] = value

    def get_flavor(self, namespace=None):
        """Return the Flavor, or None.

        namespace: ``old`` or ``new`` for the flavors of a resize.
        """
        return getattr(self, f'{namespace}_flavor' if namespace else 'flavor')


@base.Registry.register
class InstanceList(base.NovaObjectList):
    """Instances; see Instance."""

    VERSION = '2.6'
    MAJORS = (1, 2)
    fields = fields.objects_of(Instance)
