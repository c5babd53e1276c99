"""As ``nova.exception``: exceptions that plug-ins raise, catch, derive from.

These cross RPC under Nova's own class paths.
"""

from nova_sched import exception
from nova_sched.compat import nova_exception

ClassNotFound = exception.ClassNotFound
ComputeHostMetricNotFound = exception.ComputeHostMetricNotFound
HostMappingNotFound = exception.HostMappingNotFound
InvalidInput = exception.InvalidInput
NoValidHost = exception.NoValidHost

ComputeHostNotFound = nova_exception.ComputeHostNotFound
HostNotFound = nova_exception.HostNotFound
InstanceNotFound = nova_exception.InstanceNotFound
Invalid = nova_exception.Invalid
InvalidHypervisorVirtType = nova_exception.InvalidHypervisorVirtType
NotFound = nova_exception.NotFound
NovaException = nova_exception.NovaException
ResourceProviderRetrievalFailed = (
    nova_exception.ResourceProviderRetrievalFailed)
ResourceProviderTraitRetrievalFailed = (
    nova_exception.ResourceProviderTraitRetrievalFailed)


class Forbidden(NovaException):
    """The caller lacks permission."""

    msg_fmt = 'Forbidden'
    code = 403


class ServiceUnavailable(Invalid):
    """A service that is needed is unavailable."""

    msg_fmt = 'Service is unavailable at this time.'


class ComputeServiceUnavailable(ServiceUnavailable):
    """The compute service of a host is unavailable."""

    msg_fmt = 'Compute service of %(host)s is unavailable at this time.'


class SchedulerHostFilterNotFound(NotFound):
    """There is no filter of that name."""

    msg_fmt = 'Scheduler Host Filter %(filter_name)s could not be found.'


class AggregateNotFound(NotFound):
    """There is no such aggregate."""

    msg_fmt = 'Aggregate %(aggregate_id)s could not be found.'


class FlavorNotFound(NotFound):
    """There is no such flavor."""

    msg_fmt = 'Flavor %(flavor_id)s could not be found.'


class ImageNotFound(NotFound):
    """There is no such image."""

    msg_fmt = 'Image %(image_id)s could not be found.'


class InstanceGroupNotFound(NotFound):
    """There is no such server group."""

    msg_fmt = 'Instance group %(group_uuid)s could not be found.'


class ServiceNotFound(NotFound):
    """There is no such service."""

    msg_fmt = 'Service %(service_id)s could not be found.'


class MaxRetriesExceeded(NoValidHost):
    """An instance has reached the maximum number of attempts."""

    msg_fmt = 'Exceeded maximum number of retries. %(reason)s'


class PciDeviceRequestFailed(NovaException):
    """The requested PCI devices are not available."""

    msg_fmt = 'PCI devices cannot be had: %(requests)s'


class ObjectActionError(NovaException):
    """An object does not support an action."""

    msg_fmt = 'Object cannot %(action)s: %(reason)s'


class OrphanedObjectError(NovaException):
    """An object without a context cannot read a field."""

    msg_fmt = '%(method)s of %(objtype)s needs a context, and it has none.'


class RequestFilterFailed(NovaException):
    """A request filter has failed, or refuses the request."""

    msg_fmt = 'Request cannot be scheduled: %(reason)s'


class AllocationUpdateFailed(NovaException):
    """The allocations of a consumer cannot be changed."""

    msg_fmt = 'Allocations of %(consumer_uuid)s not changed: %(error)s'


class CellMappingNotFound(NotFound):
    """There is no such cell."""

    msg_fmt = 'Cell %(uuid)s could not be found.'


class UnsupportedPolicyException(Invalid):
    """The policy of a server group is not supported."""

    msg_fmt = 'Policy of the server group is not supported: %(reason)s'


class ComputeResourcesUnavailable(ServiceUnavailable):
    """A host lacks resources for an instance."""

    msg_fmt = 'Not enough compute resources: %(reason)s'
