"""A request as the two dicts of RPC 4.0.

The client sends them to schedulers under a version cap below 4.3, and
unversioned notifications contain ``request_spec``.
"""

import datetime

from nova_sched.objects import fields
from nova_sched.objects.request_spec import RequestSpec

#: Keys of instance_properties that a RequestSpec is read from.
INSTANCE = ('uuid', 'project_id', 'user_id', 'availability_zone',
            'numa_topology', 'pci_requests')
_SPEC = fields.nested(RequestSpec)


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
            'uuid': spec_obj.instance_uuid,
            **{name: getattr(spec_obj, name) for name in (
                'project_id', 'user_id', 'availability_zone', 'root_gb',
                'ephemeral_gb', 'memory_mb', 'vcpus')},
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
