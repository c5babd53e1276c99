"""What objects raise that plug-ins look up, as ``nova.exception`` has it.

Plug-ins catch these under Nova's names (``plugins/nova/exception.py``).
"""

from nova_sched import exception


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


class NotFound(NovaException):
    """Something that was asked for is not there."""

    msg_fmt = 'Resource could not be found.'
    code = 404


class HostNotFound(NotFound):
    """There is no such host."""

    msg_fmt = 'Host %(host)s could not be found.'


class ComputeHostNotFound(HostNotFound):
    """There is no such compute host."""

    msg_fmt = 'Compute host %(host)s could not be found.'


class InstanceNotFound(NotFound):
    """There is no such instance."""

    msg_fmt = 'Instance %(instance_id)s could not be found.'
