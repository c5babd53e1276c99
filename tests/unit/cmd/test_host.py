"""nova-sched-manage host"""

import json

import pytest

from tests.builders import clouds


@pytest.fixture
def database(cloud):
    """Options for a database of three hosts, one of each state."""
    cloud.load(
        ['a', 'b', 'c'],
        compute_nodes=[
            clouds.a_compute_node('a', hypervisor_hostname='a-node',
                                  vcpus_used=3),
            clouds.a_compute_node('b'), clouds.a_compute_node('c')],
        services=[
            clouds.a_service('a'), clouds.a_service('b', disabled=True),
            clouds.a_service('c', last_seen_up='2020-01-01T00:00:00')],
        aggregates=[clouds.an_aggregate(
            1, ['a'], name='racks', metadata={'availability_zone': 'north'})],
        instances=[clouds.an_instance('a', uuid=clouds.a_uuid(9))])
    return '--database', cloud.url


class TestList:
    def test_tells_state_zone_and_use_of_each_host(self, run, database):
        ended = run(*database, 'host', 'list', '-f', 'json')

        assert ended.code == 0
        hosts = json.loads(ended.out)
        assert [(host['Host'], host['Service'], host['Zone'])
                for host in hosts] == [
            ('a', 'up', 'north'), ('b', 'disabled', 'nova'),
            ('c', 'down', 'nova')]
        assert hosts[0]['Node'] == 'a-node'
        assert hosts[0]['VCPUs'] == '3/16'
        assert hosts[0]['Free RAM (MB)'] == 32256
        assert hosts[0]['Free disk (GB)'] == 475

    def test_is_a_table_unless_told_otherwise(self, run, database):
        ended = run(*database, 'host', 'list')

        assert '| Host | Node   | Service  |' in ended.out


class TestShow:
    @pytest.mark.parametrize('name', ['a', 'a-node'])
    def test_tells_all_of_a_host_or_node(self, run, database, name):
        ended = run(*database, 'host', 'show', '-f', 'json', name)

        assert ended.code == 0
        host = json.loads(ended.out)
        assert (host['host'], host['node']) == ('a', 'a-node')
        assert host['cell'] == clouds.CELL_UUID
        assert host['aggregates'] == 'racks'
        assert host['instances'] == clouds.a_uuid(9)
        assert host['ram_allocation_ratio'] == 1.0

    def test_says_how_to_find_a_host_that_is_not_known(self, run, database):
        ended = run(*database, 'host', 'show', 'nowhere')

        assert ended.code == 1
        assert 'Host nowhere is not known' in ended.err
        assert 'host list' in ended.err
        assert ended.out == ''
