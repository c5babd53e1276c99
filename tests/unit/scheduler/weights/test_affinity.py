"""Soft affinity and soft anti-affinity: members of a group on a host."""

import pytest

from nova_sched.scheduler.weights import affinity
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured
from tests.builders.rules import weights

#: Two members on a, one on b, none on c, where somebody else is.
RUNNING = {'m1': 'a', 'm2': 'a', 'm3': 'b', 'stranger': 'c'}
MEMBERS = ['m1', 'm2', 'm3', 'm4']
AFFINITY = configured(affinity.ServerGroupSoftAffinityWeigher)
ANTI_AFFINITY = configured(affinity.ServerGroupSoftAntiAffinityWeigher)


def three_hosts():
    return hosts(a_host('a'), a_host('b'), a_host('c'), running=RUNNING)


def a_member(policy, members=MEMBERS):
    return a_request(group={'policy': policy, 'members': members})


@pytest.mark.parametrize(('weigher', 'policy', 'raw', 'weight'), [
    (AFFINITY, 'soft-affinity', [2, 1, 0], [1.0, 0.5, 0.0]),
    (ANTI_AFFINITY, 'soft-anti-affinity', [-2, -1, 0], [0.0, 0.5, 1.0]),
])
def test_counts_the_members_on_a_host(weigher, policy, raw, weight):
    assert weigher.raw(three_hosts(), a_member(policy)).tolist() == raw
    assert weights(weigher, three_hosts(), a_member(policy)) == weight


@pytest.mark.parametrize(('weigher', 'policy'), [
    (AFFINITY, 'affinity'), (AFFINITY, 'soft-anti-affinity'),
    (ANTI_AFFINITY, 'anti-affinity'), (ANTI_AFFINITY, 'soft-affinity'),
])
def test_groups_of_another_policy_do_not_matter(weigher, policy):
    assert weigher.raw(three_hosts(), a_member(policy)).tolist() == [0, 0, 0]


@pytest.mark.parametrize('weigher', [AFFINITY, ANTI_AFFINITY])
def test_without_a_group_all_hosts_are_alike(weigher):
    assert weigher.raw(three_hosts(), a_request()).tolist() == [0, 0, 0]


@pytest.mark.parametrize('members', [None, [], ['nobody']])
def test_a_group_without_members_on_hosts_weighs_nothing(members):
    spec = a_member('soft-affinity', members or [])
    spec.instance_group.members = members

    assert AFFINITY.raw(three_hosts(), spec).tolist() == [0, 0, 0]


def test_a_member_named_twice_counts_once():
    spec = a_member('soft-affinity', ['m3', 'm3'])

    assert AFFINITY.raw(three_hosts(), spec).tolist() == [0, 1, 0]


def test_all_nodes_of_a_host_have_its_members():
    block = hosts(a_host('a', nodename='a1'), a_host('a', nodename='a2'),
                  running=RUNNING)

    assert AFFINITY.raw(block, a_member('soft-affinity')).tolist() == [2, 2]


def test_members_placed_by_the_same_request_count():
    block = three_hosts()
    block.instances.place('m4', 'c')

    assert AFFINITY.raw(block, a_member('soft-affinity')).tolist() == [
        2, 1, 1]


@pytest.mark.parametrize(('cls', 'option'), [
    (affinity.ServerGroupSoftAffinityWeigher,
     'soft_affinity_weight_multiplier'),
    (affinity.ServerGroupSoftAntiAffinityWeigher,
     'soft_anti_affinity_weight_multiplier'),
])
class TestMultiplier:
    def test_below_0_counts_as_0(self, cls, option):
        weigher = configured(cls, **{option: -2.0})

        assert weigher.multipliers(three_hosts()) == 0.0

    def test_of_an_aggregate_may_be_below_0(self, cls, option):
        block = hosts(a_host(aggregates=[{option: '-2'}]), a_host())

        assert configured(cls).multipliers(block).tolist() == [-2.0, 1.0]
