"""Filters and weighers for tests; see nova_sched.testing."""

from nova_sched.testing.rules import a_conf
from nova_sched.testing.rules import configured
from nova_sched.testing.rules import survivors
from nova_sched.testing.rules import weights

__all__ = (
    'a_conf',
    'configured',
    'survivors',
    'weights',
)
