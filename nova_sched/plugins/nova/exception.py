"""As ``nova.exception``: what plug-ins raise, catch and derive from.

These cross RPC under Nova's own class paths.
"""

from nova_sched import exception

ClassNotFound = exception.ClassNotFound
ComputeHostMetricNotFound = exception.ComputeHostMetricNotFound
HostMappingNotFound = exception.HostMappingNotFound
InvalidInput = exception.InvalidInput
NoValidHost = exception.NoValidHost


class NovaException(exception.RemoteNovaException):
    """Base class; ``msg_fmt`` is filled with the keywords.

    message: the text itself, instead.
    """

    msg_fmt = 'An unknown exception occurred.'

    def __init__(self, message=None, **kwargs):
        if message is None:
            try:
                message = self.msg_fmt % kwargs
            except KeyError:
                # As in Nova: a missing word must not hide what went wrong.
                message = self.msg_fmt
        Exception.__init__(self, message)
        self.kwargs = {'code': self.code, **kwargs}


class Invalid(NovaException):
    """Something that was given is wrong."""

    msg_fmt = 'Bad Request - Invalid Parameters'
    code = 400


class NotFound(NovaException):
    """Something that was asked for is not there."""

    msg_fmt = 'Resource could not be found.'
    code = 404


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


class HostNotFound(NotFound):
    """There is no such host."""

    msg_fmt = 'Host %(host)s could not be found.'


class ComputeHostNotFound(HostNotFound):
    """There is no such compute host."""

    msg_fmt = 'Compute host %(host)s could not be found.'


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


class InstanceNotFound(NotFound):
    """There is no such instance."""

    msg_fmt = 'Instance %(instance_id)s could not be found.'


class InstanceGroupNotFound(NotFound):
    """There is no such server group."""

    msg_fmt = 'Instance group %(group_uuid)s could not be found.'
