"""Exceptions of methods that plug-ins call: of objects, and of Placement's
client.

Plug-ins catch them by Nova's names (``compat/nova/exception.py``).
"""

from nova_sched import exception


class NovaException(exception.RemoteNovaException):
    """Base class of these exceptions.

    message: the text; by default ``msg_fmt`` filled with the keywords.
    """

    msg_fmt = 'An unknown exception occurred.'

    def __init__(self, message=None, **kwargs):
        if message is None:
            try:
                message = self.msg_fmt % kwargs
            except KeyError:
                # As in Nova, a missing keyword must not hide the error.
                message = self.msg_fmt
        Exception.__init__(self, message)
        self.kwargs = {'code': self.code, **kwargs}


class NotFound(NovaException):
    """A resource does not exist."""

    msg_fmt = 'Resource could not be found.'
    code = 404


class Invalid(NovaException):
    """An argument is invalid."""

    msg_fmt = 'Bad Request - Invalid Parameters'
    code = 400


class InvalidHypervisorVirtType(Invalid):
    """There is no such type of hypervisor."""

    msg_fmt = 'Hypervisor virtualization type %(hv_type)r is unknown.'


class HostNotFound(NotFound):
    """A host does not exist."""

    msg_fmt = 'Host %(host)s could not be found.'


class ComputeHostNotFound(HostNotFound):
    """A compute host does not exist."""

    msg_fmt = 'Compute host %(host)s could not be found.'


class InstanceNotFound(NotFound):
    """An instance does not exist."""

    msg_fmt = 'Instance %(instance_id)s could not be found.'


class ResourceProviderRetrievalFailed(NovaException):
    """Placement does not return a resource provider."""

    msg_fmt = 'Failed to get resource provider with UUID %(uuid)s'


class ResourceProviderTraitRetrievalFailed(NovaException):
    """Placement does not return the traits of a resource provider."""

    msg_fmt = ('Failed to get traits for resource provider with UUID '
               '%(uuid)s')
