"""The policies of a server group in dicts of before Mitaka, some unknown."""

import pytest

from nova_sched import objects
from nova_sched.objects import arguments
from nova_sched.scheduler.filters import affinity_filter
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured
from tests.builders.rules import survivors

RULES = [configured(affinity_filter.ServerGroupAffinityFilter),
         configured(affinity_filter.ServerGroupAntiAffinityFilter)]
KNOWN_AND_NOT = [
    (['affinity'], 'affinity'),
    (['anti-affinity'], 'anti-affinity'),
    (['made-up', 'affinity'], 'affinity'),
    (['affinity', 'made-up'], 'affinity'),
    (['made-up', 'anti-affinity', 'affinity'], 'anti-affinity'),
    (['made-up', 'soft-affinity'], 'soft-affinity'),
    (['made-up'], 'made-up'),
    (['made-up', 'of-late'], 'made-up'),
    ([], None)]


def a_legacy_request(policies):
    return arguments.from_legacy_dicts(
        {'num_instances': 1, 'image': {},
         'instance_properties': {'uuid': 'u', 'project_id': 'p'},
         'instance_type': {'id': 1, 'name': 'm', 'flavorid': '1',
                           'memory_mb': 1, 'vcpus': 1, 'root_gb': 1,
                           'ephemeral_gb': 0, 'swap': 0}},
        {'group_updated': True, 'group_hosts': ['b'],
         'group_policies': policies})


@pytest.mark.parametrize('policies, policy', KNOWN_AND_NOT)
def test_the_first_that_is_known_counts(policies, policy):
    """If none is known, the first: it is on record what was asked for."""
    group = a_legacy_request(policies).instance_group

    assert group.policy == policy
    assert group.policies == ([] if policy is None else [policy])


@pytest.mark.parametrize('policies, left', [
    (['made-up', 'affinity'], ['b']),
    (['made-up', 'anti-affinity'], ['a']),
    (['made-up', 'of-late'], ['a', 'b']), ([], ['a', 'b'])])
def test_a_policy_that_is_not_known_moves_nothing(policies, left):
    found = ['a', 'b']
    for rule in RULES:
        found = [name for name in survivors(rule, hosts(
            a_host('a'), a_host('b')), a_legacy_request(policies))
            if name in found]

    assert found == left


@pytest.mark.parametrize('policies, policy', [
    (['affinity', 'made-up'], 'affinity'), (['made-up'], 'made-up'),
    ([], None)])
def test_a_group_of_objects_has_the_policy_that_stands_first(policies,
                                                            policy):
    """As Nova's callers of before Rocky send it."""
    group = objects.InstanceGroup(policies=policies, members=[], hosts=[])
    group.settle()

    assert group.policy == policy
    assert group.policies == ([] if policy is None else [policy])


def test_an_unknown_policy_of_a_group_of_objects_moves_nothing():
    spec = a_request(group={'policy': 'made-up', 'hosts': ['b']})

    for rule in RULES:
        assert survivors(rule, hosts(a_host('a'), a_host('b')), spec) == [
            'a', 'b']
