"""The service record: this service's row in the services table."""

import datetime

from oslo_utils import timeutils
import pytest
import sqlalchemy as sa

from nova_sched import exception
from nova_sched.db import engine
from nova_sched.db import services
from nova_sched.db import tables

HOST = 'here'
LONG_AGO = datetime.datetime(2020, 1, 1)
NEWER_COLUMNS = ('uuid', 'last_seen_up', 'forced_down', 'version')


@pytest.fixture
def record(db):
    return services.ServiceRecord(db, HOST)


@pytest.fixture
def insert(db):
    """Function: insert a scheduler's row; columns are keywords."""
    def insert(host=HOST, **columns):
        with db.writing() as connection:
            connection.execute(tables.services.insert().values(**{
                'host': host, 'binary': 'nova-scheduler',
                'topic': 'scheduler', 'report_count': 7, 'disabled': False,
                'forced_down': False, 'version': 60, 'deleted': 0,
                'created_at': LONG_AGO, 'updated_at': LONG_AGO,
                'last_seen_up': LONG_AGO, **columns}))
    return insert


@pytest.fixture
def rows(db):
    """Function: return all rows of the table, as dicts."""
    def rows():
        with db.reading() as connection:
            return [dict(row) for row in connection.execute(sa.text(
                'SELECT * FROM services ORDER BY id')).mappings()]
    return rows


@pytest.fixture
def kilo(db, execute):
    """The database with Kilo's columns."""
    execute('DROP INDEX services_uuid_idx')
    for name in NEWER_COLUMNS:
        execute(f'ALTER TABLE services DROP COLUMN {name}')


def seconds_old(text):
    return abs((timeutils.utcnow()
                - datetime.datetime.fromisoformat(text)).total_seconds())


class TestRegister:
    def test_row_is_the_same_as_of_nova_34(self, record, rows):
        assert record.service_id is None
        record.register()
        row, = rows()
        assert (row['uuid'], len(row.pop('uuid'))) == (record.service_id, 36)
        assert seconds_old(row.pop('created_at')) < 30
        assert row == {
            'id': 1, 'host': HOST, 'binary': 'nova-scheduler',
            'topic': 'scheduler', 'report_count': 0, 'disabled': 0,
            'disabled_reason': None, 'last_seen_up': None, 'forced_down': 0,
            'version': 74, 'updated_at': None, 'deleted': 0,
            'deleted_at': None}

    def test_second_registration_changes_nothing(self, record, rows):
        record.register()
        before = rows()
        services.ServiceRecord(record.db, HOST).register()
        assert rows() == before

    @pytest.mark.parametrize('version', [None, 30, 74, 99])
    def test_existing_row_is_not_changed(self, record, insert, rows, version):
        insert(version=version, disabled=True, forced_down=True,
               disabled_reason='maintenance', uuid='some-uuid')
        insert('there', version=60)
        before = rows()
        record.register()
        assert rows() == before
        assert record.service_id == 'some-uuid'

    @pytest.mark.parametrize('columns', [
        {'deleted': 1}, {'host': 'there'},
        {'binary': 'nova-compute', 'topic': 'compute'}])
    def test_other_rows_are_ignored(self, record, insert, rows, columns):
        insert(**columns)
        before, = rows()
        assert not record.heartbeat()
        record.register()
        assert rows()[0] == before
        assert len(rows()) == 2

    def test_row_of_kilo_lacks_newer_columns(self, kilo, record, rows):
        """Its id is the service's id."""
        record.register()
        record.register()
        assert record.heartbeat()
        row, = rows()
        assert not set(NEWER_COLUMNS) & set(row)
        assert row['report_count'] == 1
        assert seconds_old(row['updated_at']) < 30
        assert record.service_id == str(row['id'])


class TestVersion:
    """A service of Nova does not start if the lowest version of its binary is
    above its own. So a new row gets a version that is there already.
    """

    @pytest.fixture
    def registered(self, record, rows):
        """Function: return the version of a new row, and its origin."""
        def registered():
            expected = record.version()
            assert not expected.is_there
            record.register()
            [row] = [row for row in rows() if row['host'] == HOST]
            assert row['version'] == expected.number
            found = record.version()
            assert found == services.Version(
                expected.number, 'its own', is_there=True, above=found.above)
            return row['version'], expected.origin
        return registered

    @pytest.mark.parametrize(('binary', 'lower'), [
        ('nova-scheduler', 'nova-conductor'),
        ('nova-conductor', 'nova-compute')])
    def test_version_is_the_lowest_of_schedulers_or_else_of_conductors(
            self, insert, registered, binary, lower):
        for number, other in enumerate((31, 30, 99)):
            insert(f'there{number}', binary=binary, version=other)
        insert('lower', binary=lower, version=1)
        assert registered() == (30, f'the least of {binary}')

    def test_default_version_is_of_the_release_of_the_tables(
            self, execute, insert, registered):
        insert('there', version=None)
        insert('gone', binary='nova-conductor', deleted=1)
        execute('DROP TABLE nova_sched_alembic_version')
        execute('ALTER TABLE instances DROP COLUMN compute_id')
        assert registered() == (
            35, 'of tables newer than Queens, older than 2026.2')

    def test_kilo_has_no_version(self, kilo, record, rows):
        assert record.version() == services.Version(
            None, 'its table has no versions')
        assert rows() == []
        record.register()
        assert record.version() == services.Version(
            None, 'its own', is_there=True)

    @pytest.mark.parametrize(('own', 'others', 'conductor', 'above'), [
        (74, [], 30, 30), (74, [74], 30, 30), (74, [30], 30, None),
        (30, [74], 30, None), (30, [], 30, None), (30, [], 74, None),
        (None, [74], 30, 30), (None, [], 30, None), (74, [], None, None)])
    def test_version_above_the_conductors(
            self, insert, record, own, others, conductor, above):
        """A nova-scheduler of the conductors' release would not start."""
        insert(version=own)
        for number, version in enumerate(others):
            insert(f'there{number}', version=version)
        for host, version in (('one', conductor), ('two', 99)):
            insert(host, binary='nova-conductor', topic='conductor',
                   version=conductor and version)
        assert record.version() == services.Version(
            own, 'its own', is_there=True, above=above)


class TestHeartbeat:

    def test_columns_of_administrators_are_not_changed(
            self, record, insert, rows):
        insert(disabled=True, disabled_reason='maintenance', forced_down=True)
        before, = rows()
        record.heartbeat()
        after, = rows()
        changed = {name for name in before if before[name] != after[name]}
        assert changed == {'report_count', 'last_seen_up', 'updated_at'}

    def test_heartbeat_is_one_statement(self, record):
        """The schema is inspected once."""
        record.register()
        sent = []
        sa.event.listen(record.db.engine, 'before_cursor_execute',
                        lambda *args: sent.append(args[2]))
        record.heartbeat()
        assert [text.partition(' ')[0] for text in sent] == ['BEGIN', 'UPDATE']

    def test_missing_database_is_unavailable(self, tmp_path):
        db = engine.Database(f'sqlite:///{tmp_path}/none.sqlite')
        with pytest.raises(exception.DatabaseUnavailable):
            services.ServiceRecord(db, HOST).heartbeat()


class TestLeader:
    """The scheduler with the tasks that only one scheduler has."""

    @pytest.fixture
    def fresh(self, insert):
        """Function: insert the row of a scheduler with a new heartbeat."""
        def fresh(host, **columns):
            insert(host, **{'last_seen_up': timeutils.utcnow(), **columns})
        return fresh

    def test_leader_is_the_first_by_name(self, record, fresh):
        for host in ('m', 'a', HOST):
            fresh(host)
        assert record.leader(60) == 'a'

    @pytest.mark.parametrize('columns', [
        {'disabled': True}, {'forced_down': True}, {'deleted': 1},
        {'last_seen_up': LONG_AGO}, {'binary': 'nova-conductor'},
        {'last_seen_up': None, 'created_at': LONG_AGO},
        {'last_seen_up': None, 'created_at': None},
        {'last_seen_up': timeutils.utcnow() + datetime.timedelta(days=1000)}])
    def test_scheduler_that_is_down_is_no_leader(
            self, record, insert, fresh, columns):
        """The asking scheduler counts as up before its first heartbeat."""
        fresh('a', **columns)
        insert(HOST)
        assert record.leader(60) == HOST

    def test_new_scheduler_without_heartbeat_may_be_leader(
            self, record, fresh):
        fresh('a', last_seen_up=None, created_at=timeutils.utcnow())
        fresh(HOST)
        assert record.leader(60) == 'a'

    @pytest.mark.parametrize('columns', [
        {'disabled': True}, {'forced_down': True}])
    def test_no_leader_if_all_are_disabled(self, record, fresh, columns):
        fresh(HOST, **columns)
        assert record.leader(60) is None
