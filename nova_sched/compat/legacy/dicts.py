"""Requests in the dict form of RPC 3.0 and 4.0 to 4.2.

Two clients send it: conductors of Kilo, with all values flattened to plain
JSON, and later ones under a version cap, with nested objects as envelopes.
Each part may have either form.
"""

import json

from nova_sched.compat.legacy import kilo_mapping
from nova_sched.compat.legacy import numa as numa_legacy
from nova_sched.objects import base
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects import flavor
from nova_sched.objects import glance_image
from nova_sched.objects import instance_group
from nova_sched.objects import pci
from nova_sched.objects.fields import MalformedError
from nova_sched.objects.request_spec import Destination
from nova_sched.objects.request_spec import RequestSpec
from nova_sched.objects.request_spec import SchedulerLimits
from nova_sched.objects.request_spec import SchedulerRetries

_INSTANCE = 'request_spec.instance_properties'
#: Key of instance_properties -> function that reads its value.
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


def spec_from_dicts(request_spec, filter_properties):
    """Return the RequestSpec of the two dicts, either of which may be None.

    Raises MalformedError, IncompatibleObjectVersion.
    """
    request_spec = _dict(request_spec, 'request_spec')
    properties = _dict(filter_properties, 'filter_properties')
    instance = _dict(request_spec.get('instance_properties'), _INSTANCE)
    spec_obj = RequestSpec.from_data({
        'image': _part(request_spec, 'request_spec', 'image',
                       glance_image.image_from_dict),
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
    """Return the RequestSpec version of the caller's release: text.

    Only nested objects reveal the release: NUMA cells of version 1.5 or later
    come from Victoria or later.
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
