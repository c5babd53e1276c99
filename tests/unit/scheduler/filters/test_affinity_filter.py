"""Filters that look at other instances, and at host addresses."""

import pytest

from nova_sched import exception
from nova_sched import objects
from nova_sched.hosts import values
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import INSTANCE_UUID
from tests.builders.requests import a_flavor
from tests.builders.requests import a_group
from tests.builders.requests import a_request
from tests.builders.rules import a_filter
from tests.builders.rules import passing

ABC = [a_host(name) for name in 'abc']
RUNNING = {'m1': 'a', 'm2': 'a', 'm3': 'b', 'stranger': 'c'}


def left(name, running=RUNNING, **request):
    """Which of the hosts a, b and c pass a filter, as text."""
    return ''.join(passing(name, *ABC, running=running, **request))


@pytest.mark.parametrize(('uuids', 'different', 'same'), [
    ([], 'abc', 'abc'),
    ('', 'abc', 'abc'),
    ('m1', 'bc', 'a'),
    (['m1', 'm2'], 'bc', 'a'),
    (['m1', 'm3'], 'c', 'ab'),
    (['m3', 'gone'], 'ac', 'b'),
    (['gone'], 'abc', ''),
    (['', ''], 'abc', ''),
])
def test_hints_keep_apart_from_all_or_beside_any(uuids, different, same):
    """Instances that do not run are on no host."""
    assert left('DifferentHostFilter',
                hints={'different_host': uuids}) == different
    assert left('SameHostFilter', hints={'same_host': uuids}) == same


@pytest.mark.parametrize('name', [
    'DifferentHostFilter', 'SameHostFilter', 'ServerGroupAntiAffinityFilter'])
def test_plain_requests_do_not_query_instances(name):
    block = hosts(*ABC)
    block.snapshot.instances = None

    assert a_filter(name).mask(block, a_request()).all()


@pytest.mark.parametrize(('flavor_ids', 'expected'), [
    ({}, 'abc'),
    ({'a': [5, 6], 'b': [5], 'c': [None]}, 'b'),
])
def test_type_affinity_wants_hosts_without_other_flavors(flavor_ids, expected):
    running = {f'{host}{number}': {'host': host, 'instance_type_id': flavor}
               for host, found in flavor_ids.items()
               for number, flavor in enumerate(found)}

    assert left('TypeAffinityFilter', running,
                flavor=a_flavor(id=5)) == expected


def test_type_affinity_ignores_instances_of_the_same_request():
    block = hosts(*ABC)
    block.instances.place('new', 'a')

    assert a_filter('TypeAffinityFilter').mask(block, a_request()).all()


class TestSimpleCIDRAffinityFilter:
    ADDRESSES = ('10.8.1.100', '10.8.1.7', '10.8.2.7', '192.168.1.124',
                 'fd00::7', None)

    def left(self, hints, addresses=ADDRESSES):
        rule = a_filter('SimpleCIDRAffinityFilter')
        block = hosts(*(a_host(host_ip=address) for address in addresses))
        mask = rule.mask(block, a_request(hints=hints))
        return block.where(mask).objects('host_ip')

    @pytest.mark.parametrize(('near', 'cidr', 'first', 'end'), [
        ('10.8.1.100', None, 0, 2), ('10.8.9.9', '/16', 0, 3),
        ('10.8.9.9', '/24', 0, 0), ('10.8.1.7', '', 1, 2),
        ('192.168.1.1', '24', 3, 4), ('1.2.3.4', '/0', 0, 4),
        ('fd00::1', '/64', 4, 5)])
    def test_passes_hosts_of_the_network(self, near, cidr, first, end):
        """The network is both hints joined; the slash is part of the hint."""
        hints = {} if cidr is None else {'cidr': cidr}

        assert self.left({'build_near_host_ip': near, **hints}) == list(
            self.ADDRESSES[first:end])

    @pytest.mark.parametrize('near', [{}, {'build_near_host_ip': ''},
                                      {'build_near_host_ip': ['']}])
    def test_passes_all_hosts_without_an_address(self, near):
        assert self.left({'cidr': '/24'} | near) == list(self.ADDRESSES)

    @pytest.mark.parametrize(('near', 'cidr'), [
        ('10.0.0.9', '24'), ('bogus', '/24'), ('10.0', '/24'),
        ('10.0.0.1', '/33'), ('10.0.0.1/8', '/24'),
        ('10.0.0.1', '/' + '9' * 5000), ('9' * 5000, '/24'),
        ('fd00::1%eth0', '/64')])
    def test_an_invalid_network_is_refused(self, near, cidr):
        with pytest.raises(exception.InvalidInput) as failure:
            self.left({'build_near_host_ip': near, 'cidr': cidr})

        assert ("hints build_near_host_ip and cidr = '" + near[:9]
                in str(failure.value))
        assert len(str(failure.value)) < 250

    @pytest.mark.parametrize('address', [
        'here', '', '9' * 5000, 'fe80::1%eth0'])
    def test_an_invalid_host_address_rejects_that_host(self, address, caplog):
        """One log line names the host."""
        values.warn.cache_clear()

        for _ in range(2):
            assert self.left({'build_near_host_ip': '10.0.0.1'},
                             [address, '10.0.0.2']) == ['10.0.0.2']

        [line] = caplog.messages
        assert line.startswith(
            f"Compute node host0 of host host0 has host_ip = '{address[:60]}")
        assert len(line) < 200

    @pytest.mark.parametrize(('hint', 'value'), [
        ('build_near_host_ip', ['10.0.0.1', '10.0.0.2']),
        ('cidr', ['/8', '/16']), ('cidr', [])])
    def test_a_hint_with_several_values_is_refused(self, hint, value):
        with pytest.raises(exception.InvalidInput,
                           match=f'hint {hint} = .* one text'):
            self.left({'build_near_host_ip': '10.0.0.1', hint: value})


class TestServerGroupAntiAffinityFilter:
    NAME = 'ServerGroupAntiAffinityFilter'

    @pytest.mark.parametrize(('group', 'expected'), [
        ({'policy': 'affinity', 'members': ['m1']}, 'abc'),
        ({'policy': 'soft-anti-affinity', 'members': ['m1']}, 'abc'),
        ({'members': ['m1', 'm3']}, 'c'),
        ({'members': ['m1', 'gone']}, 'bc'),
        ({'members': ['m1', 'm2'],
          'rules': {'max_server_per_host': 2}}, 'bc'),
        ({'members': ['m1', 'm1'],
          'rules': {'max_server_per_host': 2}}, 'abc'),
        ({'members': [], 'hosts': ['a']}, 'abc'),
        ({'rules': {'max_server_per_host': 0}}, ''),
        ({'rules': {'max_server_per_host': '-1'}}, ''),
        ({'members': ['m1'], 'rules': {'max_server_per_host': ' 1 '}}, 'bc'),
        ({'policy': 'affinity', 'rules': {'max_server_per_host': 'x'}},
         'abc'),
    ])
    def test_counts_the_members_on_each_host(self, group, expected):
        """By default one member may be on a host."""
        assert left(self.NAME, group=group) == expected

    def test_an_instance_may_stay_on_its_host(self):
        """So that it can be resized there."""
        running = {INSTANCE_UUID: 'a', 'm1': 'a', 'm3': 'b'}
        group = {'members': [INSTANCE_UUID, 'm1', 'm3']}

        assert left(self.NAME, running, group=group) == 'ac'

    @pytest.mark.parametrize('most', ['few', '2.0', '', '9' * 5000])
    def test_a_maximum_that_is_no_integer_is_refused(self, most):
        with pytest.raises(exception.InvalidInput, match=(
                r'instance_group\.rules\.max_server_per_host = .* integer')):
            left(self.NAME, group={'rules': {'max_server_per_host': most}})

    def test_an_invalid_maximum_does_not_matter_on_the_own_host(self):
        assert passing(
            self.NAME, a_host('a'), running={INSTANCE_UUID: 'a'},
            group=a_group(rules={'max_server_per_host': 'few'})) == ['a']

    @pytest.mark.parametrize(('members', 'hosts', 'running', 'expected'), [
        (['m1', 'm3'], [], RUNNING, 'abc'),
        (['m3'], ['a'], RUNNING, 'bc'),
        ([], ['a', 'b'], {INSTANCE_UUID: 'a'}, 'ac')])
    def test_groups_before_rocky_count_by_their_hosts(
            self, members, hosts, running, expected):
        group = a_group(members=members, hosts=hosts)
        group.wire_version = '1.10'

        assert left(self.NAME, running, group=group) == expected

    def test_groups_without_a_policy_field_count_by_their_hosts(self):
        """The caller set only ``policies``."""
        assert left(self.NAME, group=objects.InstanceGroup(
            policies=['anti-affinity'], members=['m3'], hosts=['a'])) == 'bc'

    def test_instances_placed_by_the_same_request_count(self):
        block = hosts(*ABC)
        block.instances.place('new', 'c')

        assert a_filter(self.NAME).mask(block, a_request(
            group={'members': ['new']})).tolist() == [True, True, False]


@pytest.mark.parametrize(('group', 'expected'), [
    ({'policy': 'anti-affinity', 'hosts': ['a']}, 'abc'),
    ({'policy': 'soft-affinity', 'hosts': ['a']}, 'abc'),
    ({'policy': 'affinity', 'hosts': ['a', 'c']}, 'ac'),
    ({'policy': 'affinity', 'hosts': ['A']}, ''),
    ({'policy': 'affinity', 'hosts': [], 'members': ['m1']}, 'abc'),
    ({'policy': 'affinity', 'hosts': ['elsewhere']}, ''),
])
def test_affinity_follows_the_hosts_of_the_group(group, expected):
    """The first member of a group without hosts goes anywhere."""
    assert left('ServerGroupAffinityFilter', group=group) == expected


@pytest.mark.parametrize(('tried', 'expected'), [
    (None, [0, 1, 2, 3]),
    ([('h1', 'n2'), ('h2', 'n1')], [0, 3]),
    ([('h1', 'N1')], [0, 1, 2, 3]),
    ([('h1', 'n9'), ('h9', 'n1')], [0, 1, 2, 3]),
    ([('h1', 'n1'), ('h2', 'n2')], [1, 2, 3]),
])
def test_retries_skip_exactly_the_host_and_node_tried_before(tried, expected):
    """Both names must match, including their case."""
    block = hosts(a_host('h1', nodename='n1'), a_host('h1', nodename='n2'),
                  a_host('h2', nodename='n1'), a_host('H1', nodename='n1'))

    mask = a_filter('RetryFilter').mask(block, a_request(retry=tried))
    assert mask.nonzero()[0].tolist() == expected


def test_many_retries_cost_one_look_at_the_hosts():
    looked_up, block = [], hosts(a_host('h1'))
    named = block.named
    block.named = lambda name, wanted: (
        looked_up.append(name) or named(name, wanted))

    a_filter('RetryFilter').mask(block, a_request(
        retry=[(f'h{number}', 'n1') for number in range(100)]))

    assert looked_up == ['host', 'nodename']
