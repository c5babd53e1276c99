"""The exceptions of this service.

Exception
 +-- NovaSchedException         the base; ``str()`` is for the operator
      +-- ConfigurationError    an option's value that the service cannot use
      +-- DatabaseUnavailable   a database is out of reach or has no tables
           +-- StatementFailed  it refuses one statement, and answers
      +-- PlacementUnavailable  Placement does not serve this scheduler
      +-- PlacementError        Placement is out of reach, or refuses to act
      +-- RequestFilterFailed   a request filter rejects a request
      +-- RemoteNovaException   crosses RPC under the class path of Nova's own
           +-- NoValidHost      too few hosts for a request: an answer
           +-- InvalidInput     a request is invalid; names the field
           +-- ComputeHostMetricNotFound
                                a host lacks a required metric
           +-- HostMappingNotFound
                                a plug-in asks for the cell of a host that
                                takes no part in the decision
           +-- SelectionObjectsWithOldRPCVersionNotSupported
                                a client's version cap is too low
           +-- AllocationUpdateFailed
                                another process claims for the same instance
           +-- ResourceProviderAggregateRetrievalFailed
                                Placement does not return the aggregates of a
                                segment
           +-- NovaException    Neutron does not return a port or network
           +-- PortNotFound     Neutron has no such port
           +-- Unauthorized     Neutron does not accept the caller's token
           +-- Forbidden        Neutron's policy forbids a read
           +-- NeutronAdminCredentialConfigurationInvalid
                                the credentials of [neutron] are invalid

oslo.messaging sends the class name, ``__module__``, ``args`` and ``kwargs`` of
an exception; a Nova client imports ``nova.exception`` and rebuilds the class
from them, so the classes under RemoteNovaException claim that module.
"""


class NovaSchedException(Exception):
    """Base class of this service's exceptions."""


class ConfigurationError(NovaSchedException):
    """An option's value with which the service cannot run.

    option: ``[group] name``.  value: as configured.  hint: what to do.
    """

    def __init__(self, option, value, hint):
        super().__init__(f'{option} = {value!r}: {hint}')
        self.option, self.value, self.hint = option, value, hint


class DatabaseUnavailable(NovaSchedException):
    """A database cannot be reached, or lacks the scheduler's tables.

    The text names it, and its cell.
    """

    def for_caller(self, text):
        """Return the exception for the caller, see NoValidHost."""
        return self if text == 'full' else DatabaseUnavailable(
            'The scheduler cannot read a database; its log says which and why')


class StatementFailed(DatabaseUnavailable):
    """One statement that a database refuses; the database answers."""


class PlacementUnavailable(NovaSchedException):
    """Placement does not answer this scheduler, which is no refusal.

    reason: text that may contain its address.  brief: text without it.
    """

    def __init__(self, reason, brief):
        super().__init__(reason)
        self.brief = brief

    def for_caller(self, text):
        """Return the exception for the caller, see NoValidHost."""
        return self if text == 'full' else PlacementUnavailable(
            self.brief, self.brief)


class PlacementError(NovaSchedException):
    """Placement cannot be reached, or refuses a request."""


class RequestFilterFailed(NovaSchedException):
    """A request filter rejects a request.

    The text is Nova's, and becomes part of the caller's NoValidHost.
    """

    def __init__(self, reason):
        super().__init__(f'Scheduling failed: {reason}')


class RemoteNovaException(NovaSchedException):
    """An exception that callers catch under Nova's class path.

    kwargs fill the class's msg_fmt; ``code`` is Nova's HTTP code for it.
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
        """Return the message, as Nova's exceptions do."""
        return self.args[0]


class NoValidHost(RemoteNovaException):
    """No host, or fewer hosts than instances, can be selected.

    reason: the full text, for operators.
    nova: Nova's text; by default that there are not enough hosts.
    filters, counts: other texts for callers; by default Nova's.
    """

    msg_fmt = 'No valid host was found. %(reason)s'
    nova = 'There are not enough hosts available.'

    def __init__(self, nova=None, filters=None, counts=None, **kwargs):
        super().__init__(**kwargs)
        self.nova = self.nova if nova is None else nova
        self.filters, self.counts = filters, counts

    def for_caller(self, text):
        """Return the exception for the caller.

        text: a choice of ``[nova_sched] no_valid_host_text``.
        """
        if text == 'full':
            return self
        reason = getattr(self, text)
        return NoValidHost(reason=self.nova if reason is None else reason)


class InvalidInput(RemoteNovaException):
    """A request is invalid; the reason names the field and its value."""

    msg_fmt = 'Invalid input received: %(reason)s'
    code = 400
    #: Name of the plug-in with this reason; None for built-in rules.
    refused_by = None
    #: Whether the request has spent its time budget.
    is_budget_spent = False
    #: Whether a filter raised it after filters that evaluate hints.
    is_behind_hints = False

    def for_caller(self, text):
        """Return the exception for the caller, see NoValidHost.

        Built-in reasons are about the request only.  A plug-in's reason may
        reveal hosts, and is replaced.  A refusal after filters of hints would
        reveal that hosts match the hints.
        """
        if text == 'full':
            return self
        if (text == 'filters' and self.is_behind_hints
                and not self.is_budget_spent):
            return NoValidHost(reason=NoValidHost.nova)
        return InvalidInput(
            reason=self.kwargs.get('reason', '') if self.refused_by is None
            else f'{self.refused_by} refuses the request')


class ComputeHostMetricNotFound(RemoteNovaException):
    """A host does not report a metric that weighing it requires."""

    msg_fmt = ('Metric %(name)s could not be found on the compute host node '
               '%(host)s.%(node)s.')
    code = 404

    def for_caller(self, text):
        """Return the exception for the caller, see NoValidHost.

        Nova's text names metric and host.
        """
        if text == 'full':
            return self
        if text == 'nova':
            return ComputeHostMetricNotFound(**self.kwargs)
        hidden = '(not shown)'
        return ComputeHostMetricNotFound(name='that is weighed', host=hidden,
                                         node=hidden)


class ClassNotFound(RemoteNovaException):
    """A path names no class of the expected kind."""

    msg_fmt = 'Class %(class_name)s could not be found: %(exception)s'
    code = 404


class HostMappingNotFound(RemoteNovaException):
    """A host is in no cell."""

    msg_fmt = 'No cell is known of host %(name)s.'
    code = 400


class SelectionObjectsWithOldRPCVersionNotSupported(RemoteNovaException):
    """Selection objects need RPC 4.5, but the client is capped below it."""

    msg_fmt = ('Requests for Selection objects with alternates are not '
               'supported in select_destinations() before RPC version 4.5; '
               'version %(version)s requested.')


class AllocationUpdateFailed(RemoteNovaException):
    """Two requests claim for the same instance at the same time.

    consumer_uuid: of the instance.  error: Placement's text.
    """

    msg_fmt = ('Placement holds other allocations of instance '
               '%(consumer_uuid)s than when it was asked for them; something '
               'else is placing the instance too: %(error)s')


class ResourceProviderAggregateRetrievalFailed(RemoteNovaException):
    """Placement does not return the aggregates of a provider.

    uuid: of the resource provider, which may be a network segment.
    """

    msg_fmt = ('Failed to get aggregates for resource provider with UUID '
               '%(uuid)s')


class NovaException(RemoteNovaException):
    """Neutron does not return a resource; the reason names it."""


class PortNotFound(RemoteNovaException):
    """Neutron has no port with this port_id, or hides it."""

    msg_fmt = 'Port id %(port_id)s could not be found.'
    code = 404


class Unauthorized(RemoteNovaException):
    """There is no token for Neutron, or Neutron does not accept it."""

    code = 401


class Forbidden(RemoteNovaException):
    """Neutron's policy forbids it; the reason is Neutron's."""

    code = 403


class NeutronAdminCredentialConfigurationInvalid(RemoteNovaException):
    """Neutron or Keystone does not accept the credentials of [neutron]."""

    msg_fmt = ('Neutron does not accept the credentials of [neutron]; check '
               'user, password and project there.')
    code = 400


def copied(error):
    """Return an exception like another one, without its traceback."""
    made = type(error).__new__(type(error), *error.args)
    vars(made).update(vars(error))
    return made
