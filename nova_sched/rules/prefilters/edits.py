"""What request filters write into a request."""

from nova_sched import objects


def require(spec_obj, trait):
    """Have the root provider of the host report a trait."""
    spec_obj.request_level_params.root_required.add(trait)


def forbid(spec_obj, trait):
    """Keep the request from hosts whose root provider reports a trait."""
    spec_obj.request_level_params.root_forbidden.add(trait)


def require_any(spec_obj, aggregates):
    """Have the host be in one of these aggregates: uuids, at least one."""
    wanted = _destination(spec_obj)
    wanted.aggregates = [*(wanted.aggregates or ()), ','.join(aggregates)]


def forbid_all(spec_obj, aggregates):
    """Have the host be in none of these aggregates: uuids."""
    wanted = _destination(spec_obj)
    wanted.forbidden_aggregates = {
        *(wanted.forbidden_aggregates or ()), *aggregates}


def _destination(spec_obj):
    if spec_obj.requested_destination is None:
        spec_obj.requested_destination = objects.Destination()
    return spec_obj.requested_destination
