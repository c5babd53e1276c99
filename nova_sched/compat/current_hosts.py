"""The hosts that a thread decides on, for objects that are asked of others.

Nova's class methods, such as ``AggregateList.get_by_host``, are given the
name of a host and nothing that leads to the hosts of the request.  Whoever
hands row views of hosts to a plug-in sets the hosts of its thread here, and
whoever asks a plug-in for hosts says how to make them (``made_by``).
Nothing of the service itself reads them.
"""

import contextlib
import contextvars
import functools
import weakref

from nova_sched import exception


class NoCurrentHosts(exception.NovaSchedException):
    """Something is asked of hosts where no hosts are decided on."""


class NotAnswered(exception.NovaSchedException):
    """Something is asked that the hosts of a request do not tell.

    Says what takes its place.
    """


def _nothing():
    return None


_hosts = contextvars.ContextVar('hosts', default=_nothing)
_make = contextvars.ContextVar('make', default=_nothing)


def set(hosts):
    """Have these be the hosts of this thread from now on.

    hosts: an object with ``aggregates()`` and ``aggregates_of(host)``, lists
        of Aggregate, ``cell_of(host)``, uuid or None, ``states_of(column,
        labels)``, list of HostState, and ``instances``, a
        hosts.instances.Instances; it is not kept alive.
    """
    _hosts.set(weakref.ref(hosts))


def clear():
    """Have no hosts be those of this thread."""
    _hosts.set(_nothing)


@contextlib.contextmanager
def being(hosts):
    """Have these be the hosts of this thread for a while: a context."""
    token = _hosts.set(weakref.ref(hosts))
    try:
        yield
    finally:
        _hosts.reset(token)


@contextlib.contextmanager
def made_by(make):
    """Have a function make the hosts that are asked for before there are any:
    a context.

    make: called at most once; what it returns is kept as long.
    """
    token = _make.set(functools.cache(make))
    try:
        yield
    finally:
        _make.reset(token)


def get(asked):
    """Return the hosts of this thread.

    asked: what they are asked for, such as ``AggregateList.get_all``.
    Raises NoCurrentHosts outside of a request.
    """
    found = _hosts.get()()
    if found is None:
        found = _make.get()()
    if found is None:
        raise NoCurrentHosts(
            f'{asked} is answered from the hosts of the request that is being '
            'decided, and this thread decides none: ask it in host_passes, '
            '_weigh_object and the like, and in the same thread')
    return found
