"""The hosts of the request that the current thread decides.

Nova's class methods, such as ``AggregateList.get_by_host``, take the name of
a host and no reference to the hosts of the request.  An adapter sets the hosts
of its thread (``set``, ``using``) before it passes row views of them to a
plug-in.  Before it calls a driver, which may look up hosts before it gets any,
it sets a function that makes them (``made_by``).  The service itself does not
read the hosts here.
"""

import contextlib
import contextvars
import functools
import weakref

from nova_sched import exception


class NoCurrentHosts(exception.NovaSchedException):
    """A method reads hosts in a thread that decides no request."""


class NotAnswered(exception.NovaSchedException):
    """A method is called for data that the hosts of a request do not have.

    The text names an alternative.
    """


def _nothing():
    return None


_hosts = contextvars.ContextVar('hosts', default=_nothing)
_make = contextvars.ContextVar('make', default=_nothing)


def set(hosts):
    """Set the hosts of this thread.

    hosts: an object with ``aggregates()`` and ``aggregates_of(host)``, lists
        of Aggregate, ``cell_of(host)``, uuid or None, ``states_of(column,
        labels)``, list of HostState, and ``instances``, a
        hosts.instances.Instances; kept as a weak reference.
    """
    _hosts.set(weakref.ref(hosts))


def clear():
    """Remove the hosts of this thread."""
    _hosts.set(_nothing)


@contextlib.contextmanager
def using(hosts):
    """Set the hosts of this thread for the time of a context."""
    token = _hosts.set(weakref.ref(hosts))
    try:
        yield
    finally:
        _hosts.reset(token)


@contextlib.contextmanager
def made_by(make):
    """Set a function that makes the hosts if none are set: a context.

    make: called at most once; its result is kept until the context ends.
    """
    token = _make.set(functools.cache(make))
    try:
        yield
    finally:
        _make.reset(token)


def get(method):
    """Return the hosts of this thread.

    method: the caller by name, such as ``AggregateList.get_all``.
    Raises NoCurrentHosts outside of a request.
    """
    hosts = _hosts.get()()
    if hosts is None:
        hosts = _make.get()()
    if hosts is None:
        raise NoCurrentHosts(
            f'{method} reads the hosts of the request that is being decided, '
            'and this thread decides none: call it in host_passes, '
            '_weigh_object and the like, and in the same thread')
    return hosts
