"""URLs, engines per process, transactions, errors, waiting for a database."""

import datetime
import logging
import os
import shutil
import threading
import types

import pymysql
from pymysql.constants import FIELD_TYPE
import pytest
import sqlalchemy as sa

from nova_sched import exception
from nova_sched.db import engine
from nova_sched.db import mysql
from nova_sched.db import schema
from nova_sched.db import tables
from tests.builders.full_disk import full_disk

LOG = logging.getLogger('test.engine')


class TestParseUrl:
    @pytest.mark.parametrize('url, drivername', [
        ('mysql://u:p@h/d', 'mysql+pymysql'),
        ('mysql+pymysql://u:p@h/d', 'mysql+pymysql'),
        ('postgresql://u:p@h/d', 'postgresql+psycopg2'),
        ('sqlite:////tmp/x', 'sqlite'),
    ])
    def test_default_driver_is_used(self, url, drivername):
        assert drivername == engine.parse_url(url).drivername

    @pytest.mark.parametrize(('driver', 'names'), [
        ('mysql', {'connect_timeout', 'read_timeout', 'write_timeout'}),
        *((f'postgresql+{driver}', {
            'connect_timeout', 'keepalives_idle', 'tcp_user_timeout'})
          for driver in ('psycopg2', 'psycopg'))])
    def test_waits_for_server_have_timeouts(self, driver, names):
        assert names <= set(engine.parse_url(f'{driver}://u:p@h/d').query)

    def test_timeout_of_operator_is_kept(self):
        url = engine.parse_url('mysql://u:p@h/d?read_timeout=7')
        assert url.query['read_timeout'] == '7'

    @pytest.mark.parametrize('url', [
        'secret', 'mysql://u:secret@h:port/x', 'mysql+pymysql//u:secret@h/x'])
    def test_mistyped_url_is_not_shown(self, url):
        with pytest.raises(exception.ConfigurationError) as caught:
            engine.parse_url(url)
        assert 'secret' not in str(caught.value)


def test_replica_is_not_read(conf):
    """It may lag behind."""
    conf.set_override('slave_connection', 'sqlite:////replica', 'database')
    assert engine.connection_url(conf).endswith('test.sqlite')


def test_options_are_passed_to_the_engine(conf):
    for name, value in (('max_pool_size', 3), ('connection_recycle_time', 77),
                        ('connection_parameters', 'charset=utf8mb4')):
        conf.set_override(name, value, 'database')
    made = engine.connect('mysql://u:p@h/d', engine.options_from(conf))
    assert (made.pool.size(), made.pool._recycle) == (3, 77)
    assert made.url.query['charset'] == 'utf8mb4'


def test_unknown_driver_is_a_configuration_error():
    with pytest.raises(exception.ConfigurationError) as caught:
        engine.connect('oracle://u:secret@h/x')
    assert 'secret' not in str(caught.value)


def names_in(db):
    with db.reading() as connection:
        return connection.execute(
            sa.select(tables.aggregates.c.name)).scalars().all()


def add(db, name):
    """Read and then write in one transaction."""
    with db.writing() as connection:
        connection.execute(sa.select(tables.aggregates)).all()
        connection.execute(tables.aggregates.insert(), {'name': name})


class TestDatabase:
    def test_connection_is_opened_at_first_use(self, tmp_path):
        engine.Database(f'sqlite:///{tmp_path}/x.sqlite')
        assert not (tmp_path / 'x.sqlite').exists()

    def test_each_process_has_one_engine(self, db, monkeypatch):
        parents = db.engine
        assert db.engine is parents
        monkeypatch.setattr(os, 'getpid', lambda: -1)
        assert db.engine is not parents

    def test_failed_transaction_is_rolled_back(self, db):
        with pytest.raises(ZeroDivisionError), db.writing() as connection:
            connection.execute(tables.aggregates.insert(), {'name': 'a'})
            raise ZeroDivisionError
        assert names_in(db) == []

    def test_concurrent_writers_do_not_fail(self, db):
        threads = [threading.Thread(target=add, args=(db, f'a{n}'))
                   for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(names_in(db)) == 8

    def test_errors_name_the_database_without_its_password(self):
        db = engine.Database('mysql://u:secret@127.0.0.1:1/d')
        with pytest.raises(exception.DatabaseUnavailable) as caught:
            db.check()
        assert 'mysql+pymysql://u:***@127.0.0.1:1/d' in str(caught.value)
        assert 'secret' not in str(caught.value)
        assert 'onnect' in str(caught.value)

    def test_error_for_missing_tables_names_db_sync(self, conf):
        with pytest.raises(exception.DatabaseUnavailable, match='db sync'):
            engine.database(conf).check()


class TestWaitForDatabase:

    def test_one_warning_per_attempt(self, conf, caplog):
        conf.set_override('retry_interval', 4, 'database')
        slept = []

        def sleep(seconds):
            slept.append(seconds)
            if len(slept) == 2:
                schema.sync(conf)

        caplog.set_level(logging.WARNING, 'test.engine')
        engine.wait_for_database(conf, LOG, sleep=sleep)
        lines = [r.getMessage() for r in caplog.records
                 if r.name == 'test.engine']
        assert slept == [4, 4]
        assert len(lines) == 2
        assert 'Attempt 1 of 10, the next in 4 seconds.' in lines[0]
        assert all('\n' not in line for line in lines)
        assert all(record.exc_info is None for record in caplog.records)

    @pytest.mark.parametrize(('limit', 'words'), [
        (-1, 'Attempt 1 of endless,'), (2, 'Attempt 1 of 2,')])
    def test_warning_has_the_number_of_attempts(
            self, conf, caplog, limit, words):
        conf.set_override('max_retries', limit, 'database')
        engine.wait_for_database(conf, LOG, lambda _: schema.sync(conf))
        assert words in caplog.text

    @pytest.mark.parametrize(('max_retries', 'slept', 'error'), [
        (0, 0, exception.DatabaseUnavailable),
        (1, 0, exception.DatabaseUnavailable),
        (3, 2, exception.DatabaseUnavailable), (-1, 50, InterruptedError)])
    def test_wait_ends_after_max_retries(
            self, conf, max_retries, slept, error):
        """-1 means no end."""
        conf.set_override('max_retries', max_retries, 'database')
        naps = []

        def sleep(seconds):
            naps.append(seconds)
            if len(naps) == 50:
                raise InterruptedError

        with pytest.raises(error):
            engine.wait_for_database(conf, LOG, sleep=sleep)
        assert slept == len(naps)


def test_pymysql_times_are_datetimes_or_none(monkeypatch):
    """PyMySQL itself returns the zero date as a text."""
    arguments = {}

    def connect(*args, **kwargs):
        arguments.update(kwargs)
        raise pymysql.err.OperationalError(2003, 'no server here')

    made = engine.connect('mysql://u:p@h/d')
    monkeypatch.setattr(mysql, 'Connection', connect)
    with pytest.raises(Exception, match='no server here'):
        made.connect()
    convert = arguments['conv'][FIELD_TYPE.DATETIME]
    assert datetime.datetime(2026, 4, 3, 9, 40, 41) == convert(
        '2026-04-03 09:40:41')
    assert convert('0000-00-00 00:00:00') is None


class TestDialects:
    @pytest.mark.parametrize(('options', 'mode'), [
        (None, 1), ({'sqlite_synchronous': True}, 1),
        ({'sqlite_synchronous': False}, 0)])
    def test_sqlite_is_synchronous_by_option(self, tmp_path, options, mode):
        """1 is NORMAL, which is safe in WAL mode."""
        (tmp_path / 'x.sqlite').touch()
        made = engine.connect(f'sqlite:///{tmp_path}/x.sqlite', options)
        with made.connect() as connection:
            assert connection.exec_driver_sql(
                'PRAGMA synchronous').scalar() == mode
        made.dispose()


@pytest.mark.parametrize('link', [
    types.SimpleNamespace(_sock=None), types.SimpleNamespace(),
    types.SimpleNamespace(fileno=lambda: 1 / 0)])
def test_timeout_ignores_a_closed_connection(link):
    """Each driver raises another error."""
    engine._hang_up(link)


def test_creating_tables_has_no_timeout(conf, monkeypatch):
    made = []
    monkeypatch.setattr(schema, 'sync_database', made.append)

    schema.sync(conf)

    assert made[0].timeout is None
    assert engine.database(conf).timeout == conf.nova_sched.cell_timeout


class TestFullDisk:
    """The embedded database; reading it in WAL mode also creates a file."""

    def test_database_can_be_read_and_not_written(self, db):
        add(db, 'a')
        with full_disk():
            assert names_in(db) == ['a']
            with pytest.raises(exception.DatabaseUnavailable):
                add(db, 'b')
        add(db, 'c')
        assert names_in(db) == ['a', 'c']

    def test_database_is_not_read_without_its_wal_file(self, db, tmp_path):
        """It contains the last commits of a killed process."""
        copy = tmp_path / 'copy.sqlite'
        with db.reading() as keeping:
            keeping.execute(sa.select(tables.aggregates)).all()
            add(db, 'a')
            for end in ('', '-wal'):
                shutil.copy(f'{db.url.database}{end}', f'{copy}{end}')
        killed = engine.Database(f'sqlite:///{copy}')
        with full_disk(), pytest.raises(exception.DatabaseUnavailable):
            names_in(killed)
        assert names_in(killed) == ['a']
        killed.close()


class TestReason:
    @pytest.mark.parametrize(('error', 'words'), [
        (pymysql.err.OperationalError(2003, 'no server'), 'no server (2003)'),
        (OSError('a', 'b'), '[Errno a] b'), (ValueError(5, 6, 7), '(5, 6, 7)'),
        (ValueError(), 'ValueError'), (ValueError('  '), 'ValueError'),
        (ValueError('a\n  b '), 'a b')])
    def test_reason_is_one_line(self, error, words):
        assert engine.reason(error) == words

    def test_reason_of_wrapped_error_is_the_inner_text(self):
        inner = ValueError('the cause')
        for name in ('inner_exception', 'orig'):
            outer = ValueError('a wrapper')
            setattr(outer, name, inner)
            assert engine.reason(outer) == 'the cause'

    def test_failed_statement_differs_from_lost_connection(self, db):
        with (pytest.raises(exception.StatementFailed, match='no such table'),
              db.reading() as connection):
            connection.exec_driver_sql('SELECT * FROM nowhere')
        for error in (sa.exc.TimeoutError('x'),
                      sa.exc.DisconnectionError('x')):
            with (pytest.raises(exception.DatabaseUnavailable) as caught,
                  db.translated()):
                raise error
            assert type(caught.value) is exception.DatabaseUnavailable

    def test_any_error_of_driver_is_translated(self, db, monkeypatch):
        """As for an unknown parameter."""
        def connect():
            raise TypeError('unexpected keyword argument')
        monkeypatch.setattr(engine, 'connect', lambda *_: (
            types.SimpleNamespace(connect=connect, dispose=lambda: None)))
        with pytest.raises(exception.DatabaseUnavailable,
                           match=r'Database sqlite://.*: unexpected keyword'):
            db.check()
