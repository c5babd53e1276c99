"""nova-sched-manage request plan: moves of instances that there are."""

import pathlib

import pytest

from tests.builders.case_tables import case_table
from tests.builders.clouds import a_uuid
from tests.builders.plans import document
from tests.builders.plans import hosts_of
from tests.builders.plans import last_line
from tests.builders.plans import nodes


class TestMoves:
    """Moves of instances with a request in Nova's API database."""

    @pytest.fixture(autouse=True)
    def nova(self, mapped_cloud):
        """A MappedCloud of a and b, and of c."""
        mapped_cloud.one.load_nodes(*nodes()[:2], host_mappings=[])
        mapped_cloud.two.load_nodes(*nodes()[2:], host_mappings=[])
        return mapped_cloud

    @pytest.fixture
    def plan(self, plan_stored):
        return plan_stored

    @pytest.mark.parametrize('operation', [
        'live-migration', 'evacuate', 'resize'])
    def test_leave_the_host_and_stay_in_the_cell(self, plan, store, operation):
        uuid = store('a', force_hosts=['a'])

        found = document(plan('--instance', uuid, '--for', operation, '-f',
                              'json'))

        [placed] = found['placements']
        assert (placed['instance'], placed['host']) == (uuid, 'b')
        # The host c is of another cell.
        assert placed['alternates'] == []
        assert found['operation'] == operation

    def test_an_offloaded_instance_goes_anywhere(self, plan, store):
        uuid = store(None, force_hosts=['b'])

        assert hosts_of(plan('--instance', uuid, '--for', 'unshelve', '-f',
                             'json')) == ['a']

    def test_to_another_flavor_need_what_it_needs(self, plan, store):
        uuid = store('b', vcpus=2)

        ended = plan('--instance', uuid, '--for', 'resize', '--ram', 8500)

        assert '| a    | a    |' in ended.out
        assert plan('--instance', uuid, '--for', 'resize', '--ram',
                    9500).code == 1

    def test_to_another_flavor_may_stay_on_the_host(self, plan, store):
        assert hosts_of(plan('--instance', store('a'), '--for', 'resize',
                             '--same-host', '-f', 'json')) == ['a']

    def test_to_a_host_that_is_named(self, plan, store):
        assert plan('--instance', store('a'), '--for', 'live-migration',
                    '--to-host', 'b').code == 0
        ended = plan('--instance', store('a'), '--for', 'live-migration',
                     '--to-host', 'a')
        assert ended.code == 1

    def test_go_by_the_group_as_it_is_now(self, plan, store, nova):
        other, group = store('b'), a_uuid()
        uuid = store('a', group={'uuid': group, 'members': []})
        nova.api.execute('INSERT INTO instance_groups (id, uuid) '
                         'VALUES (7, ?)', group)
        nova.api.execute('INSERT INTO instance_group_policy (group_id, '
                         "policy) VALUES (7, 'anti-affinity')")
        for member in (other, uuid):
            nova.api.execute('INSERT INTO instance_group_member (group_id, '
                             'instance_uuid) VALUES (7, ?)', member)

        ended = plan('--instance', uuid, '--for', 'live-migration')

        assert ended.code == 1
        assert 'filter=ServerGroupAntiAffinityFilter' in last_line(ended)

    def test_forget_a_group_that_is_gone(self, plan, store):
        uuid = store('a', group={'members': []}, hints={'group': 'g'})

        assert plan('--instance', uuid, '--for', 'evacuate').code == 0

    def test_another_like_it_may_be_booted(self, plan, store):
        uuid = store('a')

        found = document(plan('--instance', uuid, '--count', 2, '-f', 'json'))

        assert len(found['placements']) == 2
        assert uuid not in {placed['instance']
                            for placed in found['placements']}

    def test_a_lost_cell_is_told(self, plan, store, nova):
        uuid = store('a')
        pathlib.Path(nova.two.path).unlink()

        found = document(plan('--instance', uuid, '-f', 'json'))

        assert [lost['cell'] for lost in found['state']['lost_cells']] == [
            '00000000-0000-0000-0000-0000000000c2(two)']

    @case_table('cmd-request-plan-moves', 'impossible')
    def test_impossible_moves_are_one_error(
            self, plan, store, host, options, words):
        ended = plan('--instance', store(host or None), *options)

        assert ended.code == 2
        assert words in ended.err
        assert len(ended.err.splitlines()) == 1

    def test_missing_instance_is_one_error(self, plan):
        ended = plan('--instance', a_uuid(5))

        assert ended.code == 2
        assert 'has no request of it' in ended.err

    def test_instance_without_a_cell_is_one_error(self, plan, store, nova):
        uuid = store('a')
        nova.one.execute('UPDATE instances SET deleted = id')

        ended = plan('--instance', uuid, '--for', 'evacuate')

        assert ended.code == 2
        assert f'there is no instance {uuid} in any cell' in ended.err

    def test_need_an_api_database_of_nova(self, plan, store, nova):
        uuid = store('a')
        nova.api.execute('DROP TABLE request_specs')

        ended = plan('--instance', uuid)

        assert ended.code == 2
        assert 'has no table request_specs' in ended.err
