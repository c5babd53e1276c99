"""As ``nova.exception``: what plug-ins raise, catch and derive from.

These cross RPC under Nova's own class paths.
"""

from nova_sched import exception

ComputeHostMetricNotFound = exception.ComputeHostMetricNotFound
InvalidInput = exception.InvalidInput
NoValidHost = exception.NoValidHost


class NovaException(exception.RemoteNovaException):
    """Base class; ``msg_fmt`` is filled with the keywords.

    message: the text itself, instead.
    """

    msg_fmt = 'An unknown exception occurred.'

    def __init__(self, message=None, **kwargs):
        if message is None:
            super().__init__(**kwargs)
            return
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
