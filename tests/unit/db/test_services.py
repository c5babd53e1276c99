"""The service's own row in the services table."""

import datetime
import threading

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
    """Function: insert a row of a scheduler; columns as keywords."""
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
    """Function: all rows of the table, as dicts."""
    def rows():
        with db.reading() as connection:
            return [dict(row) for row in connection.execute(sa.text(
                'SELECT * FROM services ORDER BY id')).mappings()]
    return rows


@pytest.fixture
def kilo(db, execute):
    """That database as Kilo has it, without the newer columns."""
    execute('DROP INDEX services_uuid_idx')
    for name in NEWER_COLUMNS:
        execute(f'ALTER TABLE services DROP COLUMN {name}')


def seconds_old(text):
    return abs((timeutils.utcnow()
                - datetime.datetime.fromisoformat(text)).total_seconds())


class TestRegister:
    def test_makes_the_row_that_nova_34_makes(self, record, rows):
        record.register()
        row, = rows()
        assert len(row.pop('uuid')) == 36
        assert seconds_old(row.pop('created_at')) < 30
        assert row == {
            'id': 1, 'host': HOST, 'binary': 'nova-scheduler',
            'topic': 'scheduler', 'report_count': 0, 'disabled': 0,
            'disabled_reason': None, 'last_seen_up': None, 'forced_down': 0,
            'version': 74, 'updated_at': None, 'deleted': 0,
            'deleted_at': None}

    def test_a_second_time_changes_nothing(self, record, rows):
        record.register()
        before = rows()
        services.ServiceRecord(record.db, HOST).register()
        assert rows() == before

    @pytest.mark.parametrize('version', [None, 30, 74, 99])
    def test_leaves_a_row_that_is_there_as_it_is(
            self, record, insert, rows, version):
        """Whatever the version of the others."""
        insert(version=version, disabled=True, forced_down=True,
               disabled_reason='maintenance')
        insert('there', version=60)
        before = rows()
        record.register()
        assert rows() == before

    def test_leaves_a_soft_deleted_row_alone(self, record, insert, rows):
        insert(deleted=1)
        before, = rows()
        record.register()
        assert rows()[0] == before
        assert [row['deleted'] for row in rows()] == [1, 0]

    def test_takes_no_row_of_another_host_or_service_for_its_own(
            self, record, insert, rows):
        insert('there')
        insert(binary='nova-compute', topic='compute')
        record.register()
        assert len(rows()) == 3

    def test_of_several_at_once_makes_one_row(self, db, rows):
        """Whatever the order; none fails."""
        failed, start = [], threading.Barrier(6)

        def register():
            record = services.ServiceRecord(db, HOST)
            start.wait()
            try:
                record.register()
            except exception.DatabaseUnavailable as error:
                failed.append(error)
        threads = [threading.Thread(target=register) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        assert len(rows()) == 1

    def test_behind_a_row_made_in_the_same_moment_uses_that_one(
            self, record, insert, rows, monkeypatch):
        """It looked before the other one had committed."""
        def look_too_early():
            monkeypatch.undo()
            return services.Version(74, 'of tables')
        monkeypatch.setattr(record, 'version', look_too_early)
        insert()
        record.register()
        row, = rows()
        assert row['version'] == 60

    def test_in_a_database_of_kilo_does_without_the_newer_columns(
            self, kilo, record, rows):
        record.register()
        record.register()
        row, = rows()
        assert not set(NEWER_COLUMNS) & set(row)
        assert row['report_count'] == 0


#: What Nova's services wrote, from Liberty to 2026.2.
RELEASED = (2, 9, 15, 16, 22, 30, 35, 37, 40, 51, 53, 56, 60, 61, 64, 66, 67,
            68, 70, 72, 74)


class TestVersion:
    """Nova refuses to start where the least version of its kind is above its
    own, so a new row is of the release that runs."""

    @pytest.fixture
    def registered(self, record, rows):
        """Function: the version of the row that is made."""
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

    @pytest.mark.parametrize('version', RELEASED)
    def test_is_that_of_the_only_scheduler(
            self, insert, registered, version):
        insert('there', version=version)
        insert('conductor', binary='nova-conductor', version=1)
        assert registered() == (version, 'the least of nova-scheduler')

    @pytest.mark.parametrize('version', RELEASED)
    def test_is_the_least_of_several_schedulers(
            self, insert, registered, version):
        for number, other in enumerate((version + 1, version, 99)):
            insert(f'there{number}', version=other)
        assert registered() == (version, 'the least of nova-scheduler')

    @pytest.mark.parametrize('version', RELEASED)
    def test_is_the_least_of_the_conductors_where_no_scheduler_counts(
            self, insert, registered, version):
        for number, other in enumerate((99, version)):
            insert(f'there{number}', binary='nova-conductor', version=other)
        insert('there', binary='nova-compute', version=1)
        assert registered() == (version, 'the lowest of nova-conductor')

    @pytest.mark.parametrize('binary', ['nova-scheduler', 'nova-conductor'])
    @pytest.mark.parametrize('columns', [
        {'deleted': 1}, {'forced_down': True}, {'version': None}])
    def test_heeds_none_that_does_not_count(
            self, insert, registered, binary, columns):
        insert('there', binary=binary, **{'version': 1, **columns})
        insert('other', binary=binary, version=30)
        assert registered() == (30, f'the least of {binary}')

    @pytest.mark.parametrize('columns', [
        {'disabled': True}, {'last_seen_up': None}, {'forced_down': None}])
    def test_heeds_one_that_is_disabled_or_silent(
            self, insert, registered, columns):
        insert('there', version=30, **columns)
        insert('other', version=60)
        assert registered() == (30, 'the least of nova-scheduler')

    def test_is_of_the_era_of_the_tables_where_nobody_else_is(
            self, execute, insert, registered):
        insert('there', version=None)
        insert('gone', binary='nova-conductor', deleted=1)
        execute('DROP TABLE nova_sched_alembic_version')
        execute('ALTER TABLE instances DROP COLUMN compute_id')
        assert registered() == (
            35, 'of tables newer than Queens, older than 2026.2')

    def test_is_none_in_a_database_of_kilo(self, kilo, record):
        assert record.version() == services.Version(
            None, 'its table has no versions')
        record.register()
        assert record.version() == services.Version(
            None, 'its own', is_there=True)

    @pytest.mark.parametrize(('own', 'others', 'conductor', 'told'), [
        (74, [], 30, 30), (74, [74], 30, 30), (74, [30], 30, None),
        (30, [74], 30, None), (30, [], 30, None), (30, [], 74, None),
        (None, [74], 30, 30), (None, [], 30, None), (74, [], None, None)])
    def test_that_is_above_the_conductors_is_told_of(
            self, insert, record, own, others, conductor, told):
        """A nova-scheduler of their release does not start then."""
        insert(version=own)
        for number, version in enumerate(others):
            insert(f'there{number}', version=version)
        for host, version in (('one', conductor), ('two', 99)):
            insert(host, binary='nova-conductor', topic='conductor',
                   version=conductor and version)
        assert record.version() == services.Version(
            own, 'its own', is_there=True, above=told)

    def test_is_looked_up_without_a_change(self, record, rows):
        record.version()
        assert rows() == []


class TestHeartbeat:
    def test_counts_and_says_when(self, record, rows):
        record.register()
        assert record.heartbeat()
        assert record.heartbeat()
        row, = rows()
        assert row['report_count'] == 2
        assert row['last_seen_up'] == row['updated_at']
        assert seconds_old(row['updated_at']) < 30

    def test_leaves_what_an_admin_has_set(self, record, insert, rows):
        insert(disabled=True, disabled_reason='maintenance',
               forced_down=True)
        before, = rows()
        record.heartbeat()
        after, = rows()
        changed = {name for name in before if before[name] != after[name]}
        assert changed == {'report_count', 'last_seen_up', 'updated_at'}

    @pytest.mark.parametrize('columns', [
        {'deleted': 1}, {'host': 'there'}, {'binary': 'nova-compute'}])
    def test_without_a_row_of_its_own_says_so(
            self, record, insert, rows, columns):
        insert(**columns)
        before = rows()
        assert not record.heartbeat()
        assert rows() == before

    def test_in_a_database_of_kilo_sets_updated_at(
            self, kilo, record, rows):
        record.register()
        assert record.heartbeat()
        row, = rows()
        assert row['report_count'] == 1
        assert seconds_old(row['updated_at']) < 30

    def test_is_one_statement(self, record):
        """Which columns there are is looked at once."""
        record.register()
        sent = []
        sa.event.listen(record.db.engine, 'before_cursor_execute',
                        lambda *args: sent.append(args[2]))
        record.heartbeat()
        assert [text.partition(' ')[0] for text in sent] == [
            'BEGIN', 'UPDATE']

    def test_without_a_database_is_a_typed_error(self, tmp_path):
        db = engine.Database(f'sqlite:///{tmp_path}/none.sqlite')
        with pytest.raises(exception.DatabaseUnavailable):
            services.ServiceRecord(db, HOST).heartbeat()


class TestLeader:
    """Who of the schedulers does what only one is to do."""

    @pytest.fixture
    def fresh(self, insert):
        """Function: insert the row of a scheduler that has just reported."""
        def fresh(host, **columns):
            insert(host, **{'last_seen_up': timeutils.utcnow(), **columns})
        return fresh

    def test_is_the_first_by_name(self, record, fresh):
        for host in ('m', 'a', HOST):
            fresh(host)
        assert record.leader(60) == 'a'

    @pytest.mark.parametrize('columns', [
        {'disabled': True}, {'forced_down': True}, {'deleted': 1},
        {'last_seen_up': LONG_AGO}, {'binary': 'nova-conductor'},
        {'last_seen_up': None, 'created_at': LONG_AGO},
        {'last_seen_up': None, 'created_at': None},
        {'last_seen_up': timeutils.utcnow() + datetime.timedelta(days=1000)}])
    def test_is_none_that_does_not_work(self, record, fresh, columns):
        fresh('a', **columns)
        fresh(HOST)
        assert record.leader(60) == HOST

    def test_may_be_one_that_has_just_been_made(self, record, fresh):
        fresh('a', last_seen_up=None, created_at=timeutils.utcnow())
        fresh(HOST)
        assert record.leader(60) == 'a'

    def test_may_be_who_asks_before_its_first_heartbeat(
            self, record, insert):
        insert()
        assert record.leader(60) == HOST

    @pytest.mark.parametrize('columns', [
        {'disabled': True}, {'forced_down': True}])
    def test_is_nobody_where_the_only_one_is_set_aside(
            self, record, fresh, columns):
        fresh(HOST, **columns)
        assert record.leader(60) is None


class TestTheIdOfTheRow:
    def test_is_unknown_before_it_is_registered(self, record):
        assert record.service_id is None

    def test_is_the_uuid_that_it_is_made_with(self, record, rows):
        record.register()
        assert record.service_id == rows()[0]['uuid']

    def test_is_that_of_a_row_that_is_there(self, record, insert):
        insert(uuid='some-uuid')
        record.register()
        assert record.service_id == 'some-uuid'

    def test_is_its_number_in_a_release_without_uuids(
            self, kilo, record, execute, rows):
        execute("INSERT INTO services (host, binary, topic, report_count, "
                "disabled, deleted) VALUES ('here', 'nova-scheduler', "
                "'scheduler', 0, 0, 0)")
        record.register()
        assert record.service_id == str(rows()[0]['id'])
