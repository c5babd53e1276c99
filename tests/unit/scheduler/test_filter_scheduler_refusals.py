"""Reasons of requests for which there are not enough hosts."""

import pytest

from nova_sched import exception
from tests.builders import requests
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import select
from tests.builders.hosts import a_host

FILTERS = ['ComputeFilter', 'RamFilter']


@pytest.mark.parametrize(('records', 'request_', 'reason'), [
    ([a_host('a', service_up=False), a_host('b', service_disabled=True),
      *(a_host(name, free_ram_mb=-16232) for name in 'cdef')], {},
     '0 of 6 hosts: 4 RamFilter (need 1024 MB, most free 152 MB), '
     '2 ComputeFilter (1 service down, 1 service disabled)'),
    ([a_host('a'), a_host('b', service_disabled=True)],
     {'ignore_hosts': ['a']},
     '0 of 2 hosts: 1 ignore_hosts, 1 ComputeFilter (service disabled)'),
    ([a_host('a', free_ram_mb=2200, total_usable_ram_mb=2200,
             ram_allocation_ratio=1.0)], {'num_instances': 4},
     '2 of 4 instances could be placed; 0 of 1 hosts: 1 RamFilter (need '
     '1024 MB, most free 152 MB)'),
    ([], {}, 'there are no hosts')])
def test_the_reason_counts_hosts_by_rule(records, request_, reason):
    with pytest.raises(exception.NoValidHost) as refused:
        select(MemoryScheduler(*records, enabled_filters=FILTERS),
               requests.a_request(memory_mb=1024, **request_))

    assert str(refused.value) == (
        'No valid host was found. There are not enough hosts available. '
        f'{reason}')
    assert refused.value.kwargs['code'] == 500


@pytest.mark.parametrize('named, host, node', [
    ({'force_hosts': ['x', 'z']}, 'x', None),
    ({'force_nodes': ['y', 'z']}, None, 'y'),
    ({'force_hosts': ['a'], 'force_nodes': ['y']}, 'a', 'y'),
    ({'force_hosts': ['x'], 'force_nodes': ['a']}, 'x', 'a'),
    ({'requested_destination': requests.a_destination(host='x')}, 'x', None),
    ({'requested_destination': requests.a_destination(host='a', node='y')},
     'a', 'y'),
])
def test_an_unknown_host_or_node_is_named(named, host, node):
    """The first one, in Nova's words with the blank at their end."""
    with pytest.raises(exception.NoValidHost) as refused:
        select(MemoryScheduler(a_host('a')), requests.a_request(**named))

    assert refused.value.kwargs['reason'] == (
        f'No such host - host: {host} node: {node} ')
