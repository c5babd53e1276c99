"""The hosts that a thread decides on, for objects that are asked of others.

Nova's class methods, such as ``AggregateList.get_by_host``, are given the
name of a host and nothing that leads to the hosts of the request.  Whoever
gets row views of hosts has these at hand in its thread, for as long as
anybody has them.
"""

import contextvars
import weakref

from nova_sched import exception


class NothingAtHand(exception.NovaSchedException):
    """Something is asked of hosts where no hosts are decided on."""


class NotAnswered(exception.NovaSchedException):
    """Something is asked that the hosts of a request do not tell.

    Says what takes its place.
    """


def _nothing():
    return None


_hosts = contextvars.ContextVar('hosts', default=_nothing)


def have(hosts):
    """From now on these are the hosts at hand in this thread.

    hosts: an object with ``aggregates()`` and ``aggregates_of(host)``, lists
        of Aggregate, ``cell_of(host)``, uuid or None, ``states_of(column,
        labels)``, list of HostState, and ``instances``, a
        hosts.instances.Instances; it is not kept alive.
    """
    _hosts.set(weakref.ref(hosts))


def forget():
    """No hosts are at hand in this thread any more."""
    _hosts.set(_nothing)


def hosts(asked):
    """The hosts at hand.

    asked: what they are asked for, such as ``AggregateList.get_all``.
    Raises NothingAtHand outside of a request.
    """
    found = _hosts.get()()
    if found is None:
        raise NothingAtHand(
            f'{asked} is answered from the hosts of the request that is being '
            'decided, and this thread decides none: ask it in host_passes, '
            '_weigh_object and the like, and in the same thread')
    return found
