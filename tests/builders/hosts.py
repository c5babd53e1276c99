"""Hosts for tests; see nova_sched.testing."""

from nova_sched.testing.host_builders import NEVER_REPORTED
from nova_sched.testing.host_builders import NOW
from nova_sched.testing.host_builders import a_host
from nova_sched.testing.host_builders import an_aggregate
from nova_sched.testing.host_builders import hosts
from nova_sched.testing.host_builders import instances_on
from nova_sched.testing.host_builders import one
from nova_sched.testing.host_builders import table

__all__ = (
    'NEVER_REPORTED',
    'NOW',
    'a_host',
    'an_aggregate',
    'hosts',
    'instances_on',
    'names',
    'one',
    'table',
)


def names(block):
    """The host names of a block, in its order."""
    return block.objects('host')
