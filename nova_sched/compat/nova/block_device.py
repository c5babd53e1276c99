"""The block devices of instances, for lookups by plug-ins."""

from nova_sched.compat import current_hosts
from nova_sched.objects import base
from nova_sched.objects import fields
from nova_sched.objects.fields import Field

_TEXT = Field(fields.TEXT, null=True)
_FLAG = Field(fields.BOOLEAN, null=True)
_NUMBER = Field(fields.INTEGER, null=True)


@base.Registry.register
class BlockDeviceMapping(base.NovaObject, base.DictCompat):
    """One block device.  volume_size in GiB."""

    VERSION = '1.20'
    fields = {
        'instance_uuid': _TEXT,
        'device_name': _TEXT,
        'source_type': _TEXT,
        'destination_type': _TEXT,
        'guest_format': _TEXT,
        'boot_index': _NUMBER,
        'volume_id': _TEXT,
        'volume_size': _NUMBER,
        'image_id': _TEXT,
        'delete_on_termination': _FLAG,
        'no_device': _FLAG,
    }

    @property
    def is_root(self):
        """Whether it is the boot device."""
        return self.boot_index == 0

    @property
    def is_volume(self):
        """Whether it is a volume."""
        return self.destination_type == 'volume'


@base.Registry.register
class BlockDeviceMappingList(base.NovaObjectList):
    """Block devices.

    The class methods return the devices of instances on the hosts of the
    current request; an instance that is being created has none in a cell yet.
    They raise DatabaseUnavailable, current_hosts.NoCurrentHosts.
    """

    VERSION = '1.17'
    fields = fields.objects_of(BlockDeviceMapping)

    @classmethod
    def get_by_instance_uuid(cls, context, instance_uuid, use_slave=False):
        """Return the devices of an instance."""
        return cls.get_by_instance_uuids(context, [instance_uuid])

    @classmethod
    def get_by_instance_uuids(cls, context, instance_uuids, use_slave=False):
        """Return the devices of some instances."""
        instances = current_hosts.get('BlockDeviceMappingList').instances
        return cls(objects=[
            BlockDeviceMapping(instance_uuid=uuid, **row)
            for uuid in instance_uuids
            for row in instances.detail(uuid, 'block_device_mapping') or ()])

    @classmethod
    def bdms_by_instance_uuid(cls, context, instance_uuids):
        """Return a dict uuid -> BlockDeviceMappingList.

        Instances without devices are left out.
        """
        return {uuid: devices for uuid in instance_uuids
                if (devices := cls.get_by_instance_uuid(context, uuid))}

    def root_bdm(self):
        """Return the boot device, or None."""
        return next((device for device in self if device.is_root), None)
