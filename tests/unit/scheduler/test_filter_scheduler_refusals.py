"""What a caller is told when there are not enough hosts."""

import re

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_sched import exception
from nova_sched.scheduler import filters
from tests.builders import clouds
from tests.builders import requests
from tests.builders.drivers import CELL1
from tests.builders.drivers import CELL2
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import select
from tests.builders.examples import examples
from tests.builders.hosts import a_host

PREFIX = 'There are not enough hosts available. '
FILTERS = ('RetryFilter', 'AvailabilityZoneFilter', 'ComputeFilter',
           'ComputeCapabilitiesFilter', 'ImagePropertiesFilter', 'RamFilter',
           'DiskFilter', 'CoreFilter', 'ServerGroupAntiAffinityFilter',
           'ServerGroupAffinityFilter')


class FaultyFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, filter_properties):
        raise ZeroDivisionError('of the plug-in')


def a_scheduler(*records, enabled=FILTERS, **options):
    return MemoryScheduler(*records, enabled_filters=list(enabled), **options)


def refusal(scheduler, spec, instance_uuids=None):
    """The reason of the NoValidHost that a request ends with."""
    with pytest.raises(exception.NoValidHost) as refused:
        select(scheduler, spec, instance_uuids)
    return refused.value.kwargs['reason']


class TestReason:
    def test_counts_hosts_by_the_rule_that_rejected_them(self):
        scheduler = a_scheduler(
            a_host('a', service_up=False), a_host('b', service_disabled=True),
            *(a_host(name, free_ram_mb=-16232) for name in 'cdef'))

        assert refusal(scheduler, requests.a_request(memory_mb=1024)) == (
            PREFIX + '0 of 6 hosts: 4 RamFilter (need 1024 MB, most free 152 '
            'MB), 2 ComputeFilter (1 service down, 1 service disabled)')

    def test_counts_what_the_request_itself_rules_out(self):
        scheduler = a_scheduler(a_host('a'),
                                a_host('b', service_disabled=True))

        reason = refusal(scheduler, requests.a_request(ignore_hosts=['a']))

        assert reason == (PREFIX + '0 of 2 hosts: 1 ignore_hosts, '
                          '1 ComputeFilter (service disabled)')

    def test_says_how_many_instances_could_be_placed(self):
        scheduler = a_scheduler(a_host(
            'a', free_ram_mb=2000, total_usable_ram_mb=2000,
            ram_allocation_ratio=1.0))

        reason = refusal(scheduler, requests.a_request(memory_mb=900),
                         [clouds.a_uuid(n) for n in range(1, 5)])

        assert reason == (
            PREFIX + '2 of 4 instances could be placed; 0 of 1 hosts: '
            '1 RamFilter (need 900 MB, most free 200 MB)')

    def test_says_so_when_there_are_no_hosts(self):
        assert refusal(a_scheduler(), requests.a_request()) == (
            PREFIX + 'there are no hosts')

    @pytest.mark.parametrize('named, host, node', [
        ({'force_hosts': ['x']}, 'x', None),
        ({'force_nodes': ['y']}, None, 'y'),
        ({'force_hosts': ['x', 'z']}, 'x', None),
        ({'force_nodes': ['y', 'z']}, None, 'y'),
        ({'force_hosts': ['a'], 'force_nodes': ['y']}, 'a', 'y'),
        ({'force_hosts': ['x'], 'force_nodes': ['a']}, 'x', 'a'),
        ({'requested_destination': requests.a_destination(host='x')},
         'x', None),
        ({'requested_destination': requests.a_destination(
            host='a', node='y')}, 'a', 'y'),
    ])
    def test_names_a_host_or_node_that_does_not_exist(self, named, host,
                                                      node):
        """The first one, in Nova's words with the blank at their end."""
        reason = refusal(a_scheduler(a_host('a')),
                         requests.a_request(**named))

        assert reason == f'No such host - host: {host} node: {node} '

    def test_follows_the_words_that_every_release_of_nova_uses(self):
        with pytest.raises(exception.NoValidHost) as refused:
            select(a_scheduler(), requests.a_request())

        assert str(refused.value).startswith(
            'No valid host was found. There are not enough hosts available.')
        assert refused.value.kwargs['code'] == 500


class TestFault:
    def test_in_a_plug_in_fails_the_request_as_itself(self, caplog):
        scheduler = MemoryScheduler(
            a_host('a'), available_filters=[f'{__name__}.FaultyFilter'],
            enabled_filters=['FaultyFilter'])

        with pytest.raises(ZeroDivisionError):
            select(scheduler, requests.a_request())

        message, = [text for text in caplog.messages
                    if text.startswith('Filter FaultyFilter failed')]
        assert 'on host (a, a)' in message
        assert "ZeroDivisionError('of the plug-in')" in message


NAMES = ('a', 'B', 'c', 'd', 'e', 'f', 'g', 'h')
HOST = st.fixed_dictionaries({
    'free_ram_mb': st.integers(-1000, 9000),
    'total_usable_ram_mb': st.just(9000),
    'ram_allocation_ratio': st.sampled_from([0.5, 1.0, 1.5]),
    'free_disk_mb': st.integers(0, 40) .map(lambda gb: gb * 1024),
    'total_usable_disk_gb': st.just(40),
    'vcpus_total': st.integers(0, 8),
    'cpu_allocation_ratio': st.sampled_from([1.0, 2.0]),
    'service_up': st.booleans() | st.just(True),
    'service_disabled': st.booleans() | st.just(False),
    'cell_uuid': st.sampled_from([CELL1, CELL2]),
    'aggregates': st.sampled_from([(), ({'availability_zone': 'z'},)]),
})
SOME = st.lists(st.sampled_from(NAMES), max_size=3)
MAYBE = st.none() | SOME
REQUEST = st.fixed_dictionaries({
    'memory_mb': st.sampled_from([1, 500, 3000]),
    'vcpus': st.integers(0, 3), 'root_gb': st.integers(0, 15),
    'availability_zone': st.none() | st.sampled_from(['nova', 'z']),
    'ignore_hosts': MAYBE,
    'retry': st.none() | SOME.map(lambda names: [(n, n) for n in names]),
    'group': st.none() | st.sampled_from([
        {'policy': 'affinity'}, {'policy': 'affinity', 'hosts': ['a']},
        {'policy': 'anti-affinity', 'members': [
            clouds.a_uuid(n) for n in range(1, 6)]}]),
    'requested_destination': st.none() | st.sampled_from([CELL1, CELL2]).map(
        lambda cell: requests.a_destination(cell=cell)),
})


class TestEveryRequest:
    @examples(150)
    @given(records=st.lists(HOST, max_size=len(NAMES)), asked=REQUEST,
           count=st.integers(1, 5))
    def test_is_placed_as_a_whole_or_accounts_for_every_host(
            self, records, asked, count):
        named = [a_host(name, **record) for name, record
                 in zip(NAMES, records, strict=False)]
        scheduler = a_scheduler(*named)
        uuids = [clouds.a_uuid(n) for n in range(1, count + 1)]
        try:
            answer = select(scheduler, requests.a_request(**asked), uuids,
                            return_alternates=True)
        except exception.NoValidHost as refused:
            assert_adds_up(refused.kwargs['reason'], len(named))
        else:
            assert len(answer) == count
            assert_fits(answer, {host['host']: host for host in named}, asked)


def assert_adds_up(reason, size):
    """The counted hosts are all the hosts there are."""
    counted = reason.removeprefix(PREFIX).rpartition('; ')[2]
    if not size:
        assert counted == 'there are no hosts'
        return
    head, _, rest = counted.partition(' hosts: ')
    assert head == f'0 of {size}'
    bare = re.sub(r' \([^()]*\)', '', rest)
    bare = re.sub(r'and \d+ more reasons? for ', '', bare)
    assert sum(int(part.split()[0]) for part in bare.split(', ')) == size


def assert_fits(answer, hosts, asked):
    """No host was given more than it has; none is there that may not be."""
    picked = [chosen[0].service_host for chosen in answer]
    for name in set(picked):
        host = hosts[name]
        times = picked.count(name)
        used = 9000 - host['free_ram_mb'] + times * asked['memory_mb']
        assert used <= 9000 * host['ram_allocation_ratio']
        assert times * asked['root_gb'] * 1024 <= host['free_disk_mb']
    for chosen in answer:
        for selection in chosen:
            host = hosts[selection.service_host]
            assert host['service_up']
            assert not host['service_disabled']
            assert selection.service_host.lower() not in {
                name.lower() for name in asked['ignore_hosts'] or ()}
        assert len({selection.cell_uuid for selection in chosen}) == 1
        assert not {s.service_host for s in chosen[1:]} & set(picked)
