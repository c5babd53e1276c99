"""Filters by where other instances are, and by addresses."""

import numpy as np
import pytest

from nova_sched import exception
from nova_sched import objects
from nova_sched.hosts import values
from nova_sched.scheduler.filters.affinity_filter import DifferentHostFilter
from nova_sched.scheduler.filters.affinity_filter import SameHostFilter
from nova_sched.scheduler.filters.affinity_filter import (
    ServerGroupAffinityFilter,
)
from nova_sched.scheduler.filters.affinity_filter import (
    ServerGroupAntiAffinityFilter,
)
from nova_sched.scheduler.filters.affinity_filter import (
    SimpleCIDRAffinityFilter,
)
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import INSTANCE_UUID
from tests.builders.requests import a_group
from tests.builders.requests import a_request
from tests.builders.rules import survivors

RUNNING = {'m1': 'a', 'm2': 'a', 'm3': 'b', 'stranger': 'c'}


def block(running=None):
    return hosts(a_host('a'), a_host('b'), a_host('c'),
                 running=RUNNING if running is None else running)


def left(rule, group, running=None):
    """The hosts a group filter leaves of a, b and c, as text."""
    hosts = block(running)
    passing = rule().mask(hosts, a_request(group=group))
    return ''.join(hosts.where(passing).objects('host'))


def left_by_hints(rule, hints):
    """The hosts a filter leaves of a, b and c, as text."""
    hosts = block()
    passing = rule().mask(hosts, a_request(hints=hints))
    return ''.join(hosts.where(passing).objects('host'))


class TestHintsOfInstances:
    @pytest.mark.parametrize(('uuids', 'different', 'same'), [
        (None, 'abc', 'abc'),
        ([], 'abc', 'abc'),
        ('', 'abc', 'abc'),
        ('m1', 'bc', 'a'),
        (['m1'], 'bc', 'a'),
        (['m1', 'm2'], 'bc', 'a'),
        (['m1', 'm3'], 'c', 'ab'),
        (['m3', 'gone'], 'ac', 'b'),
        (['gone'], 'abc', ''),
        (['', ''], 'abc', ''),
    ])
    def test_keep_apart_from_all_or_beside_any(self, uuids, different, same):
        """Of the instances named; those that run nowhere are on no host."""
        assert left_by_hints(DifferentHostFilter,
                             {'different_host': uuids}) == different
        assert left_by_hints(SameHostFilter, {'same_host': uuids}) == same

    @pytest.mark.parametrize('rule', [DifferentHostFilter, SameHostFilter])
    def test_cost_no_look_at_the_instances_without_one(self, rule):
        hosts = block()
        hosts.snapshot.instances = None

        assert rule().mask(hosts, a_request()).all()

    @pytest.mark.parametrize('rule', [
        DifferentHostFilter, SameHostFilter, SimpleCIDRAffinityFilter])
    def test_are_looked_at_once_a_request(self, rule):
        assert not rule().run_filter_for_index(1)

    @pytest.mark.parametrize(('uuids', 'words'), [
        (['m1', 'm3', 'gone'], '3 instances, 2 of them on a, b'),
        (['gone'], '1 instances, 0 of them on any host')])
    def test_give_where_the_instances_are_as_the_reason(self, uuids, words):
        request = a_request(hints={'same_host': uuids})

        assert SameHostFilter().reason(block(), request) == (
            f'hint same_host names {words}')


class TestSimpleCIDRAffinityFilter:
    ADDRESSES = ('10.8.1.100', '10.8.1.7', '10.8.2.7', '192.168.1.124',
                 'fd00::7', None)

    def left(self, hints, addresses=ADDRESSES):
        block = hosts(*(a_host(host_ip=address) for address in addresses))
        mask = SimpleCIDRAffinityFilter().mask(block, a_request(hints=hints))
        return block.where(mask).objects('host_ip')

    @pytest.mark.parametrize(('near', 'cidr', 'left'), [
        ('10.8.1.100', None, ['10.8.1.100', '10.8.1.7']),
        ('10.8.1.100', '/24', ['10.8.1.100', '10.8.1.7']),
        ('10.8.9.9', '/16', ['10.8.1.100', '10.8.1.7', '10.8.2.7']),
        ('10.8.9.9', '/24', []),
        ('10.8.1.7', '', ['10.8.1.7']),
        ('192.168.1.1', '24', ['192.168.1.124']),
        ('1.2.3.4', '/0',
         ['10.8.1.100', '10.8.1.7', '10.8.2.7', '192.168.1.124']),
        ('fd00::1', '/64', ['fd00::7']),
    ])
    def test_takes_hosts_of_the_network(self, near, cidr, left):
        """Which is both hints put together; a host without address is out.

        A slash belongs to the hint: without one it continues the address.
        """
        hints = {'build_near_host_ip': near}
        if cidr is not None:
            hints['cidr'] = cidr

        assert self.left(hints) == left

    @pytest.mark.parametrize('hints', [
        {}, {'build_near_host_ip': ''}, {'build_near_host_ip': ['']},
        {'build_near_host_ip': []}])
    def test_takes_all_hosts_without_an_address_to_be_near_to(self, hints):
        assert self.left({'cidr': '/24'} | hints) == list(self.ADDRESSES)

    @pytest.mark.parametrize(('near', 'cidr'), [
        ('10.0.0.9', '24'), ('bogus', '/24'), ('10.0', '/24'),
        ('10.0.0.1', '/33'), ('10.0.0.1', 'x'), ('10.0.0.1/8', '/24'),
        ('10.0.0.1', '/' + '9' * 5000), ('9' * 5000, '/24'),
        ('fd00::1%eth0', '/64')])
    def test_refuses_what_is_no_network(self, near, cidr):
        with pytest.raises(exception.InvalidInput) as failure:
            self.left({'build_near_host_ip': near, 'cidr': cidr})

        assert ("hints build_near_host_ip and cidr = '" + near[:9]
                in str(failure.value))
        assert len(str(failure.value)) < 250

    @pytest.mark.parametrize('address', [
        'here', '', '10.0.0.256', '9' * 5000, 'fe80::1%eth0'])
    def test_rejects_a_host_with_what_is_no_address(self, address, caplog):
        """It alone, with one line that names it."""
        values._warn.cache_clear()

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
    def test_refuses_two_of_a_hint(self, hint, value):
        with pytest.raises(exception.InvalidInput,
                           match=f'hint {hint} = .* one text'):
            self.left({'build_near_host_ip': '10.0.0.1', hint: value})

    def test_says_which_network_is_needed(self):
        request = a_request(hints={'build_near_host_ip': '10.0.0.9'})
        block = hosts(a_host(host_ip='10.0.1.1'), a_host(host_ip=None))

        assert SimpleCIDRAffinityFilter().reason(block, request) == (
            'host address in 10.0.0.0/24 needed, hosts have 10.0.1.1, '
            'no address')


class TestServerGroupAntiAffinityFilter:
    @pytest.mark.parametrize(('group', 'passing'), [
        (None, 'abc'),
        ({'policy': 'affinity', 'members': ['m1']}, 'abc'),
        ({'policy': 'soft-anti-affinity', 'members': ['m1']}, 'abc'),
        ({'members': []}, 'abc'),
        ({'members': ['m1']}, 'bc'),
        ({'members': ['m1', 'm3']}, 'c'),
        ({'members': ['m1', 'gone']}, 'bc'),
        ({'members': ['m1', 'm2'],
          'rules': {'max_server_per_host': 2}}, 'bc'),
        ({'members': ['m1', 'm1'],
          'rules': {'max_server_per_host': 2}}, 'abc'),
        ({'members': ['m1', 'm2', 'm3'],
          'rules': {'max_server_per_host': 3}}, 'abc'),
        ({'members': [], 'hosts': ['a']}, 'abc'),
        ({'rules': {'max_server_per_host': 0}}, ''),
        ({'rules': {'max_server_per_host': '-1'}}, ''),
        ({'members': ['m1'], 'rules': {'max_server_per_host': ' 1 '}}, 'bc'),
        ({'policy': 'affinity', 'rules': {'max_server_per_host': 'x'}},
         'abc'),
    ])
    def test_counts_the_groups_members_on_each_host(self, group, passing):
        """Up to max_server_per_host, by default one, may be on a host."""
        assert left(ServerGroupAntiAffinityFilter, group) == passing

    def test_an_instance_may_stay_where_it_is(self):
        """So that it can be resized on its own host."""
        running = {INSTANCE_UUID: 'a', 'm1': 'a', 'm3': 'b'}
        group = {'members': [INSTANCE_UUID, 'm1', 'm3']}

        assert left(ServerGroupAntiAffinityFilter, group, running) == 'ac'

    @pytest.mark.parametrize('most', ['few', '2.0', '', '9' * 5000])
    def test_refuses_a_rule_that_is_no_integer(self, most):
        group = {'rules': {'max_server_per_host': most}}

        with pytest.raises(exception.InvalidInput, match=(
                r'instance_group\.rules\.max_server_per_host = .* integer')):
            left(ServerGroupAntiAffinityFilter, group)

    def test_a_rule_does_not_matter_where_the_instance_is(self):
        group = a_group(rules={'max_server_per_host': 'few'})
        block = hosts(a_host('a'), running={INSTANCE_UUID: 'a'})

        assert survivors(ServerGroupAntiAffinityFilter(), block,
                         a_request(group=group)) == ['a']

    @pytest.mark.parametrize(('members', 'hosts', 'passing'), [
        (['m1', 'm3'], [], 'abc'), ([], ['a'], 'bc'), (['m3'], ['a'], 'bc')])
    def test_groups_of_before_rocky_count_by_their_hosts(
            self, members, hosts, passing):
        """Such a group knows no rules, and its members do not matter."""
        group = a_group(members=members, hosts=hosts)
        group.wire_version = '1.10'

        assert left(ServerGroupAntiAffinityFilter, group) == passing

    def test_groups_without_a_policy_of_their_own_do_so_too(self):
        """The sender put it into ``policies`` only."""
        group = objects.InstanceGroup(
            policies=['anti-affinity'], members=['m3'], hosts=['a'])

        assert left(ServerGroupAntiAffinityFilter, group) == 'bc'

    def test_an_instance_of_before_rocky_may_stay_where_it_is(self):
        group = a_group(hosts=['a', 'b'])
        group.wire_version = '1.10'

        assert left(ServerGroupAntiAffinityFilter, group,
                    {INSTANCE_UUID: 'a'}) == 'ac'

    def test_asks_for_no_locations_without_a_group(self):
        """Most requests cost no look at the instances."""
        hosts = block()
        hosts.snapshot.instances = None

        assert ServerGroupAntiAffinityFilter().mask(hosts, a_request()).all()

    def test_sees_what_the_same_request_placed_before(self):
        hosts = block()
        hosts.instances.place('new', 'c')
        request = a_request(group={'members': ['new']})

        assert ServerGroupAntiAffinityFilter().mask(
            hosts, request).tolist() == [True, True, False]

    @pytest.mark.parametrize(('rules', 'words'), [
        ({}, 'at most 1 of its group on a host, it has 1 on b, 2 on a'),
        ({'max_server_per_host': 3},
         'at most 3 of its group on a host, it has 1 on b, 2 on a'),
        ({'max_server_per_host': 0},
         'at most 0 of its group on a host, it has 1 on b, 2 on a'),
    ])
    def test_says_how_many_may_be_and_are_on_a_host(self, rules, words):
        """On the hosts that it has rejected."""
        rejected = block().where(np.array([True, True, False]))
        request = a_request(group={'members': ['m1', 'm2', 'm3', 'stranger'],
                                   'rules': rules})

        assert ServerGroupAntiAffinityFilter().reason(
            rejected, request) == f'anti-affinity, {words}'

    def test_says_where_a_group_of_before_rocky_is(self):
        group = a_group(hosts=['a', 'b', 'elsewhere'])
        group.wire_version = '1.10'
        rejected = block().where(np.array([True, True, False]))

        assert ServerGroupAntiAffinityFilter().reason(
            rejected, a_request(group=group)) == (
            'anti-affinity, at most 1 of its group on a host, it is on a, b')

    def test_logs_what_operators_search_for(self, caplog):
        with caplog.at_level('DEBUG', 'nova_sched'):
            left(ServerGroupAntiAffinityFilter, {'uuid': 'g'})

        assert caplog.messages[0] == (
            'Group anti-affinity: check if the number of servers from group '
            'g on host a is less than 1.')


class TestServerGroupAffinityFilter:
    @pytest.mark.parametrize(('group', 'passing'), [
        (None, 'abc'),
        ({'policy': 'anti-affinity', 'hosts': ['a']}, 'abc'),
        ({'policy': 'soft-affinity', 'hosts': ['a']}, 'abc'),
        ({'policy': 'affinity', 'hosts': []}, 'abc'),
        ({'policy': 'affinity', 'hosts': ['a', 'c']}, 'ac'),
        ({'policy': 'affinity', 'hosts': ['A']}, ''),
        ({'policy': 'affinity', 'hosts': [], 'members': ['m1']}, 'abc'),
        ({'policy': 'affinity', 'hosts': ['elsewhere']}, ''),
    ])
    def test_follows_the_hosts_of_the_group(self, group, passing):
        """While the group has no host, its first member goes anywhere."""
        assert left(ServerGroupAffinityFilter, group) == passing

    def test_says_where_the_group_is(self):
        request = a_request(group={'policy': 'affinity', 'hosts': ['b', 'a']})

        assert ServerGroupAffinityFilter().reason(block(), request) == (
            'affinity, its group is on a, b')

    def test_logs_what_operators_search_for(self, caplog):
        with caplog.at_level('DEBUG', 'nova_sched'):
            left(ServerGroupAffinityFilter,
                 {'policy': 'affinity', 'hosts': ['b']})

        assert caplog.messages[0] == "Group affinity: check if a in ['b']"
