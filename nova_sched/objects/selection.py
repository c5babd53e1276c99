"""The reply for one instance: a host, and its allocation request."""

import json

from nova_sched.objects import base
from nova_sched.objects import fields
from nova_sched.objects.fields import Field
from nova_sched.objects.request_spec import SchedulerLimits


@base.Registry.register
class Selection(base.NovaObject):
    """One host for an instance: the selected one or an alternate.

    allocation_request: JSON text of the Placement candidate to claim, or
    'null'.  limits: SchedulerLimits.
    """

    VERSION = '1.1'
    fields = {
        'compute_node_uuid': Field(fields.NAME),
        'service_host': Field(fields.NAME),
        'nodename': Field(fields.NAME),
        'cell_uuid': Field(fields.NAME),
        'limits': Field(fields.nested(SchedulerLimits), null=True),
        'allocation_request': Field(fields.NAME, null=True),
        'allocation_request_version': Field(fields.NAME, null=True),
        'availability_zone': Field(fields.NAME, null=True, since='1.1'),
    }

    @classmethod
    def from_host_state(cls, host_state, allocation_request=None,
                        allocation_request_version=None):
        """Return the Selection of a HostState.

        allocation_request: candidate of Placement to claim, a dict.
        """
        zones = (aggregate.metadata.get('availability_zone')
                 for aggregate in host_state.aggregates)
        return cls(
            compute_node_uuid=host_state.uuid or '',
            service_host=host_state.host, nodename=host_state.nodename,
            cell_uuid=host_state.cell_uuid,
            limits=SchedulerLimits.from_dict(host_state.limits),
            allocation_request=json.dumps(allocation_request),
            allocation_request_version=allocation_request_version,
            availability_zone=min(filter(None, zones), default=None))

    def to_dict(self):
        """Return the dict form: host, nodename, limits with objects."""
        return {'host': self.service_host, 'nodename': self.nodename,
                'limits': self.limits.to_dict() if self.limits else {}}


def to_wire(selection_lists, spec_version):
    """Return the reply with ``return_objects``: lists of envelopes.

    selection_lists: a list of Selection per instance, the selected host
        first.  spec_version: ``wire_version`` of the caller's RequestSpec,
        which shows its release.
    Callers before Ussuri (1.13) do not support Selection 1.1, nor, before
    Rocky (1.11), NUMATopologyLimits 1.1, and would hang.
    """
    caller = base.version_tuple(spec_version)
    version = '1.1' if caller >= (1, 13) else '1.0'
    return [[_envelope(selection, version, caller)
             for selection in selections] for selections in selection_lists]


def to_dicts(selections, spec_version):
    """Return the reply without ``return_objects``: a dict per instance.

    selections: the Selection per instance.  spec_version: see to_wire;
    '1.0' for callers that send dicts.
    """
    caller = base.version_tuple(spec_version)
    replies = [selection.to_dict() for selection in selections]
    for reply in replies:
        numa = reply['limits'].get('numa_topology')
        if numa is not None:
            reply['limits']['numa_topology'] = _limits_envelope(numa, caller)
    return replies


def _envelope(selection, version, caller):
    envelope = selection.obj_to_primitive(version)
    numa = selection.limits and selection.limits.numa_topology
    if numa is not None:
        envelope['nova_object.data']['limits']['nova_object.data'][
            'numa_topology'] = _limits_envelope(numa, caller)
    return envelope


def _limits_envelope(numa, caller):
    """Return NUMATopologyLimits in the caller's version.

    From Rocky to Ussuri, 1.1 is used only for networks.
    """
    has_networks = numa.network_metadata is not None
    return numa.obj_to_primitive(
        '1.1' if caller >= ((1, 11) if has_networks else (1, 13)) else '1.0')
