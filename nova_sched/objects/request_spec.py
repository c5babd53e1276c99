"""The request of a caller, and the objects that occur only in it."""

import operator

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
    """A host, node, cell or aggregates to which the request is restricted.

    A host is required if the field is set.  Each entry of ``aggregates`` is a
    comma-separated list of aggregate uuids, of which one must match; all
    entries must match.
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
    """Amounts per resource class and traits, requested from one provider."""

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
    """Traits of the root provider, and groups of the same subtree."""

    VERSION = '1.1'
    fields = {
        'root_required': Field(_NAMES, unset=set),
        'root_forbidden': Field(_NAMES, unset=set),
        'same_subtree': Field(_NAME_LISTS, unset=list, since='1.1'),
    }


@base.Registry.register
class SchedulerLimits(base.NovaObject):
    """Limits of usage that filters set for the compute node.

    memory_mb in MiB, disk_gb in GiB; None means no limit.  ``other`` has the
    limits of third-party filters, which only the dict form can contain.
    """

    VERSION = '1.0'
    #: Limits with names that are no fields.
    other = {}
    fields = {
        'memory_mb': Field(fields.INTEGER, null=True),
        'vcpu': Field(fields.INTEGER, null=True),
        'disk_gb': Field(fields.INTEGER, null=True),
        'numa_topology': Field(fields.nested(numa.NUMATopologyLimits),
                               null=True),
    }

    @classmethod
    def from_dict(cls, limits):
        """Return the limits of a dict {name: amount}, or of None.

        Amounts are truncated to integers; ``numa_topology`` is as of
        ``numa.limits_from_any``.
        Raises MalformedError for an amount that is no number.
        """
        limits = limits or {}
        known = {name: limits.get(name) for name in cls.fields}
        known['numa_topology'] = numa.limits_from_any(known['numa_topology'])
        obj = cls.from_data(known, cls.VERSION)
        obj.other = {name: value for name, value in limits.items()
                     if name not in cls.fields}
        return obj

    def to_dict(self):
        """Return the set limits: {name: amount or object}."""
        known = {name: getattr(self, name) for name in self.fields}
        return {name: value for name, value in {**known, **self.other}.items()
                if value is not None}

    def obj_to_primitive(self, target_version=None, version_manifest=None):
        """Return the envelope, without ``other`` limits."""
        if self.other:
            LOG.warning('Limits %s are not sent: only the dict form of a '
                        'reply can contain them', sorted(self.other))
        return super().obj_to_primitive(target_version, version_manifest)


@base.Registry.register
class SchedulerRetries(base.NovaObject):
    """The number and hosts of failed attempts to build."""

    VERSION = '1.1'
    fields = {
        'num_attempts': Field(fields.SIZE, unset=1),
        'hosts': Field(fields.nested(compute_node.ComputeNodeList),
                       unset=compute_node.ComputeNodeList),
    }

    @classmethod
    def from_dict(cls, retry):
        """Return the retries of a dict, or None for an empty value.

        retry: {'num_attempts': n, 'hosts': [[host, node], ...]}, an envelope
            or the object.
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
    """Return the values of a hint: list of texts."""
    return _HINTS.read(value if isinstance(value, (list, tuple)) else [value])


def _hint_text(value):
    return str(value) if value.__class__ is bool else fields.TEXT.read(value)


_HINTS = fields.list_of(fields.Kind(_hint_text), bounds.HINT_VALUES)


#: Attributes that determine an instance's usage, or that all objects have.
_DEMAND = frozenset((
    '_obj_flavor', '_obj_numa_topology', '_obj_pci_requests',
    '_obj_network_metadata', '_changed_fields', 'wire_version'))


def _of_flavor(name, text):
    return property(operator.attrgetter(f'flavor.{name}'), doc=text)


@base.Registry.register
class RequestSpec(base.NovaObject):
    """One request: flavor, image, and the conditions on its hosts.

    ``objects.arguments`` checks it.  Unset fields have their defaults;
    ``wire_version`` shows the caller's release.  ``_context`` is the
    RequestContext of the call, or None.
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
        """Replace null request groups by an empty list; remove null hints."""
        if self.__dict__.get('_obj_requested_resources', self) is None:
            self.requested_resources = []
        hints = self.scheduler_hints
        if hints and None in hints.values():
            self.scheduler_hints = {
                name: value for name, value in hints.items()
                if value is not None}

    def demand(self):
        """Return a RequestSpec with the fields that determine the usage.

        Its values are shared with this object.
        """
        twin = RequestSpec.__new__(RequestSpec)
        # Picks outlive the call, whose context contains a token.
        twin.__dict__['_context'] = None
        twin.__dict__.update({name: value for name, value
                              in self.__dict__.items() if name in _DEMAND})
        return twin

    memory_mb = _of_flavor('memory_mb', 'Memory of one instance, MiB.')
    vcpus = _of_flavor('vcpus', 'CPUs of one instance.')
    root_gb = _of_flavor('root_gb', 'Root disk of one instance, GiB, also '
                         'with a volume.')
    ephemeral_gb = _of_flavor('ephemeral_gb', 'Ephemeral disks of one '
                              'instance, GiB.')
    swap = _of_flavor('swap', 'Swap disk of one instance, MiB.')

    @property
    def image_properties(self):
        """The image's ImageMetaProps, empty without an image."""
        return (image_meta.ImageMetaProps() if self.image is None
                else self.image.properties)

    def get_scheduler_hint(self, hint_name, default=None):
        """Return the value of a hint, or the list of several values."""
        value = (self.scheduler_hints or {}).get(hint_name)
        if value is None:
            return default
        return value[0] if len(value) == 1 else value

    @property
    def is_rebuild(self):
        """Whether it only checks that an instance can be rebuilt in place."""
        hints = self.scheduler_hints or {}
        return hints.get('_nova_check_type') == ['rebuild']
