"""As ``nova.scheduler.host_manager``: HostState and HostManager.

Plug-ins derive from ``HostManager`` and may override Nova's methods
(compat.nova_methods).  If the configured host manager has none of these, a
driver plug-in gets it in a ``NovaHostManager``.
"""

import collections
import datetime
import functools

from nova_sched.compat import nova_methods
from nova_sched.compat.nova import conf as nova_conf
from nova_sched.compat.row_api.nova_host_manager import NovaHostManagerMixin
from nova_sched.hosts import state as host_state
from nova_sched.objects import monitor_metric
from nova_sched.scheduler import host_manager

HostState = host_state.HostState
#: Name of a lock of Nova's; only plug-ins take it.
HOST_INSTANCE_SEMAPHORE = 'host_instance'
MetricItem = monitor_metric.MetricItem


class ReadOnlyDict(collections.UserDict):
    """A dict that cannot be changed."""

    def __init__(self, source=None):
        self.data = dict(source or {})

    def _refuse(self, *args, **kwargs):
        raise TypeError('a ReadOnlyDict cannot be changed')

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = update = setdefault = _refuse


def set_update_time_on_success(function):
    """Decorate a method of HostState that consumes an instance.

    An exception is only logged; ``updated`` is the time of the last success.
    """
    @functools.wraps(function)
    def consume(self, spec_obj):
        function(self, spec_obj)
        self.updated = datetime.datetime.now(datetime.UTC)
    return host_state.logs_failures(consume)


class HostManager(NovaHostManagerMixin, host_manager.HostManager):
    """This service's host manager, constructed without arguments.

    The service passes its configuration; a plug-in's object uses CONF.
    """

    #: See driver_signatures.
    NO_ARG_CONSTRUCTOR = True

    def __new__(cls, *args, **kwargs):
        made = super().__new__(cls)
        made.conf = nova_conf.given(args)
        # First: an __init__ as documented may not call its base class's.
        super().__init__(made, made.conf)
        return made

    def __init__(self):
        pass

    def check_set_up(self):
        """Raise ConfigurationError for faults of its filters and weighers."""
        if nova_methods.overridden(self, nova_methods.RULES):
            # Faults must appear at start.
            self.rules  # noqa: B018


class NovaHostManager(NovaHostManagerMixin):
    """Nova's methods in front of another host manager.

    manager: scheduler.host_manager.HostManager.
    """

    def __init__(self, conf, manager):
        self.conf, self._manager = conf, manager

    def __getattr__(self, name):
        methods = nova_methods.methods_of(type(self._manager))
        if name in methods:
            raise AttributeError(
                f'host managers have no {name} to call: '
                f'{methods[name].instead}; see doc/source/nova-methods.rst')
        return getattr(self._manager, name)


def of_nova(conf, manager):
    """Return a host manager that has Nova's methods."""
    if isinstance(manager, NovaHostManagerMixin):
        return manager
    return NovaHostManager(conf, manager)
