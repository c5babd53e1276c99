"""From picked rows to what callers are told: lists of Selection."""

import functools

from nova_sched import objects
from nova_sched.rules import aggregates as aggregate_values


def selections(snapshot, picked, alternates, zone, version=None):
    """Lists of Selection, one an instance: its pick and alternates.

    picked: list of (claims.Taken, limits).  alternates: as many lists of
        them, or none.
    zone: that of hosts in no aggregate with one.
    version: microversion of the allocation requests.
    """
    # The same few hosts are alternates of all instances.
    host_of = functools.cache(functools.partial(_host, snapshot, zone))
    return [[objects.Selection(
        **host_of(taken.row),
        limits=objects.SchedulerLimits.from_dict(limits),
        allocation_request=taken.on_the_wire(),
        allocation_request_version=version)
             for taken, limits in (pick, *others)]
            for pick, others in zip(
                picked, alternates or [()] * len(picked), strict=True)]


def _host(snapshot, zone, row):
    """The fields of a Selection that are the same for a host: dict."""
    state = snapshot.state(row)
    zones = aggregate_values.values(state.aggregates, 'availability_zone')
    return {'compute_node_uuid': state.uuid or '',
            'service_host': state.host, 'nodename': state.nodename,
            'cell_uuid': state.cell_uuid,
            'availability_zone': min(zones, default=zone)}
