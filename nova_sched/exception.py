"""Every exception this service raises on purpose.

Exception
 +-- NovaSchedException            base of all below; ``str()`` is for the person who must act
      +-- ConfigurationError       an option has a value the service cannot run with
      +-- DatabaseUnavailable      a database cannot be reached or lacks its tables
      +-- RemoteNovaException      crosses RPC under the class path of Nova's own exception
           +-- NoValidHost         no host, or not enough hosts, for a request (expected answer)
           +-- InvalidInput        a request that cannot be understood; names the field
           +-- SelectionObjectsWithOldRPCVersionNotSupported
                                   the RPC version cap rules out what a caller asked for

oslo.messaging sends the class name, ``__module__``, ``args`` and ``kwargs`` of
an exception; a Nova client imports ``nova.exception`` and rebuilds the class
from them, so the classes under RemoteNovaException claim that module.
"""


class NovaSchedException(Exception):
    """Base class of this service's exceptions."""


class ConfigurationError(NovaSchedException):
    """One option that stops the start: which, what it holds, what to write.

    option: ``[group] name``.  value: as found.  hint: what to do about it.
    """

    def __init__(self, option, value, hint):
        super().__init__(f'{option} = {value!r}: {hint}')
        self.option, self.value, self.hint = option, value, hint


class DatabaseUnavailable(NovaSchedException):
    """A database cannot be reached, or it has no scheduler tables."""


class RemoteNovaException(NovaSchedException):
    """An exception that callers catch under Nova's class path.

    kwargs fill the class's msg_fmt; ``code`` is the HTTP code Nova gives it.
    """

    msg_fmt = '%(reason)s'
    code = 500

    def __init__(self, **kwargs):
        super().__init__(self.msg_fmt % kwargs)
        self.kwargs = {**kwargs, 'code': self.code}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.__module__ = 'nova.exception'

    def format_message(self):
        """The message alone, as Nova's exceptions offer it."""
        return self.args[0]


class NoValidHost(RemoteNovaException):
    """No host, or fewer hosts than instances, can be selected."""

    msg_fmt = 'No valid host was found. %(reason)s'


class InvalidInput(RemoteNovaException):
    """The request itself is wrong; the reason names the field and its value."""

    msg_fmt = 'Invalid input received: %(reason)s'
    code = 400


class SelectionObjectsWithOldRPCVersionNotSupported(RemoteNovaException):
    """Selection objects need RPC 4.5, but the client is capped below it."""

    msg_fmt = ('Requests for Selection objects with alternates are not '
               'supported in select_destinations() before RPC version 4.5; '
               'version %(version)s requested.')
