"""The rows about databases and their contents, on databases of SQLite."""

import datetime

import pytest

from nova_sched.db import cells
from nova_sched.preflight import databases
from nova_sched.preflight.rows import ERROR
from nova_sched.preflight.rows import OK
from nova_sched.preflight.rows import WARNING
from tests.builders import clouds
from tests.builders.mapped_cloud import CELL1
from tests.builders.mapped_cloud import CELL2

#: SQLite's way to an absent directory: refused at once.
GONE = 'sqlite:////nowhere/at-all.sqlite'


def rows(conf, check=None):
    """The rows of a check, or all: list."""
    return [row for row in databases.Databases(conf).rows()
            if check is None or row.check == check]


@pytest.fixture
def cloud_of_three(mapped_cloud):
    """A MappedCloud whose hosts a, b and c are mapped to their cells."""
    for host, cell in (('a', CELL1), ('b', CELL1), ('c', CELL2)):
        mapped_cloud.api.execute(
            'INSERT INTO host_mappings (host, cell_id) SELECT ?, id FROM '
            'cell_mappings WHERE uuid = ?', host, cell)
    return mapped_cloud


def test_a_cloud_that_is_well_has_only_good_rows(cloud_of_three):
    found = rows(cloud_of_three.conf())

    assert [(row.check, row.outcome) for row in found] == [
        ('API database', OK), ('database', OK),
        (f'cell {CELL1}(one)', OK), (f'cell {CELL2}(two)', OK)]
    assert '3 cell mappings, 3 host mappings, 0 aggregates' in found[0].found
    assert 'the database of cell cell0' in found[1].found
    assert '2 compute nodes, 2 compute services' in found[2].found
    assert ', 2 up, 0 disabled, 0 down' in found[2].found


def test_one_database_is_all_there_is_in_old_clouds(cloud):
    cloud.load(2)
    found = rows(cloud.conf())

    assert [(row.check, row.outcome) for row in found] == [
        ('API database', OK), ('database', OK), ('hosts', OK)]
    assert 'is not set' in found[0].found
    assert 'the only database' in found[1].found


def test_two_that_are_swapped_are_called_that(mapped_cloud):
    mapped_cloud.api.execute('DROP TABLE compute_nodes')
    mapped_cloud.cell0.execute('DROP TABLE cell_mappings')
    row, = rows(mapped_cloud.conf(
        database__connection=mapped_cloud.api.url,
        api_database__connection=mapped_cloud.cell0.url))

    assert (row.check, row.outcome) == ('database', ERROR)
    assert 'are swapped' in row.found
    assert all('are swapped' not in row.found
               for row in rows(mapped_cloud.conf()))


def test_a_cell_that_does_not_answer_hides_no_other(cloud_of_three):
    cloud_of_three.change(CELL1, database_connection=GONE)
    lost, well = rows(cloud_of_three.conf())[-2:]

    assert (lost.outcome, well.outcome) == (ERROR, OK)
    assert 'there is no such file' in lost.found
    assert 'nova-manage cell_v2 list_cells' in lost.advice


def test_without_the_api_database_the_other_is_still_looked_at(
        cloud_of_three):
    found = {row.check: row for row in rows(cloud_of_three.conf(
        api_database__connection=GONE))}

    assert {check: row.outcome for check, row in found.items()} == {
        'API database': ERROR, 'database': OK, 'cells': ERROR}
    assert '[api_database] connection' in found['API database'].advice
    assert 'of an unknown cell' in found['database'].found


def test_without_database_the_cells_are_still_looked_at(cloud_of_three):
    found = rows(cloud_of_three.conf(database__connection=GONE))

    assert [row.outcome for row in found] == [OK, ERROR, OK, OK]


def test_a_url_that_cannot_be_used_is_a_row_and_keeps_its_password(
        cloud_of_three):
    cloud_of_three.change(
        CELL1, database_connection='{schema}://u:open-sesame@h/d')
    row, = rows(cloud_of_three.conf(), 'cell one')

    assert row.outcome == ERROR
    assert 'it may name only {scheme}' in row.found
    assert 'open-sesame' not in str(row)


def test_hosts_of_no_cell_are_named(mapped_cloud):
    row, = [row for row in rows(mapped_cloud.conf(), f'cell {CELL1}(one)')
            if row.outcome != OK]

    assert row.outcome == WARNING
    assert row.found == '2 hosts that are not mapped to a cell: a, b'
    assert 'compute_nodes.mapped is 1' in row.advice
    assert 'discover_hosts' in row.advice


def test_hosts_of_another_cell_are_named(cloud_of_three):
    cloud_of_three.api.execute(
        'UPDATE host_mappings SET cell_id = (SELECT id FROM cell_mappings '
        'WHERE uuid = ?) WHERE host = ?', CELL2, 'a')
    row, = [row for row in rows(cloud_of_three.conf(),
                                f'cell {CELL1}(one)') if row.outcome != OK]

    assert row.outcome == ERROR
    assert row.found == '1 hosts that are mapped to another cell: a'


def test_a_disabled_cell_is_said_to_be(cloud_of_three):
    cloud_of_three.change(CELL2, disabled=True)
    row, = rows(cloud_of_three.conf(), f'cell {CELL2}(two)')

    assert row.outcome == OK
    assert 'the cell is disabled' in row.found


def test_services_are_counted_by_state(cloud_of_three):
    cloud_of_three.one.execute(
        'UPDATE services SET disabled = 1 WHERE host = ?', 'a')
    cloud_of_three.one.execute(
        'UPDATE services SET forced_down = 1 WHERE host = ?', 'b')
    row, = rows(cloud_of_three.conf(), f'cell {CELL1}(one)')

    assert '0 up, 1 disabled, 1 down' in row.found
    assert row.outcome == WARNING
    assert 'No host is up' in row.advice


def test_nodes_without_a_service_are_named(cloud_of_three):
    cloud_of_three.two.execute('DELETE FROM services')
    found = rows(cloud_of_three.conf(), f'cell {CELL2}(two)')

    assert ('1 hosts with compute nodes but no compute service: c'
            in [row.found for row in found])


def test_no_cell_is_mapped_but_may_be_meant_to_be(cloud):
    row = rows(cloud.conf(api_database__connection=cloud.url))[0]

    assert (row.check, row.outcome) == ('API database', WARNING)
    assert 'No cell is mapped' in row.advice


@pytest.mark.parametrize('host, advice', [
    ('elsewhere', 'It takes some of the requests'),
    ('this-one', 'set [DEFAULT] host')])
def test_a_scheduler_that_is_up_is_told(cloud_of_three, host, advice):
    now = datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%d %H:%M:%S')
    for name, seen in ((host, now), ('long-gone', '2020-01-01 00:00:00')):
        cloud_of_three.cell0.execute(
            'INSERT INTO services (host, binary, topic, report_count, '
            'disabled, version, created_at, last_seen_up, deleted) '
            "VALUES (?, 'nova-scheduler', 'scheduler', 1, 0, 30, ?, ?, 0)",
            name, seen, seen)
    row, = rows(cloud_of_three.conf(DEFAULT__host='this-one'),
                'other schedulers')

    assert row.outcome == WARNING
    assert row.found == (f'a scheduler is up on host {host}, of version 30 '
                         '(17.0.0 (Queens))')
    assert advice in row.advice


def test_the_compute_nodes_of_cells_that_answer_are_known(cloud_of_three):
    cloud_of_three.change(CELL1, database_connection=GONE)
    found = databases.Databases(cloud_of_three.conf()).computes()

    nodes = [node for computes in found for node in computes.nodes]
    assert [name for name, _uuid in nodes] == ['c']


def test_a_loaded_cloud_has_cells_without_databases(cloud):
    """Then [database] has the hosts of all."""
    cloud.load(2, cells=[{'uuid': clouds.CELL_UUID, 'name': 'one'}])
    found = rows(cloud.conf(api_database__connection=cloud.url))

    assert [row.check for row in found] == ['API database', 'database',
                                            'hosts']
    assert cells.SINGLE_CELL_UUID not in str(found[2])


NOW = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


def ago(seconds):
    """A moment as the databases of these tests hold it."""
    return f'{NOW - datetime.timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S}'


@pytest.fixture
def one(cloud):
    """Function: the Computes of the one database of a cloud."""
    def one(down_time=3600):
        conf = cloud.conf()
        return databases.read_computes(
            cells.single_cell(conf)[0], conf, down_time)
    return one


class TestComputes:
    def test_are_up_down_or_disabled(self, cloud, one):
        cloud.load([*'abcde'])
        for host, seen, created, disabled, forced in (
                ('a', ago(1000), ago(99999), 0, 0),
                ('b', ago(9000), ago(99999), 0, 0),
                ('c', ago(1000), ago(99999), 0, 1),
                ('d', ago(1000), ago(99999), 1, 1),
                ('e', None, ago(1000), 0, 0)):
            cloud.execute(
                'UPDATE services SET last_seen_up = ?, created_at = ?, '
                'disabled = ?, forced_down = ? WHERE host = ?', seen,
                created, disabled, forced, host)
        found = one(3600)

        assert found.states == {'a': 'up', 'b': 'down', 'c': 'down',
                                'd': 'disabled', 'e': 'up'}
        assert [found.count(state) for state in (
            'up', 'down', 'disabled', 'odd')] == [2, 2, 1, 0]
        assert one(20000).states['b'] == 'up'

    def test_have_the_least_version_that_one_of_them_tells(
            self, cloud, one):
        cloud.load(['a', 'b'])
        for host, version in (('a', 70), ('b', 66)):
            cloud.execute('UPDATE services SET version = ? WHERE host = ?',
                          version, host)
        assert one().version == 66
        cloud.execute("UPDATE services SET version = NULL WHERE host = 'a'")
        assert one().version == 0
        cloud.execute('DELETE FROM services')
        assert one().version is None

    def test_are_named_with_their_nodes(self, cloud, one):
        cloud.load(['a'], compute_nodes=[clouds.a_compute_node(
            'a', hypervisor_hostname='a-node', uuid=clouds.a_uuid(3))])
        found = one()

        assert found.nodes == [('a-node', clouds.a_uuid(3))]
        assert found.hosts == {'a'}
        assert found.layout == "this service's own"


class TestSchedulers:
    @pytest.fixture
    def records(self, cloud):
        """Function: name -> whether the scheduler of that host is up."""
        def add(host, seen=None, created=99999, binary='nova-scheduler',
                **columns):
            cloud.execute(
                'INSERT INTO services (host, binary, topic, report_count, '
                'disabled, forced_down, version, created_at, last_seen_up, '
                'deleted) VALUES (?, ?, ?, 1, 0, ?, 30, ?, ?, ?)', host,
                binary, 'x', columns.get('forced_down', 0), ago(created),
                None if seen is None else ago(seen),
                columns.get('deleted', 0))
        add('fresh', seen=1000)
        add('stale', seen=9000)
        add('new', created=1000)
        add('forced', seen=1000, forced_down=1)
        add('gone', seen=1000, deleted=1)
        add('other', seen=1000, binary='nova-conductor')
        return lambda down_time=3600: {
            record.host: record.up
            for record in databases.read_schedulers(
                cloud.conf(), down_time).records}

    def test_are_up_that_have_told_so_of_late(self, records):
        assert records() == {'fresh': True, 'stale': False, 'new': True,
                             'forced': False}
        assert records(20000)['stale'] is True

    def test_that_are_down_have_no_row(self, cloud, records):
        found = databases.Databases(cloud.conf(
            DEFAULT__service_down_time=3600)).rows()
        assert [row.found.split(',')[0] for row in found
                if row.check == 'other schedulers'] == [
            'a scheduler is up on host fresh',
            'a scheduler is up on host new']

    def test_of_this_host_leave_their_record_to_this_service(
            self, cloud, records):
        for host, words in (
                ('stale', 'the existing record for host stale, with version '
                          '30 (17.0.0 (Queens)), its own'),
                ('mine', 'a new record for host mine, with version 30 (17.0.0 '
                         '(Queens)), the least of nova-scheduler')):
            own = databases.Databases(cloud.conf(DEFAULT__host=host)).rows()[1]
            assert own.outcome == OK
            assert own.found.endswith(
                f'this service will use {words}')

    def test_that_keep_an_older_one_from_starting_have_a_row(
            self, cloud, records):
        """As earlier releases of this service left them behind."""
        cloud.execute('UPDATE services SET version = 74 '
                      "WHERE binary = 'nova-scheduler'")
        found = databases.Databases(cloud.conf(DEFAULT__host='fresh')).rows()
        [row] = [row for row in found if row.check == 'way back']
        assert row.outcome == WARNING
        assert row.found == (
            'all records of nova-scheduler have a higher version than 30 '
            '(17.0.0 (Queens)), the lowest of nova-conductor: a '
            'nova-scheduler of that release ends with ServiceTooOld')
        assert 'openstack compute service delete' in row.advice

        cloud.execute("UPDATE services SET version = 30 WHERE host = 'stale'")
        found = databases.Databases(cloud.conf(DEFAULT__host='fresh')).rows()
        assert 'way back' not in [row.check for row in found]


def test_a_record_of_kilo_will_have_no_version(cloud):
    cloud.execute('DROP INDEX services_uuid_idx')
    for name in ('uuid', 'last_seen_up', 'forced_down', 'version'):
        cloud.execute(f'ALTER TABLE services DROP COLUMN {name}')
    own = databases.Databases(cloud.conf(DEFAULT__host='mine')).rows()[1]
    assert own.found.endswith(
        'a new record for host mine, with version None, its table has no '
        'versions')


class TestPlaces:
    """What tells one database from another, in two ways to write it."""

    @pytest.mark.parametrize(('url', 'same'), [
        ('mysql+pymysql://other:pw@h:1/d?charset=utf8', True),
        ('mysql://h:1/d', True), ('mysql://h:2/d', False),
        ('mysql://i:1/d', False), ('mysql://h:1/e', False),
        ('postgresql://h:1/d', False),
        ('mysql://h:1/d?unix_socket=/x', False)])
    def test_are_back_end_host_port_name_and_socket(self, url, same):
        assert (databases._place('mysql://u:p@h:1/d')
                == databases._place(url)) is same

    def test_are_shown_by_the_cell_that_has_them(self, mapped_cloud):
        own = databases.Databases(mapped_cloud.conf(
            database__connection=mapped_cloud.one.url)).rows()[1]
        assert 'the database of cell one;' in own.found
        mapped_cloud.change(cells.CELL0_UUID,
                            database_connection='{schema}://x')
        for name in ('one', 'api'):
            url = mapped_cloud.databases[name].url
            own = databases.Databases(mapped_cloud.conf(
                database__connection=url)).rows()[1]
            assert ('the database of cell one;' if name == 'one' else
                    'the database of no mapped cell;') in own.found

    def test_of_a_version_that_is_of_no_release_are_told_all_the_same(self):
        assert databases._version(None) == 'None'
        assert databases._version(30) == '30 (17.0.0 (Queens))'


def test_what_the_databases_cost_is_bounded(cloud, monkeypatch):
    """Each has its time, and so much the cells after the API database."""
    seconds, call = [], databases.remote.Call

    def ask(limit, *args, **kwargs):
        seconds.append(limit)
        return call(limit, *args, **kwargs)
    monkeypatch.setattr(databases.remote, 'Call', ask)
    databases.Databases(cloud.conf(
        nova_sched__cell_timeout=7,
        api_database__connection=cloud.url)).rows()

    assert sorted(seconds) == [7, 7, 7, 7, 14]


def test_no_cell_is_known_where_the_api_database_is_away(mapped_cloud):
    assert databases.Databases(mapped_cloud.conf(
        api_database__connection='sqlite:////no/such')).computes() == []
