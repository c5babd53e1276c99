"""Server group filters."""

import pytest

from nova_sched.scheduler.filters.affinity_filter import (
    ServerGroupAffinityFilter,
)
from nova_sched.scheduler.filters.affinity_filter import (
    ServerGroupAntiAffinityFilter,
)
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import INSTANCE_UUID
from tests.builders.requests import a_group
from tests.builders.requests import a_request

RUNNING = {'m1': 'a', 'm2': 'a', 'm3': 'b', 'stranger': 'c'}


def block(running=None):
    return hosts(a_host('a'), a_host('b'), a_host('c'),
                 running=RUNNING if running is None else running)


def left(rule, group, running=None):
    """The hosts a group filter leaves of a, b and c, as text."""
    hosts = block(running)
    passing = rule().mask(hosts, a_request(group=group))
    return ''.join(hosts.where(passing).objects('host'))


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
    ])
    def test_counts_the_groups_members_on_each_host(self, group, passing):
        """Up to max_server_per_host, by default one, may be on a host."""
        assert left(ServerGroupAntiAffinityFilter, group) == passing

    def test_an_instance_may_stay_where_it_is(self):
        """So that it can be resized on its own host."""
        running = {INSTANCE_UUID: 'a', 'm1': 'a', 'm3': 'b'}
        group = {'members': [INSTANCE_UUID, 'm1', 'm3']}

        assert left(ServerGroupAntiAffinityFilter, group, running) == 'ac'

    @pytest.mark.parametrize(('members', 'hosts', 'passing'), [
        (['m1', 'm3'], [], 'abc'), ([], ['a'], 'bc'), (['m3'], ['a'], 'bc')])
    def test_groups_of_before_rocky_count_by_their_hosts(
            self, members, hosts, passing):
        """Such a group knows no rules, and its members do not matter."""
        group = a_group(members=members, hosts=hosts)
        group.wire_version = '1.10'

        assert left(ServerGroupAntiAffinityFilter, group) == passing

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
        ({}, 'anti-affinity, one of its group on the host'),
        ({'max_server_per_host': 3},
         'anti-affinity, 3 or more of its group on the host'),
    ])
    def test_says_how_many_are_too_many(self, rules, words):
        request = a_request(group={'rules': rules})

        assert ServerGroupAntiAffinityFilter().reason(
            block(), request) == words

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
