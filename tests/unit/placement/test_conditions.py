"""The single conditions of queries for providers."""

import pytest

from nova_sched import exception
from nova_sched.placement import adapter
from nova_sched.placement import conditions
from nova_sched.scheduler.utils import Group
from nova_sched.scheduler.utils import ResourceRequest
from tests.builders import http_placement
from tests.builders.http_server import Answer

AGGREGATE = 'a0000000-0000-4000-8000-000000000000'


def a_query(**wanted):
    """Return a ResourceRequest; root_* arguments are its own fields."""
    own = {name: wanted.pop(name) for name in list(wanted)
           if name.startswith('root_')}
    return ResourceRequest({'': Group(**wanted)}, **own)


def names(*queries):
    return [(each.code, each.name) for each in conditions.conditions(queries)]


class TestConditions:
    def test_query_is_split_into_conditions(self):
        assert names(a_query(
            resources={'VCPU': 2, 'MEMORY_MB': 512}, required={'A', 'B'},
            forbidden={'C'}, member_of=[[AGGREGATE]],
            root_required={'R'})) == [
            ('placement_trait', 'trait R'),
            ('placement_resource', 'MEMORY_MB'),
            ('placement_resource', 'VCPU'),
            ('placement_trait', 'trait A'), ('placement_trait', 'trait B'),
            ('placement_trait', 'trait C'),
            ('placement_aggregate', f'aggregate {AGGREGATE}')]

    def test_numbered_groups_count(self):
        query = a_query(resources={'VCPU': 1})
        query.groups['1'] = Group(resources={'VGPU': 1}, required={'GPU'})

        assert [name for _, name in names(query)] == [
            'VCPU', 'VGPU', 'trait GPU']

    def test_exclusions_of_numbered_groups_are_left_out(self):
        """The provider that they concern is unknown."""
        query = a_query(resources={'VCPU': 1})
        query.groups['1'] = Group(
            resources={'VGPU': 1}, forbidden={'GPU'},
            member_of=[[AGGREGATE]], forbidden_aggregates={AGGREGATE})

        assert [name for _, name in names(query)] == ['VCPU', 'VGPU']

    def test_only_common_conditions_count(self):
        assert names(a_query(resources={'PCPU': 2, 'MEMORY_MB': 512}),
                     a_query(resources={'VCPU': 2, 'MEMORY_MB': 512})) == [
            ('placement_resource', 'MEMORY_MB')]

    def test_conditions_have_words(self):
        found = conditions.conditions([a_query(
            resources={'VCPU': 2}, required={'A'}, forbidden={'B'})])

        assert [each.words for each in found] == [
            'it cannot provide 2 VCPU', 'it lacks trait A',
            'it has trait B']


@pytest.fixture
def reader(placement, tmp_path):
    return conditions.ConditionReader(adapter.PlacementAdapter(
        http_placement.a_conf(tmp_path, auth_type='none',
                              endpoint_override=placement.url)))


def listed(*pairs):
    return Answer(body={'resource_providers': [
        {'uuid': uuid, 'root_provider_uuid': root} for uuid, root in pairs]})


class TestFailing:
    def failing(self, reader, **wanted):
        [condition] = conditions.conditions([a_query(**wanted)])
        return reader.failing(condition, ['a', 'b', 'c'])

    def test_nodes_without_fitting_provider_fail(self, placement, reader):
        placement.on('GET', '/resource_providers?resources=VCPU%3A2',
                     listed(('a', 'a'), ('child', 'b')))
        placement.on('GET', '/resource_providers?required=MISC', listed())

        assert self.failing(reader, resources={'VCPU': 2}) == [
            False, False, True]

    def test_child_does_not_meet_root_condition(self, placement, reader):
        placement.on('GET', '/resource_providers?required=R',
                     listed(('a', 'a'), ('child', 'b')))

        assert self.failing(reader, root_required={'R'}) == [False, True, True]

    def test_forbidden_trait_fails_its_nodes(self, placement, reader):
        placement.on('GET', '/resource_providers?required=R',
                     listed(('a', 'a')))

        assert self.failing(reader, root_forbidden={'R'}) == [
            True, False, False]

    def test_unknown_trait_fails_all_nodes(self, placement, reader):
        placement.on('GET', '/resource_providers', http_placement.error(
            400, 'No such trait(s): CUSTOM_X.'))

        assert self.failing(reader, required={'CUSTOM_X'}) == [True] * 3
        assert self.failing(reader, forbidden={'CUSTOM_X'}) == [False] * 3

    @pytest.mark.parametrize('query, wanted', [
        ('resources=DISK_GB', {'resources': {'DISK_GB': 5}}),
        ('required=SSD', {'required': {'SSD'}})])
    def test_sharing_provider_fails_no_node(self, placement, reader, query,
                                            wanted):
        placement.on('GET', f'/resource_providers?{query}',
                     listed(('shared', 'shared')))
        placement.on('GET', '/resource_providers?required=MISC',
                     listed(('shared', 'shared')))

        assert self.failing(reader, **wanted) == [False] * 3

    @pytest.mark.parametrize('wanted, failing', [
        ({'forbidden': {'GPU'}}, [True, False, False]),
        ({'member_of': [[AGGREGATE]]}, [False, True, True]),
        ({'forbidden_aggregates': {AGGREGATE}}, [True, False, False])])
    def test_root_conditions_ignore_children(self, placement, reader, wanted,
                                             failing):
        """As in Placement, for groups without a number."""
        placement.on('GET', '/resource_providers',
                     listed(('a', 'a'), ('child', 'b')))

        assert self.failing(reader, **wanted) == failing

    @pytest.mark.parametrize('value, version', [
        ('A', '1.32'), ('in:A,B', '1.39')])
    def test_query_has_needed_version(self, placement, reader, value, version):
        placement.on('GET', '/resource_providers', listed())

        self.failing(reader, required={value})

        assert placement.asked[-1].version == f'placement {version}'

    def test_failed_reader_sends_no_more_queries(self, placement, reader):
        placement.on('GET', '/resource_providers', http_placement.error(500))

        for _ in range(3):
            with pytest.raises(exception.PlacementError, match='Got 500'):
                self.failing(reader, required={'A'})
        assert len(placement.to('GET', '/resource_providers')) == 1
