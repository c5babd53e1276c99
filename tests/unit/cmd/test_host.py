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
            clouds.a_service('a'),
            clouds.a_service('b', disabled=True, disabled_reason='its disk',
                             forced_down=True),
            clouds.a_service('c', last_seen_up='2020-01-01T00:00:00')],
        aggregates=[clouds.an_aggregate(
            1, ['a'], name='racks', metadata={'availability_zone': 'north'})],
        instances=[clouds.an_instance('a', uuid=clouds.a_uuid(9))])
    return '--database', cloud.url


@pytest.fixture
def show(read, database):
    """Function: all that "host show" tells programs of a host."""
    return lambda name='a': read(*database, 'host', 'show', name)


def report(cloud):
    """Have host a report its hardware."""
    numa = json.dumps({'cells': [{
        'id': 0, 'cpus': '0-2,5', 'cpu_usage': 0, 'mem': {
            'total': 2048, 'used': 0},
        'mempages': [{'size_kb': 4, 'total': 1000, 'used': 100}]}]})
    pools = json.dumps([{'vendor_id': '8086', 'product_id': '1572',
                         'numa_node': 0, 'count': 2}])
    metrics = json.dumps([{'name': 'cpu.frequency', 'value': 2400,
                           'timestamp': '2026-01-01T00:00:00',
                           'source': 'libvirt.LibvirtDriver'}])
    for column, text in (('numa_topology', numa), ('pci_stats', pools),
                         ('metrics', metrics),
                         ('stats', '{"failed_builds": "4"}')):
        cloud.execute(f'UPDATE compute_nodes SET {column} = '
                      f"'{text}' WHERE host = 'a'")


class TestList:
    def test_tells_state_zone_and_use_of_each_host(self, read, database):
        hosts = read(*database, 'host', 'list')

        assert [(host['Host'], host['Service'], host['Zone'])
                for host in hosts] == [
            ('a', 'up', 'north'), ('b', 'disabled', 'nova'),
            ('c', 'down', 'nova')]
        assert hosts[0]['Node'] == 'a-node'
        assert (hosts[0]['Used VCPUs'], hosts[0]['VCPUs']) == (3, 16)
        assert hosts[0]['Free RAM (MB)'] == 32256
        assert hosts[0]['Free disk (GB)'] == 475

    def test_is_in_the_order_in_which_people_count(self, run, cloud):
        cloud.load(['c10', 'c9', 'c100'])
        ended = run('--database', cloud.url, 'host', 'list', '-f', 'value',
                    '-c', 'Host')

        assert ended.out.split() == ['c9', 'c10', 'c100']

    def test_has_numbers_for_a_spreadsheet(self, run, database):
        ended = run(*database, 'host', 'list', '-f', 'csv', '--up')

        assert ended.out.splitlines()[1:] == [
            '"a","a-node","up","north",16,3,32256,475,0']

    def test_says_so_where_it_lists_none(self, run, database):
        ended = run(*database, 'host', 'list', '--full', '--up')

        assert ended.code == 0
        assert ended.out.startswith('There is no such host.')

    @pytest.mark.parametrize(('options', 'names'), [
        (['--up'], 'a'), (['--down'], 'c'), (['--disabled'], 'b'),
        (['--zone', 'north'], 'a'), (['--zone', 'nova'], 'bc'),
        (['--zone', 'nova', '--down'], 'c'), (['--aggregate', 'racks'], 'a'),
        (['--full'], 'c'), (['--full', '--up'], '')])
    def test_lists_those_that_are_asked_for(self, read, cloud, database,
                                            options, names):
        """Host c has given away what its ratio lets it give."""
        cloud.execute('UPDATE compute_nodes SET vcpus_used = 16, '
                      "cpu_allocation_ratio = 1.0 WHERE host = 'c'")

        assert [host['Host'] for host in read(
            *database, 'host', 'list', *options)] == list(names)

    @pytest.mark.parametrize(('option', 'name', 'words'), [
        ('--zone', 'nort', 'availability zone nort; did you mean north?'),
        ('--aggregate', 'rack', 'aggregate rack; did you mean racks?')])
    def test_names_what_was_meant_where_nothing_is_called_so(
            self, run, database, option, name, words):
        ended = run(*database, 'host', 'list', option, name)

        assert ended.code == 1
        assert f'No host is in {words}' in ended.err


class TestShow:
    @pytest.mark.parametrize('name', ['a', 'a-node'])
    def test_tells_all_of_a_host_or_node(self, show, name):
        host = show(name)

        assert (host['host'], host['node']) == ('a', 'a-node')
        assert host['cell'] == clouds.CELL_UUID
        assert [(one['name'], one['metadata'])
                for one in host['aggregates']] == [
            ('racks', {'availability_zone': 'north'})]
        assert host['instances'] == [clouds.a_uuid(9)]
        assert (host['ram_allocation_ratio'], host['service']) == (1.0, 'up')

    def test_is_json_in_the_variables_of_a_shell(self, run, cloud, database):
        report(cloud)
        ended = run(*database, 'host', 'show', '-f', 'shell', 'a')

        shown = dict(line.split('=', 1) for line in ended.out.splitlines())
        assert shown['free_ram_mb'] == '"32256"'
        [metric] = json.loads(json.loads(shown['metrics']))
        assert metric['name'] == 'cpu.frequency'

    def test_tells_why_a_host_gets_nothing(self, show):
        host = show('b')

        assert host['disabled_reason'] == 'its disk'
        assert host['forced_down'] is True
        assert host['last_heartbeat'].endswith('+00:00')

    def test_tells_what_can_be_read_of_an_odd_row(self, show, cloud):
        cloud.execute("UPDATE compute_nodes SET supported_instances = "
                      "'[1, null]' WHERE host = 'a'")

        assert show()['supported_instances'] == [1, None]

    @pytest.mark.parametrize(('text', 'shown'), [
        ('{"arch": "x86_64", "vendor": null, "model": 5}',
         {'arch': 'x86_64', 'vendor': None, 'model': 5}),
        ('', {}), ('garbage', None), ('[1]', None)])
    def test_tells_of_its_cpus_what_can_be_read(
            self, run, show, cloud, database, text, shown):
        cloud.execute("UPDATE compute_nodes SET cpu_info = ? "
                      "WHERE host = 'a'", text)

        assert show()['cpu_info'] == shown
        if shown:
            assert '| x86_64 5 ' in run(*database, 'host', 'show', 'a').out

    def test_tells_what_its_hardware_is(self, show, cloud):
        """Cells, devices, metrics and statistics, as values."""
        report(cloud)
        host = show()

        cell, = host['numa_cells']
        assert (cell['cpus'], cell['pinned_cpus'], cell['memory_mb']) == (
            [0, 1, 2, 5], [], 2048)
        assert cell['pages'] == [{'size_kb': 4, 'total': 1000, 'free': 900}]
        pool, = host['pci_pools']
        assert (pool['count'], pool['product_id']) == (2, '1572')
        assert host['metrics'][0]['name'] == 'cpu.frequency'
        assert host['metrics'][0]['value'] == 2400
        assert host['stats']['failed_builds'] == '4'

    def test_is_told_to_people_in_their_words(self, run, cloud, database):
        report(cloud)
        cloud.execute('UPDATE compute_nodes SET free_disk_gb = 5000, '
                      'disk_available_least = NULL, '
                      "hypervisor_version = 8002000 WHERE host = 'a'")
        out = run(*database, 'host', 'show', 'a').out

        assert '| 5,000 GB' in out
        assert '| 8002000' in out
        assert 'CPUs 0-2, 5, 0 used, for pinning 0-2, 5, pinned none' in out
        assert '2 x numa_node=0, product_id=1572, vendor_id=8086' in out
        assert 'racks (availability_zone=north)' in out
        assert 'cpu.frequency=2400' in out
