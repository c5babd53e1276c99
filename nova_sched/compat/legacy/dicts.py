"""Requests in the dict form of RPC 3.0 and 4.0 to 4.2.

Two producers sent it: Kilo's conductors, with everything flattened to plain
JSON, and later clients under a version cap, whose nested objects stay
envelopes.  Either form is taken for either part, whoever the caller is; the
second is what our own client sends to old schedulers.
"""

import datetime
import json

from nova_sched.compat.legacy import image as image_legacy
from nova_sched.compat.legacy import kilo_mapping
from nova_sched.compat.legacy import numa as numa_legacy
from nova_sched.objects import base
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects import flavor
from nova_sched.objects import instance_group
from nova_sched.objects import pci
from nova_sched.objects.fields import MalformedError
from nova_sched.objects.request_spec import Destination
from nova_sched.objects.request_spec import RequestSpec
from nova_sched.objects.request_spec import SchedulerLimits
from nova_sched.objects.request_spec import SchedulerRetries

_INSTANCE = 'request_spec.instance_properties'
#: What is read of an instance: name -> function of its value.
INSTANCE = {
    'uuid': fields.NAME.read,
    'project_id': fields.NAME.read,
    'user_id': fields.NAME.read,
    'availability_zone': fields.NAME.read,
    'numa_topology': numa_legacy.topology_from_any,
    'pci_requests': pci.requests_from_any,
}
_HOSTS = fields.list_of(fields.NAME, bounds.HOSTS)
_NAMES = fields.list_of(fields.NAME, bounds.GROUP_MEMBERS)
_SPEC = fields.nested(RequestSpec)


def spec_from_dicts(request_spec, filter_properties):
    """Return the RequestSpec of the two dicts, either of which may be None.

    Raises MalformedError, IncompatibleObjectVersion.
    """
    request_spec = _dict(request_spec, 'request_spec')
    properties = _dict(filter_properties, 'filter_properties')
    instance = _dict(request_spec.get('instance_properties'), _INSTANCE)
    spec_obj = RequestSpec.from_data({
        'image': _part(request_spec, 'request_spec', 'image',
                       image_legacy.image_from_dict),
        'flavor': _flavor(request_spec, properties),
        'num_instances': _part(
            request_spec, 'request_spec', 'num_instances',
            fields.between(1, bounds.INSTANCES).read),
        **_of_instance(instance),
        **_of_properties(properties),
        'requested_resources': None,
        'is_bfv': False,
    }, '1.0')
    spec_obj.wire_version = _wire_version(spec_obj)
    kilo_mapping.remember_dicts(spec_obj, request_spec, properties)
    return spec_obj


def _wire_version(spec_obj):
    """Return the RequestSpec that a caller would have sent in place of dicts.

    Only the objects among the dicts tell its release: those of NUMA cells
    with dedicated CPUs, since version 1.5, are of after Ussuri.
    """
    cells = spec_obj.numa_topology.cells if spec_obj.numa_topology else ()
    newer = any(base.version_tuple(cell.wire_version) >= (1, 5)
                for cell in cells)
    return '1.13' if newer else '1.0'


def _dict(value, path):
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise MalformedError(value, 'must be a dict', path)
    return value


def _part(source, path, key, read):
    """Return source[key] as ``read`` makes it, None when missing or null."""
    value = source.get(key)
    if value is None:
        return None
    with fields.at(path, key):
        return read(value)


def _flavor(request_spec, properties):
    for source, path in ((request_spec, 'request_spec'),
                         (properties, 'filter_properties')):
        if source.get('instance_type') not in (None, {}):
            return _part(source, path, 'instance_type', _any_flavor)
    raise MalformedError.missing('request_spec', 'instance_type')


def _any_flavor(value):
    if not isinstance(value, dict):
        raise MalformedError(value, 'must be a flavor')
    if 'nova_object.name' in value:
        return flavor.Flavor.from_envelope(value)
    return flavor.Flavor.from_data(
        {name: value[name] for name in flavor.Flavor.fields
         if name in value}, flavor.Flavor.VERSION)


def _of_instance(instance):
    parts = {key: _part(instance, _INSTANCE, key, read)
             for key, read in INSTANCE.items()}
    parts['instance_uuid'] = parts.pop('uuid')
    return parts


def _of_properties(properties):
    reads = {
        'ignore_hosts': _HOSTS.read,
        'force_hosts': _HOSTS.read,
        'force_nodes': _HOSTS.read,
        'scheduler_hints': _hints,
        'retry': SchedulerRetries.from_dict,
        'requested_destination': fields.nested(Destination).read,
    }
    parts = {key: _part(properties, 'filter_properties', key, read)
             for key, read in reads.items()}
    parts['limits'] = _part(
        properties, 'filter_properties', 'limits', _limits
    ) or SchedulerLimits.from_dict(None)
    parts['instance_group'] = _part(
        properties, 'filter_properties', 'instance_group',
        fields.nested(instance_group.InstanceGroup).read
    ) or _group(properties)
    return parts


def _limits(value):
    if not isinstance(value, dict):
        raise MalformedError(value, 'must be a dict')
    if 'nova_object.name' in value:
        return SchedulerLimits.from_envelope(value)
    return SchedulerLimits.from_dict(value)


def _hints(value):
    """Return hints as lists of text; structured values become JSON text."""
    if not isinstance(value, dict):
        raise MalformedError(value, 'must be a dict')
    fields.check_most(value, bounds.HINTS)
    hints = {}
    for name, hint in value.items():
        try:
            hints[name] = None if hint is None else [
                _hint(item) for item in
                (hint if isinstance(hint, (list, tuple)) else [hint])]
        except (ValueError, RecursionError):
            raise MalformedError(hint, 'must be text or a list of text',
                                 name) from None
    return hints


def _hint(item):
    if isinstance(item, (dict, list)) or item is None:
        return json.dumps(item, sort_keys=True)
    return item


def _group(properties):
    """Return the server group from the group_* keys, None without one."""
    if not (properties.get('group_updated')
            or properties.get('group_policies')):
        return None
    hosts, members, policies = (
        _part(properties, 'filter_properties', key, _NAMES.read)
        for key in ('group_hosts', 'group_members', 'group_policies'))
    known = [name for name in policies or ()
             if name in instance_group.POLICIES]
    group = {'hosts': hosts or [], 'members': members or [],
             'policies': known or policies or []}
    uuid = _part(properties, 'filter_properties', 'group_uuid',
                 fields.NAME.read)
    # 1.9 is Kilo's: the group's hosts count, and it has no rules.
    return instance_group.InstanceGroup.from_data(
        {**group, 'uuid': uuid}, '1.9')


def to_request_spec_dict(spec_obj):
    """Return the dict request_spec of RPC 4.0 for a request.

    spec_obj: RequestSpec or its envelope.  Nested objects are envelopes, as
    later releases send them under a version cap.  Unversioned
    notifications are made of it.
    """
    spec_obj = _SPEC.read(spec_obj)
    return {
        'num_instances': spec_obj.num_instances,
        'image': {} if spec_obj.image is None else {
            name: _plain(value)
            for name, value in spec_obj.image.flat().items()},
        'instance_properties': {
            'numa_topology': _envelope(spec_obj.numa_topology),
            'pci_requests': _envelope(spec_obj.pci_requests),
            'project_id': spec_obj.project_id,
            'user_id': spec_obj.user_id,
            'availability_zone': spec_obj.availability_zone,
            'uuid': spec_obj.instance_uuid,
            'root_gb': spec_obj.root_gb,
            'ephemeral_gb': spec_obj.ephemeral_gb,
            'memory_mb': spec_obj.memory_mb,
            'vcpus': spec_obj.vcpus,
        },
        'instance_type': _envelope(spec_obj.flavor) or {},
    }


def to_filter_properties_dict(spec_obj):
    """Return the dict filter_properties of RPC 4.0; see to_request_spec_dict.
    """
    spec_obj = _SPEC.read(spec_obj)
    made = {name: getattr(spec_obj, name)
            for name in ('ignore_hosts', 'force_hosts', 'force_nodes')}
    made['requested_destination'] = _envelope(spec_obj.requested_destination)
    made['scheduler_hints'] = {
        name: spec_obj.get_scheduler_hint(name)
        for name in spec_obj.scheduler_hints or {}}
    made['retry'] = spec_obj.retry and spec_obj.retry.to_dict()
    group = spec_obj.instance_group
    if group is not None:
        made |= {'group_updated': True, 'group_hosts': group.hosts or [],
                 'group_policies': group.policies,
                 'group_members': group.members or [],
                 'group_uuid': group.uuid}
    made = {key: value for key, value in made.items()
            if value or (key.startswith('group_') and value is not None)}
    limits_ = {} if spec_obj.limits is None else spec_obj.limits.to_dict()
    if 'numa_topology' in limits_:
        limits_['numa_topology'] = limits_['numa_topology'].obj_to_primitive(
            '1.0')
    return {**made, 'limits': limits_}


def _envelope(obj):
    return None if obj is None else obj.obj_to_primitive()


def _plain(value):
    """Return a value of an image without what JSON does not know."""
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat(timespec='microseconds')
    return value
