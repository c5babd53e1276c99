"""The block devices of instances, as plug-ins look them up."""

from nova_sched.compat import current_hosts
from nova_sched.objects import base
from nova_sched.objects import fields
from nova_sched.objects.fields import Field

_TEXT = Field(fields.TEXT, null=True)
_FLAG = Field(fields.BOOLEAN, null=True)
_NUMBER = Field(fields.INTEGER, null=True)


@base.Registry.register
class BlockDeviceMapping(base.NovaObject, base.DictCompat):
    """One of them.  volume_size in GiB."""

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
        """Whether the instance boots from it."""
        return self.boot_index == 0

    @property
    def is_volume(self):
        """Whether it is a volume."""
        return self.destination_type == 'volume'


@base.Registry.register
class BlockDeviceMappingList(base.NovaObjectList):
    """Block devices.

    The class methods, which plug-ins call, answer of instances on the hosts
    at hand; an instance that is being booted has none in a cell yet.
    Raise DatabaseUnavailable, current_hosts.NoCurrentHosts.
    """

    VERSION = '1.17'
    fields = fields.objects_of(BlockDeviceMapping)

    @classmethod
    def get_by_instance_uuid(cls, context, instance_uuid, use_slave=False):
        """Return those of an instance."""
        return cls.get_by_instance_uuids(context, [instance_uuid])

    @classmethod
    def get_by_instance_uuids(cls, context, instance_uuids, use_slave=False):
        """Return those of some instances."""
        instances = current_hosts.get('BlockDeviceMappingList').instances
        return cls(objects=[
            BlockDeviceMapping(instance_uuid=uuid, **row)
            for uuid in instance_uuids
            for row in instances.detail(uuid, 'block_device_mapping') or ()])

    @classmethod
    def bdms_by_instance_uuid(cls, context, instance_uuids):
        """Return uuid -> BlockDeviceMappingList of some instances, of which
        those without any are missing: dict.
        """
        return {uuid: found for uuid in instance_uuids
                if (found := cls.get_by_instance_uuid(context, uuid))}

    def root_bdm(self):
        """Return what the instance boots from, or None."""
        return next((device for device in self if device.is_root), None)
