"""The request that the current thread decides, for overridden methods."""

import contextlib
import contextvars
import dataclasses
import random

from nova_sched.compat import current_hosts
from nova_sched.compat import driver_signatures
from nova_sched.hosts import decision


@dataclasses.dataclass
class Request:
    """A request that is being decided.

    record: Decision.  hosts: its HostSnapshot; None where each call reads the
        hosts again.
    draw: function that returns the random.Random to draw by.
    refuse: function that raises NoValidHost with the reasons of the rejected
        hosts; None where there are no reasons.
    index: number of the instance in the request.
    weighed: weights.Weighed of the last weighing, or None.
    weights: (host, node) -> weight of the last sort, best first.
    claimed: the allocation request of each instance that has a claim: list.
    """

    record: object
    hosts: object = None
    draw: object = random.SystemRandom
    refuse: object = None
    index: int = 0
    weighed: object = None
    weights: dict = dataclasses.field(default_factory=dict)
    claimed: list = ()


_current = contextvars.ContextVar('request', default=None)


def current():
    """Return the Request that this thread decides, or an empty one."""
    return _current.get() or Request(
        driver_signatures.current().record or decision.Decision())


def on(hosts):
    """Set the HostSnapshot of this thread's Request: a context."""
    return deciding(dataclasses.replace(current(), hosts=hosts))


@contextlib.contextmanager
def deciding(request):
    """Set the Request that this thread decides, and its hosts: a context."""
    token = _current.set(request)
    try:
        with current_hosts.using(request.hosts):
            yield
    finally:
        _current.reset(token)
