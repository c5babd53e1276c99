"""The edits that request filters make to a request."""

from nova_sched import objects


def require(spec_obj, trait):
    """Require a trait of the host's root provider."""
    spec_obj.request_level_params.root_required.add(trait)


def forbid(spec_obj, trait):
    """Forbid a trait of the host's root provider."""
    spec_obj.request_level_params.root_forbidden.add(trait)


def require_any(spec_obj, aggregates):
    """Require the host to be in one of these aggregates: uuids, not empty."""
    destination = _destination(spec_obj)
    destination.aggregates = [*(destination.aggregates or ()),
                              ','.join(aggregates)]


def forbid_all(spec_obj, aggregates):
    """Forbid the host to be in any of these aggregates: uuids."""
    destination = _destination(spec_obj)
    destination.forbidden_aggregates = {
        *(destination.forbidden_aggregates or ()), *aggregates}


def _destination(spec_obj):
    if spec_obj.requested_destination is None:
        spec_obj.requested_destination = objects.Destination()
    return spec_obj.requested_destination
