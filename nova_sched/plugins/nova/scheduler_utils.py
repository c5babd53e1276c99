"""As ``nova.scheduler.utils``: what drivers of one's own ask Placement by."""

from nova_sched.scheduler import utils

ResourceRequest = utils.ResourceRequest


def resources_from_request_spec(spec_obj):
    """What a RequestSpec asks Placement for: ResourceRequest.

    Raises InvalidInput if flavor and image contradict each other.
    """
    first, *_ = utils.resource_requests(spec_obj, max_results=None)
    return first


def request_is_rebuild(spec_obj):
    """Whether an instance is rebuilt on the host that it is on."""
    return spec_obj is not None and spec_obj.is_rebuild


def claim_resources(ctx, client, spec_obj, instance_uuid, alloc_req,
                    allocation_request_version=None):
    """Have an instance hold an allocation request: whether it does.

    client: SchedulerReportClient.  A rebuild holds what it needs.
    Raises AllocationUpdateFailed when something else claims for it.
    """
    if request_is_rebuild(spec_obj):
        return True
    return client.claim_resources(
        ctx, instance_uuid, alloc_req, spec_obj.project_id,
        spec_obj.user_id or ctx.user_id, allocation_request_version)
