"""What a caller wants scheduled, and the objects in it alone."""

from oslo_log import log as logging

from nova_sched.objects import base
from nova_sched.objects import bounds
from nova_sched.objects import cell_mapping
from nova_sched.objects import compute_node
from nova_sched.objects import fields
from nova_sched.objects import flavor
from nova_sched.objects import image_meta
from nova_sched.objects import instance_group
from nova_sched.objects import network
from nova_sched.objects import numa
from nova_sched.objects import pci
from nova_sched.objects.fields import Field
from nova_sched.objects.fields import MalformedError

LOG = logging.getLogger(__name__)

_NAMES = fields.set_of(fields.NAME, bounds.GROUP_NAMES)
_NAME_LISTS = fields.list_of(
    fields.list_of(fields.NAME, bounds.GROUP_NAMES), bounds.GROUP_NAMES)
_HOSTS = fields.list_of(fields.NAME, bounds.HOSTS)


@base.Registry.register
class Destination(base.NovaObject):
    """A host, node, cell or aggregates that the request is bound to.

    "Has a host" means that the field is set.  Each entry of ``aggregates``
    is a comma-joined list of aggregate uuids of which one must fit; all
    entries must be met.
    """

    VERSION = '1.4'
    fields = {
        'host': Field(fields.NAME),
        'node': Field(fields.NAME, null=True),
        'cell': Field(fields.nested(cell_mapping.CellMapping), null=True,
                      since='1.1'),
        'aggregates': Field(
            fields.list_of(fields.NAME, bounds.GROUP_NAMES), null=True,
            since='1.2'),
        'allow_cross_cell_move': Field(fields.BOOLEAN, unset=False,
                                       since='1.3'),
        'forbidden_aggregates': Field(
            fields.set_of(fields.NAME, bounds.GROUP_NAMES), null=True,
            since='1.4'),
    }


@base.Registry.register
class RequestGroup(base.NovaObject):
    """Amounts per resource class and traits wanted of one provider."""

    VERSION = '1.3'
    fields = {
        'use_same_provider': Field(fields.BOOLEAN, unset=True),
        'resources': Field(
            fields.dict_of(fields.SIZE, most=bounds.GROUP_NAMES), unset=dict),
        'required_traits': Field(_NAMES, unset=set),
        'forbidden_traits': Field(_NAMES, unset=set),
        'aggregates': Field(_NAME_LISTS, unset=list),
        'forbidden_aggregates': Field(_NAMES, unset=set, since='1.3'),
        'requester_id': Field(fields.TEXT, null=True, since='1.1'),
        'provider_uuids': Field(
            fields.list_of(fields.NAME, bounds.GROUP_NAMES), unset=list,
            since='1.1'),
        'in_tree': Field(fields.NAME, null=True, since='1.2'),
    }


@base.Registry.register
class RequestLevelParams(base.NovaObject):
    """Traits of the root provider and groups that belong together."""

    VERSION = '1.1'
    fields = {
        'root_required': Field(_NAMES, unset=set),
        'root_forbidden': Field(_NAMES, unset=set),
        'same_subtree': Field(_NAME_LISTS, unset=list, since='1.1'),
    }


@base.Registry.register
class SchedulerLimits(base.NovaObject):
    """Amounts up to which the compute node may fill itself, by filters.

    memory_mb in MiB, disk_gb in GiB; None means no limit.  ``other`` holds
    limits of third-party filters, which only the dict form can carry.
    """

    VERSION = '1.0'
    fields = {
        'memory_mb': Field(fields.INTEGER, null=True),
        'vcpu': Field(fields.INTEGER, null=True),
        'disk_gb': Field(fields.INTEGER, null=True),
        'numa_topology': Field(fields.nested(numa.NUMATopologyLimits),
                               null=True),
    }

    @classmethod
    def from_dict(cls, limits):
        """Return limits of {name: amount}; names that are missing become None.

        limits: dict or None.  Amounts are cut to whole numbers;
        ``numa_topology`` as of ``numa.limits_from_any``.
        Raises MalformedError for an amount that is no number.
        """
        limits = limits or {}
        known = {name: limits.get(name) for name in cls.fields}
        known['numa_topology'] = numa.limits_from_any(known['numa_topology'])
        made = cls.from_data(known, cls.VERSION)
        made.__dict__['other'] = {
            name: value for name, value in limits.items()
            if name not in cls.fields}
        return made

    @property
    def other(self):
        """Limits under names that the object form does not know."""
        return self.__dict__.get('other', {})

    def to_dict(self):
        """Return {name: amount} of the limits there are, objects as objects.
        """
        known = {name: getattr(self, name) for name in self.fields}
        return {name: value for name, value in {**known, **self.other}.items()
                if value is not None}

    def obj_to_primitive(self, target_version=None, version_manifest=None):
        """Return the envelope; limits of unknown names are left out."""
        if self.other:
            LOG.warning('Limits %s are not sent: only the dict form of a '
                        'reply can carry them', sorted(self.other))
        return super().obj_to_primitive(target_version, version_manifest)


@base.Registry.register
class SchedulerRetries(base.NovaObject):
    """How often and where a build has failed so far."""

    VERSION = '1.1'
    fields = {
        'num_attempts': Field(fields.SIZE, unset=1),
        'hosts': Field(fields.nested(compute_node.ComputeNodeList),
                       unset=compute_node.ComputeNodeList),
    }

    @classmethod
    def from_dict(cls, retry):
        """Return one of {'num_attempts': n, 'hosts': [[host, node], ...]}.

        An envelope is taken as well; anything empty gives None.
        Raises MalformedError.
        """
        if not retry:
            return None
        if isinstance(retry, cls):
            return retry
        if not isinstance(retry, dict):
            raise MalformedError(retry, 'must be a dict')
        if 'nova_object.name' in retry:
            return cls.from_envelope(retry)
        pairs = retry.get('hosts') or []
        with fields.at('hosts'):
            nodes = _NODES.read(pairs)
        return cls.from_data(
            {'num_attempts': retry.get('num_attempts'),
             'hosts': compute_node.ComputeNodeList(objects=nodes)},
            cls.VERSION)

    def to_dict(self):
        """Return {'num_attempts': n, 'hosts': [[host, node], ...]}."""
        return {'num_attempts': self.num_attempts,
                'hosts': [[node.host, node.hypervisor_hostname]
                          for node in self.hosts]}


def _node(pair):
    if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not all(
            name is None or isinstance(name, str) for name in pair):
        raise MalformedError(pair, 'must be [host, node]')
    return compute_node.ComputeNode(host=pair[0], hypervisor_hostname=pair[1])


_NODES = fields.list_of(fields.Kind(_node), bounds.RETRIES)


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
            fields.nested(Destination), null=True, since='1.6'),
        'retry': Field(fields.nested(SchedulerRetries), null=True),
        'limits': Field(fields.nested(SchedulerLimits), null=True),
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
            fields.list_of(fields.nested(RequestGroup),
                           bounds.REQUEST_GROUPS),
            null=True, unset=list, since='1.12'),
        'request_level_params': Field(
            fields.nested(RequestLevelParams),
            unset=RequestLevelParams, since='1.13'),
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
