"""What the databases of a cloud hold, read and counted."""

import datetime

import pytest

from nova_sched.db import cells
from nova_sched.preflight import databases
from nova_sched.preflight.rows import OK
from nova_sched.preflight.rows import WARNING
from tests.builders import clouds

NOW = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


def ago(seconds):
    """A moment as the databases of these tests hold it."""
    return f'{NOW - datetime.timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S}'


@pytest.fixture
def one(cloud):
    """Function: the Computes of the one database of a cloud."""
    def one(down_time=3600):
        conf = cloud.conf()
        return databases.computes(
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
            for record in databases.schedulers(
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
                ('stale', 'the one that is there for host stale, with version '
                          '30 (17.0.0 (Queens)), its own'),
                ('mine', 'a new one for host mine, with version 30 (17.0.0 '
                         '(Queens)), the least of nova-scheduler')):
            own = databases.Databases(cloud.conf(DEFAULT__host=host)).rows()[1]
            assert own.outcome == OK
            assert own.found.endswith(
                f'the record of this service will be {words}')


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
            '(17.0.0 (Queens)), the least of nova-conductor: a '
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
        'a new one for host mine, with version None, its table has no '
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
