"""Rows about databases and their contents, with SQLite."""

import datetime

import pytest

from nova_sched.db import cells
from nova_sched.preflight import databases
from nova_sched.preflight.rows import ERROR
from nova_sched.preflight.rows import OK
from nova_sched.preflight.rows import WARNING
from tests.builders import clouds
from tests.builders.case_tables import case_table
from tests.builders.mapped_cloud import CELL1
from tests.builders.mapped_cloud import CELL2

#: A path in an absent directory, which SQLite refuses at once.
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


def test_a_consistent_cloud_has_only_good_rows(cloud_of_three):
    found = rows(cloud_of_three.conf())

    assert [(row.check, row.outcome) for row in found] == [
        ('API database', OK), ('database', OK),
        (f'cell {CELL1}(one)', OK), (f'cell {CELL2}(two)', OK)]
    assert '3 cell mappings, 3 host mappings, 0 aggregates' in found[0].found
    assert 'the database of cell cell0' in found[1].found
    assert '2 compute nodes, 2 compute services' in found[2].found
    assert ', 2 up, 0 disabled, 0 down' in found[2].found


def test_old_clouds_have_one_database(cloud):
    cloud.load(2)
    found = rows(cloud.conf())

    assert [(row.check, row.outcome) for row in found] == [
        ('API database', OK), ('database', OK), ('hosts', OK)]
    assert 'is not set' in found[0].found
    assert 'the only database' in found[1].found


def test_swapped_urls_are_an_error(mapped_cloud):
    mapped_cloud.api.execute('DROP TABLE compute_nodes')
    mapped_cloud.cell0.execute('DROP TABLE cell_mappings')
    row, = rows(mapped_cloud.conf(
        database__connection=mapped_cloud.api.url,
        api_database__connection=mapped_cloud.cell0.url))

    assert (row.check, row.outcome) == ('database', ERROR)
    assert 'are swapped' in row.found
    assert all('are swapped' not in row.found
               for row in rows(mapped_cloud.conf()))


def test_an_unreachable_cell_hides_no_other(cloud_of_three):
    cloud_of_three.change(CELL1, database_connection=GONE)
    lost, well = rows(cloud_of_three.conf())[-2:]

    assert (lost.outcome, well.outcome) == (ERROR, OK)
    assert 'there is no such file' in lost.found
    assert 'nova-manage cell_v2 list_cells' in lost.advice


def test_without_the_api_database_the_database_is_checked(cloud_of_three):
    found = {row.check: row for row in rows(cloud_of_three.conf(
        api_database__connection=GONE))}

    assert {check: row.outcome for check, row in found.items()} == {
        'API database': ERROR, 'database': OK, 'cells': ERROR}
    assert '[api_database] connection' in found['API database'].advice
    assert 'of an unknown cell' in found['database'].found


def test_without_the_database_the_cells_are_checked(cloud_of_three):
    found = rows(cloud_of_three.conf(database__connection=GONE))

    assert [row.outcome for row in found] == [OK, ERROR, OK, OK]


def test_an_unusable_url_is_reported_without_its_password(cloud_of_three):
    cloud_of_three.change(
        CELL1, database_connection='{schema}://u:open-sesame@h/d')
    row, = rows(cloud_of_three.conf(), 'cell one')

    assert row.outcome == ERROR
    assert 'it may name only {scheme}' in row.found
    assert 'open-sesame' not in str(row)


@case_table('preflight-databases', 'inconsistent')
def test_inconsistent_hosts_and_services_are_reported(
        cloud_of_three, change, outcome, words, advice):
    database, _, statement = change.partition('|')
    cloud_of_three.databases[database].execute(statement)

    [row] = [row for row in rows(cloud_of_three.conf(),
                                 f'cell {CELL2}(two)') if words in row.found]

    assert row.outcome == outcome
    assert advice in row.advice


def test_an_api_database_without_cells_is_a_warning(cloud):
    row = rows(cloud.conf(api_database__connection=cloud.url))[0]

    assert (row.check, row.outcome) == ('API database', WARNING)
    assert 'No cell is mapped' in row.advice


@pytest.mark.parametrize('host, advice', [
    ('elsewhere', 'It takes some of the requests'),
    ('this-one', 'set [DEFAULT] host')])
def test_a_live_scheduler_is_a_warning(cloud_of_three, host, advice):
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


def test_computes_are_of_the_cells_that_answer(cloud_of_three):
    cloud_of_three.change(CELL1, database_connection=GONE)
    found = databases.Databases(cloud_of_three.conf()).computes()

    nodes = [node for computes in found for node in computes.nodes]
    assert [name for name, _uuid in nodes] == ['c']
    assert databases.Databases(cloud_of_three.conf(
        api_database__connection=GONE)).computes() == []


def test_a_loaded_cloud_has_all_cells_in_one_database(cloud):
    cloud.load(2, cells=[{'uuid': clouds.CELL_UUID, 'name': 'one'}])
    found = rows(cloud.conf(api_database__connection=cloud.url))

    assert [row.check for row in found] == ['API database', 'database',
                                            'hosts']
    assert cells.SINGLE_CELL_UUID not in str(found[2])


NOW = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


def ago(seconds):
    """A time in the form of these databases."""
    return f'{NOW - datetime.timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S}'


@pytest.fixture
def one(cloud):
    """Function: the Computes of a cloud with a single database."""
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

    def test_have_the_lowest_version_of_the_services(self, cloud, one):
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

        assert (found.nodes, found.hosts, found.layout) == (
            [('a-node', clouds.a_uuid(3))], {'a'}, "this service's own")


class TestSchedulers:
    @pytest.fixture(autouse=True)
    def records(self, cloud):
        """Records of schedulers, and of one other service."""
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

    @pytest.mark.parametrize(('down_time', 'up'), [
        (3600, ['fresh', 'new']), (20000, ['fresh', 'stale', 'new'])])
    def test_only_live_schedulers_have_a_row(self, cloud, down_time, up):
        found = rows(cloud.conf(DEFAULT__service_down_time=down_time),
                     'other schedulers')
        assert [row.found.split(',')[0] for row in found] == [
            f'a scheduler is up on host {host}' for host in up]

    def test_this_service_uses_the_record_of_its_host(self, cloud):
        for host, words in (
                ('stale', 'the existing record for host stale, with version '
                          '30 (17.0.0 (Queens)), its own'),
                ('mine', 'a new record for host mine, with version 30 (17.0.0 '
                         '(Queens)), the least of nova-scheduler')):
            own = rows(cloud.conf(DEFAULT__host=host), 'database')[0]
            assert own.outcome == OK
            assert own.found.endswith(f'this service will use {words}')

    def test_records_too_new_for_a_nova_scheduler_have_a_row(self, cloud):
        cloud.execute('UPDATE services SET version = 74 '
                      "WHERE binary = 'nova-scheduler'")
        [row] = rows(cloud.conf(DEFAULT__host='fresh'), 'way back')
        assert row.outcome == WARNING
        assert row.found == (
            'all records of nova-scheduler have a higher version than 30 '
            '(17.0.0 (Queens)), the lowest of nova-conductor: a '
            'nova-scheduler of that release ends with ServiceTooOld')
        assert 'openstack compute service delete' in row.advice

        cloud.execute("UPDATE services SET version = 30 WHERE host = 'stale'")
        assert not rows(cloud.conf(DEFAULT__host='fresh'), 'way back')


def test_a_record_in_a_table_of_kilo_has_no_version(cloud):
    cloud.execute('DROP INDEX services_uuid_idx')
    for name in ('uuid', 'last_seen_up', 'forced_down', 'version'):
        cloud.execute(f'ALTER TABLE services DROP COLUMN {name}')
    [own] = rows(cloud.conf(DEFAULT__host='mine'), 'database')
    assert own.found.endswith(
        'a new record for host mine, with version None, its table has no '
        'versions')


class TestPlaces:
    @pytest.mark.parametrize(('url', 'same'), [
        ('mysql+pymysql://other:pw@h:1/d?charset=utf8', True),
        ('mysql://h:1/d', True), ('mysql://h:2/d', False),
        ('mysql://i:1/d', False), ('mysql://h:1/e', False),
        ('postgresql://h:1/d', False),
        ('mysql://h:1/d?unix_socket=/x', False)])
    def test_differ_by_back_end_host_port_name_or_socket(self, url, same):
        assert (databases._place('mysql://u:p@h:1/d')
                == databases._place(url)) is same

    def test_are_named_by_their_cell(self, mapped_cloud):
        def place(name):
            [own] = rows(mapped_cloud.conf(
                database__connection=mapped_cloud.databases[name].url),
                'database')
            return own.found.partition(', ')[2]

        assert place('one').startswith('the database of cell one;')
        mapped_cloud.change(cells.CELL0_UUID,
                            database_connection='{schema}://x')
        assert place('one').startswith('the database of cell one;')
        assert place('api').startswith('the database of no mapped cell;')
