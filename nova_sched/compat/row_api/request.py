"""What the methods of a thread need to know of the request it decides."""

import contextlib
import contextvars
import dataclasses
import random

from nova_sched.compat import current_hosts
from nova_sched.compat import driver_signatures
from nova_sched.hosts import decision


@dataclasses.dataclass
class Request:
    """A request on its way, by rows.

    record: Decision.  hosts: its HostSnapshot; None where every call reads
        the hosts anew.
    draw: function that returns the random.Random to draw by.
    refuse: function that raises NoValidHost with what is known of the
        rejected hosts; None where nothing is.
    index: which instance it is about.
    weighed: weights.Weighed of the hosts that were weighed last, or None.
    weights: what hosts were sorted by: (host, node) -> weight, best first.
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
    """Return the Request that this thread decides; of nothing where it decides
    none.
    """
    return _current.get() or Request(
        driver_signatures.current().record or decision.Decision())


def on(hosts):
    """Have this thread's Request be about a HostSnapshot: a context."""
    return deciding(dataclasses.replace(current(), hosts=hosts))


@contextlib.contextmanager
def deciding(request):
    """Have a Request, and its hosts, be those that this thread decides."""
    token = _current.set(request)
    try:
        with current_hosts.being(request.hosts):
            yield
    finally:
        _current.reset(token)
