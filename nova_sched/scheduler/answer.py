"""From picked rows to what callers are told: lists of Selection."""

from nova_sched import objects
from nova_sched.rules import aggregates as aggregate_values


def selections(snapshot, picked, alternates, zone, version=None):
    """Lists of Selection, one an instance: its pick and alternates.

    picked: list of (claims.Taken, limits).  alternates: as many lists of
        them, or none.
    zone: that of hosts in no aggregate with one.
    version: microversion of the allocation requests.
    """
    return [[_selection(snapshot, taken, limits, zone, version)
             for taken, limits in (pick, *others)]
            for pick, others in zip(
                picked, alternates or [()] * len(picked), strict=True)]


def _selection(snapshot, taken, limits, zone, version):
    state = snapshot.state(taken.row)
    zones = aggregate_values.values(state.aggregates, 'availability_zone')
    return objects.Selection(
        compute_node_uuid=state.uuid or '', service_host=state.host,
        nodename=state.nodename, cell_uuid=state.cell_uuid,
        limits=objects.SchedulerLimits.from_dict(limits),
        allocation_request=taken.on_the_wire(),
        allocation_request_version=version,
        availability_zone=min(zones, default=zone))
