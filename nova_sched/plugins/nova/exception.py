"""As ``nova.exception``: what plug-ins raise, catch and derive from.

These cross RPC under Nova's own class paths.
"""

from nova_sched import exception
from nova_sched import nova_exception

ClassNotFound = exception.ClassNotFound
ComputeHostMetricNotFound = exception.ComputeHostMetricNotFound
HostMappingNotFound = exception.HostMappingNotFound
InvalidInput = exception.InvalidInput
NoValidHost = exception.NoValidHost

ComputeHostNotFound = nova_exception.ComputeHostNotFound
HostNotFound = nova_exception.HostNotFound
InstanceNotFound = nova_exception.InstanceNotFound
NotFound = nova_exception.NotFound
NovaException = nova_exception.NovaException


class Invalid(NovaException):
    """Something that was given is wrong."""

    msg_fmt = 'Bad Request - Invalid Parameters'
    code = 400


class Forbidden(NovaException):
    """Whoever asks may not have it."""

    msg_fmt = 'Forbidden'
    code = 403


class ServiceUnavailable(Invalid):
    """A service that is needed does not answer."""

    msg_fmt = 'Service is unavailable at this time.'


class ComputeServiceUnavailable(ServiceUnavailable):
    """The compute service of a host does not answer."""

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
    """An instance was tried as often as it may be."""

    msg_fmt = 'Exceeded maximum number of retries. %(reason)s'
