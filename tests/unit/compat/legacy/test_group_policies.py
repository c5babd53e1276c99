"""Unknown policies of a server group, in dicts from before Mitaka."""

import pytest

from nova_sched import objects
from nova_sched.objects import arguments
from tests.builders import rules
from tests.builders.hosts import a_host
from tests.builders.requests import a_request

RULES = 'ServerGroupAffinityFilter', 'ServerGroupAntiAffinityFilter'


def a_legacy_request(policies):
    return arguments.from_legacy_dicts(
        {'num_instances': 1, 'image': {},
         'instance_properties': {'uuid': 'u', 'project_id': 'p'},
         'instance_type': {'id': 1, 'name': 'm', 'flavorid': '1',
                           'memory_mb': 1, 'vcpus': 1, 'root_gb': 1,
                           'ephemeral_gb': 0, 'swap': 0}},
        {'group_updated': True, 'group_hosts': ['b'],
         'group_policies': policies})


@pytest.mark.parametrize(('policies', 'policy'), [
    (['affinity'], 'affinity'), (['anti-affinity'], 'anti-affinity'),
    (['made-up', 'affinity'], 'affinity'),
    (['affinity', 'made-up'], 'affinity'),
    (['made-up', 'anti-affinity', 'affinity'], 'anti-affinity'),
    (['made-up', 'soft-affinity'], 'soft-affinity'),
    (['made-up'], 'made-up'), (['made-up', 'of-late'], 'made-up'),
    ([], None)])
def test_first_known_policy_counts(policies, policy):
    """Or the first policy, which is recorded as requested."""
    group = a_legacy_request(policies).instance_group

    assert group.policy == policy
    assert group.policies == ([] if policy is None else [policy])


@pytest.mark.parametrize(('policies', 'policy'), [
    (['affinity', 'made-up'], 'affinity'), (['made-up'], 'made-up'),
    ([], None)])
def test_first_policy_of_a_group_object_counts(policies, policy):
    """As from Nova's callers before Rocky."""
    group = objects.InstanceGroup(policies=policies, members=[], hosts=[])
    group.settle()

    assert group.policy == policy
    assert group.policies == ([] if policy is None else [policy])


@pytest.mark.parametrize(('spec_obj', 'passing'), [
    (a_legacy_request(['made-up', 'affinity']), 'b'),
    (a_legacy_request(['made-up', 'anti-affinity']), 'a'),
    (a_legacy_request(['made-up', 'of-late']), 'ab'),
    (a_legacy_request([]), 'ab'),
    (a_request(group={'policy': 'made-up', 'hosts': ['b']}), 'ab')])
def test_unknown_policy_excludes_no_host(spec_obj, passing):
    records = [a_host('a'), a_host('b')]

    assert [host for host in 'ab' if all(
        host in rules.survivors(rules.a_filter(rule), rules.hosts.hosts(
            *records), spec_obj) for rule in RULES)] == [*passing]
