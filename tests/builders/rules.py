"""Filters and weighers for tests; see nova_sched.testing."""

from nova_sched.plugins import loading
from nova_sched.testing.rules import a_conf
from nova_sched.testing.rules import configured
from nova_sched.testing.rules import survivors
from nova_sched.testing.rules import weights
from tests.builders import hosts
from tests.builders import requests

__all__ = (
    'a_conf',
    'a_filter',
    'configured',
    'passing',
    'survivors',
    'weights',
)

_FILTERS = {cls.__name__: cls for cls in loading.all_filters()}


def a_filter(name, **options):
    """Return the built-in filter of that name with these options."""
    return configured(_FILTERS[name], **options)


def passing(rule, *records, running=None, **request):
    """Return the names of the hosts that pass a filter.

    rule: the filter, or its name.  records, running: as for hosts.hosts.
    request: keywords of a_request.
    """
    if isinstance(rule, str):
        rule = a_filter(rule)
    return survivors(rule, hosts.hosts(*records, running=running),
                     requests.a_request(**request))
