"""What a caller wants scheduled."""

from nova_sched.objects import base
from nova_sched.objects import bounds
from nova_sched.objects import destination
from nova_sched.objects import fields
from nova_sched.objects import flavor
from nova_sched.objects import image_meta
from nova_sched.objects import instance_group
from nova_sched.objects import limits
from nova_sched.objects import network
from nova_sched.objects import numa
from nova_sched.objects import pci
from nova_sched.objects import request_group
from nova_sched.objects import retries
from nova_sched.objects.fields import Field

# Nova has these in the same module.
Destination = destination.Destination
RequestGroup = request_group.RequestGroup
SchedulerLimits = limits.SchedulerLimits
SchedulerRetries = retries.SchedulerRetries

_HOSTS = fields.list_of(fields.NAME, bounds.HOSTS)


def _hint_values(value):
    """Return a hint's value: a list of text, for a lone value too."""
    if not isinstance(value, (list, tuple)):
        value = [value]
    return _HINTS.read(value)


def _hint_text(value):
    return str(value) if value.__class__ is bool else fields.TEXT.read(value)


_HINTS = fields.list_of(fields.Kind(_hint_text), bounds.HINT_VALUES)


#: Attributes of what an instance takes of a host, and of every object.
_DEMAND = frozenset((
    '_obj_flavor', '_obj_numa_topology', '_obj_pci_requests',
    '_obj_network_metadata', '_changed_fields', '_wire_version'))


@base.Registry.register
class RequestSpec(base.NovaObject):
    """One request: flavor, image, wishes and limits of where it may go.

    Comes from ``objects.arguments``, which checks it.  Unset fields read as
    their defaults; ``wire_version`` tells the caller's release.  ``_context``
    is the RequestContext of the call, or None.
    """

    VERSION = '1.15'
    #: Content of the operator's JSON file of options, for plug-ins.
    config_options = None
    fields = {
        'id': Field(fields.INTEGER),
        'image': Field(fields.nested(image_meta.ImageMeta), null=True),
        'numa_topology': Field(fields.nested(numa.InstanceNUMATopology),
                               null=True),
        'pci_requests': Field(fields.nested(pci.InstancePCIRequests),
                              null=True),
        'project_id': Field(fields.NAME, null=True),
        'user_id': Field(fields.NAME, null=True, since='1.9'),
        'availability_zone': Field(fields.NAME, null=True),
        'flavor': Field(fields.nested(flavor.Flavor)),
        'num_instances': Field(fields.between(1, bounds.INSTANCES), unset=1),
        'ignore_hosts': Field(_HOSTS, null=True),
        'force_hosts': Field(_HOSTS, null=True),
        'force_nodes': Field(_HOSTS, null=True),
        'requested_destination': Field(
            fields.nested(destination.Destination), null=True, since='1.6'),
        'retry': Field(fields.nested(retries.SchedulerRetries), null=True),
        'limits': Field(fields.nested(limits.SchedulerLimits), null=True),
        'instance_group': Field(
            fields.nested(instance_group.InstanceGroup), null=True),
        'scheduler_hints': Field(
            fields.dict_of(fields.Kind(_hint_values), null=True,
                           most=bounds.HINTS), null=True),
        'instance_uuid': Field(fields.NAME, null=True),
        'security_groups': Field(
            fields.nested(network.SecurityGroupList),
            unset=network.SecurityGroupList, since='1.8'),
        'network_metadata': Field(
            fields.nested(network.NetworkMetadata), null=True,
            unset=network.NetworkMetadata, keep=False, since='1.10'),
        'is_bfv': Field(fields.BOOLEAN, unset=False, since='1.11'),
        'requested_resources': Field(
            fields.list_of(fields.nested(request_group.RequestGroup),
                           bounds.REQUEST_GROUPS),
            null=True, unset=list, since='1.12'),
        'request_level_params': Field(
            fields.nested(request_group.RequestLevelParams),
            unset=request_group.RequestLevelParams, since='1.13'),
        'requested_networks': Field(
            fields.nested(network.NetworkRequestList),
            unset=network.NetworkRequestList, since='1.14'),
    }

    def settle(self):
        """Null request groups are none; a null hint is no hint."""
        if self.__dict__.get('_obj_requested_resources', self) is None:
            self.requested_resources = []
        hints = self.scheduler_hints
        if hints and None in hints.values():
            self.scheduler_hints = {
                name: value for name, value in hints.items()
                if value is not None}

    def demand(self):
        """Return what an instance takes of a host: a RequestSpec of that.

        It shares all values with this one, but can be given others.
        """
        twin = RequestSpec.__new__(RequestSpec)
        # Picks live longer than the call, whose context has a token.
        twin.__dict__['_context'] = None
        twin.__dict__.update({name: value for name, value
                              in self.__dict__.items() if name in _DEMAND})
        return twin

    @property
    def memory_mb(self):
        """Memory of one instance, MiB."""
        return self.flavor.memory_mb

    @property
    def vcpus(self):
        """CPUs of one instance."""
        return self.flavor.vcpus

    @property
    def root_gb(self):
        """Root disk of one instance, GiB, also when it is on a volume."""
        return self.flavor.root_gb

    @property
    def ephemeral_gb(self):
        """Ephemeral disks of one instance, GiB."""
        return self.flavor.ephemeral_gb

    @property
    def swap(self):
        """Swap disk of one instance, MiB."""
        return self.flavor.swap

    @property
    def image_properties(self):
        """The image's properties (ImageMetaProps), also without an image."""
        if self.image is None:
            return image_meta.ImageMetaProps()
        return self.image.properties

    def get_scheduler_hint(self, hint_name, default=None):
        """Return a hint: the element of a one-element list, or the whole list.
        """
        value = (self.scheduler_hints or {}).get(hint_name)
        if value is None:
            return default
        return value[0] if len(value) == 1 else value

    @property
    def is_rebuild(self):
        """Whether this only checks if a rebuild may stay on its host."""
        hints = self.scheduler_hints or {}
        return hints.get('_nova_check_type') == ['rebuild']
