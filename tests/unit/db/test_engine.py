"""URLs, engines per process, errors in words, waiting for a database."""

import contextlib
import datetime
import logging
import os
import shutil
import socket
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

ROW = tables.services.insert().values(host='here', report_count=0)


class TestParseUrl:
    @pytest.mark.parametrize('url, drivername', [
        ('mysql://u:p@h/d', 'mysql+pymysql'),
        ('mysql+pymysql://u:p@h/d', 'mysql+pymysql'),
        ('postgresql://u:p@h/d', 'postgresql+psycopg2'),
        ('sqlite:////tmp/x', 'sqlite'),
    ])
    def test_uses_the_driver_that_comes_along(self, url, drivername):
        assert drivername == engine.parse_url(url).drivername

    def test_bounds_every_wait_for_a_mysql_server(self):
        query = engine.parse_url('mysql://u:p@h/d').query
        assert {'connect_timeout', 'read_timeout', 'write_timeout'} <= set(
            query)

    @pytest.mark.parametrize('driver', ['psycopg2', 'psycopg'])
    def test_notices_that_the_host_of_a_postgresql_server_is_gone(
            self, driver):
        query = engine.parse_url(f'postgresql+{driver}://u:p@h/d').query
        assert {'connect_timeout', 'keepalives_idle',
                'tcp_user_timeout'} <= set(query)

    def test_keeps_the_timeout_of_the_operator(self):
        url = engine.parse_url('mysql://u:p@h/d?read_timeout=7')
        assert url.query['read_timeout'] == '7'

    @pytest.mark.parametrize('url', [
        'secret', 'mysql://u:secret@h:port/x', 'mysql+pymysql//u:secret@h/x'])
    def test_does_not_repeat_a_mistyped_url(self, url):
        with pytest.raises(exception.ConfigurationError) as caught:
            engine.parse_url(url)
        assert 'secret' not in str(caught.value)


def test_masked_hides_the_password():
    assert engine.masked('mysql://u:secret@h/d?x=y') == 'mysql://u:***@h/d'


class TestConnectionUrl:
    def test_is_not_the_replica(self, conf):
        """A replica may lag behind what a request must see."""
        conf.set_override('slave_connection', 'sqlite:////replica',
                          'database')
        assert engine.connection_url(conf).endswith('test.sqlite')


class TestOptions:
    def test_reach_the_engine(self, conf):
        conf.set_override('max_pool_size', 3, 'database')
        conf.set_override('connection_recycle_time', 77, 'database')
        made = engine.connect('mysql://u:p@h/d', engine.options_from(conf))
        assert made.pool.size() == 3
        assert made.pool._recycle == 77

    def test_connection_parameters_are_added_to_the_url(self, conf):
        conf.set_override('connection_parameters', 'charset=utf8mb4',
                          'database')
        made = engine.connect('mysql://u:p@h/d', engine.options_from(conf))
        assert made.url.query['charset'] == 'utf8mb4'

    def test_an_unknown_driver_is_a_configuration_error(self):
        with pytest.raises(exception.ConfigurationError) as caught:
            engine.connect('oracle://u:secret@h/x')
        assert 'secret' not in str(caught.value)


class TestDatabase:
    def test_opens_nothing_when_it_is_made(self, tmp_path):
        engine.Database(f'sqlite:///{tmp_path}/x.sqlite')
        assert not (tmp_path / 'x.sqlite').exists()

    def test_a_forked_child_has_an_engine_of_its_own(self, db, monkeypatch):
        mine = db.engine
        monkeypatch.setattr(os, 'getpid', lambda: -1)
        assert mine is not db.engine

    def test_one_process_has_one_engine(self, db):
        assert db.engine is db.engine

    def test_reading_sees_what_was_committed_just_before(self, db):
        with db.reading() as connection:
            connection.execute(sa.select(tables.aggregates)).all()
        with db.writing() as connection:
            connection.execute(tables.aggregates.insert(), {'name': 'a'})
        with db.reading() as connection:
            assert len(
                connection.execute(sa.select(tables.aggregates)).all()) == 1

    def test_writing_undoes_everything_on_an_error(self, db):
        with pytest.raises(ZeroDivisionError), db.writing() as connection:
            connection.execute(tables.aggregates.insert(), {'name': 'a'})
            raise ZeroDivisionError
        with db.reading() as connection:
            assert connection.execute(
                sa.select(tables.aggregates)).all() == []

    def test_two_writers_take_turns(self, db):
        """Each reads and then writes; neither fails because of the other."""
        def add(name):
            with db.writing() as connection:
                connection.execute(sa.select(tables.aggregates)).all()
                connection.execute(
                    tables.aggregates.insert(), {'name': name})

        threads = [threading.Thread(target=add, args=(f'a{n}',))
                   for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with db.reading() as connection:
            assert len(
                connection.execute(sa.select(tables.aggregates)).all()) == 8

    def test_errors_name_the_database_without_its_password(self):
        db = engine.Database('mysql://u:secret@127.0.0.1:1/d')
        with pytest.raises(exception.DatabaseUnavailable) as caught:
            db.check()
        assert 'mysql+pymysql://u:***@127.0.0.1:1/d' in str(caught.value)
        assert 'secret' not in str(caught.value)
        assert 'onnect' in str(caught.value)

    def test_check_says_how_to_make_missing_tables(self, conf):
        with pytest.raises(exception.DatabaseUnavailable, match='db sync'):
            engine.database(conf).check()


class TestWaitForDatabase:
    def test_returns_at_once_when_all_is_there(self, conf, db, caplog):
        engine.wait_for_database(conf, LOG, sleep=_never)
        assert caplog.records == []

    def test_warns_in_one_line_per_attempt(self, conf, caplog):
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
    def test_says_how_often_it_tries(self, conf, caplog, limit, words):
        conf.set_override('max_retries', limit, 'database')
        engine.wait_for_database(conf, LOG, lambda _: schema.sync(conf))
        assert words in caplog.text

    @pytest.mark.parametrize('there', [True, False])
    def test_leaves_no_connection(self, conf, db, monkeypatch, there):
        closed, database = [], engine.Database
        if not there:
            conf.set_override('connection', 'sqlite:////no/such', 'database')
            conf.set_override('max_retries', 0, 'database')

        class Closed(database):
            def close(self):
                closed.append(self)
                super().close()
        monkeypatch.setattr(engine, 'Database', Closed)
        with contextlib.suppress(exception.DatabaseUnavailable):
            engine.wait_for_database(conf, LOG)
        assert len(closed) == 1

    @pytest.mark.parametrize('max_retries, slept', [(0, 0), (1, 0), (3, 2)])
    def test_gives_up_after_max_retries(self, conf, max_retries, slept):
        conf.set_override('max_retries', max_retries, 'database')
        naps = []
        with pytest.raises(exception.DatabaseUnavailable):
            engine.wait_for_database(conf, LOG, sleep=naps.append)
        assert slept == len(naps)

    def test_minus_one_waits_for_ever(self, conf):
        conf.set_override('max_retries', -1, 'database')
        naps = []

        def sleep(seconds):
            naps.append(seconds)
            if len(naps) == 50:
                raise InterruptedError

        with pytest.raises(InterruptedError):
            engine.wait_for_database(conf, LOG, sleep=sleep)


def _never(seconds):
    raise AssertionError('there was nothing to wait for')


def test_pymysql_times_are_read_as_datetimes(monkeypatch):
    """And the zero date, of which PyMySQL makes a text, as none."""
    given = {}

    def connect(*args, **kwargs):
        given.update(kwargs)
        raise pymysql.err.OperationalError(2003, 'no server here')

    made = engine.connect('mysql://u:p@h/d')
    monkeypatch.setattr(mysql, 'Connection', connect)
    with pytest.raises(Exception, match='no server here'):
        made.connect()
    convert = given['conv'][FIELD_TYPE.DATETIME]
    assert datetime.datetime(2026, 4, 3, 9, 40, 41) == convert(
        '2026-04-03 09:40:41')
    assert convert('0000-00-00 00:00:00') is None


class Connection:
    """Of a database that is not here; what is done with it is noted.

    Also its engine, its dialect, and what the driver has of it.
    """

    def __init__(self, name):
        self.name, self.done, self.info = name, [], {}
        self.dialect = self.connection = self.dbapi_connection = self

    def execution_options(self, **options):
        self.done.append(options)

    @contextlib.contextmanager
    def connect(self):
        self.done.append('connect')
        yield self
        self.done.append('close')

    @contextlib.contextmanager
    def begin(self):
        self.done.append('begin')
        yield
        self.done.append('commit')

    def invalidate(self):
        self.done.append('invalidate')

    def exec_driver_sql(self, sql):
        self.done.append(sql)


class TestOtherDatabases:
    """What is not the same on all of them."""

    @pytest.mark.parametrize(('name', 'done'), [
        ('postgresql', [{'isolation_level': 'REPEATABLE READ'}]),
        ('mysql', [])])
    def test_show_all_of_a_transaction_one_state(
            self, db, monkeypatch, name, done):
        connection = Connection(name)
        monkeypatch.setattr(db, '_connection',
                            lambda: contextlib.nullcontext(connection))
        with db.reading() as given:
            assert given is connection
        assert connection.done == done

    @pytest.mark.parametrize(('name', 'first'), [
        ('mysql', []), ('sqlite', ['BEGIN IMMEDIATE'])])
    def test_are_written_in_a_transaction(self, name, first):
        """SQLite's has the lock from its start on."""
        connection = Connection(name)
        with engine.writing(connection) as given:
            given.done.append('write')
        assert connection.done == [
            'connect', 'begin', *first, 'write', 'commit', 'close']
        assert bool(connection.info.get('in_transaction')) is bool(first)

    @pytest.mark.parametrize(('options', 'mode'), [
        (None, 1), ({'sqlite_synchronous': True}, 1),
        ({'sqlite_synchronous': False}, 0)])
    def test_are_safe_from_a_crash_of_a_process(
            self, tmp_path, options, mode):
        """NORMAL is enough for that, with SQLite's log; OFF is a choice."""
        (tmp_path / 'x.sqlite').touch()
        made = engine.connect(f'sqlite:///{tmp_path}/x.sqlite', options)
        with made.connect() as connection:
            assert connection.exec_driver_sql(
                'PRAGMA synchronous').scalar() == mode
        made.dispose()


class TestAStatementThatIsGivenUp:
    """Its connection is ended, as drivers cannot be told to."""

    @pytest.fixture
    def ends(self):
        """Both ends of a connection: two sockets."""
        near, far = socket.socketpair()
        yield near, far
        near.close()
        far.close()

    @staticmethod
    def of_pymysql(near):
        return types.SimpleNamespace(_sock=near)

    @staticmethod
    def of_libpq(near):
        return types.SimpleNamespace(fileno=near.fileno)

    @pytest.mark.parametrize('driver', [of_pymysql, of_libpq])
    def test_finds_its_connection_lost(self, db, ends, driver, monkeypatch):
        near, far = ends
        connection = Connection('mysql')
        connection.dbapi_connection = driver(near)
        monkeypatch.setattr(db, '_connection',
                            lambda: contextlib.nullcontext(connection))
        db.timeout = 0.1

        with db.reading():
            assert near.recv(1) == b''    # it does not wait any more

        assert connection.done == ['invalidate']
        assert far.recv(1) == b''
        assert near.fileno() != -1    # which is left to the driver

    @pytest.mark.parametrize('link', [
        types.SimpleNamespace(_sock=None), types.SimpleNamespace()])
    def test_may_have_none_any_more(self, link):
        engine._hang_up(link)

    def test_may_be_of_a_driver_that_says_so_in_its_own_way(self):
        def fileno():
            raise ZeroDivisionError
        engine._hang_up(types.SimpleNamespace(fileno=fileno))


def test_making_tables_takes_the_time_that_it_takes(conf, monkeypatch):
    made = []
    monkeypatch.setattr(schema, 'sync_database', made.append)

    schema.sync(conf)

    assert made[0].timeout is None
    assert engine.database(conf).timeout == conf.nova_sched.cell_timeout


class TestFullDisk:
    """Of the embedded database: to read it, too, makes a file beside it."""

    def test_is_read_all_the_same(self, db):
        with db.writing() as connection:
            connection.execute(ROW)
        with full_disk(), db.reading() as connection:
            assert connection.execute(
                sa.select(tables.services.c.host)).scalar() == 'here'

    def test_is_not_written(self, db):
        with (full_disk(), pytest.raises(exception.DatabaseUnavailable),
              db.writing() as connection):
            connection.execute(ROW)
        with db.reading() as connection:
            assert not connection.execute(sa.select(tables.services)).all()

    def test_is_written_again_when_there_is_room(self, db):
        with full_disk(), db.reading():
            pass
        with db.writing() as connection:
            connection.execute(ROW)

    def test_is_not_read_without_what_is_in_the_log_yet(
            self, db, tmp_path):
        """What a process that was killed had written."""
        copy = tmp_path / 'copy.sqlite'
        with db.reading() as keeping:
            keeping.execute(sa.select(tables.services)).all()
            with db.writing() as connection:
                connection.execute(ROW)
            for end in ('', '-wal'):
                shutil.copy(f'{db.url.database}{end}', f'{copy}{end}')
        killed = engine.Database(f'sqlite:///{copy}')
        with (full_disk(), pytest.raises(exception.DatabaseUnavailable),
              killed.reading()):
            pass
        with killed.reading() as connection:
            assert connection.execute(
                sa.select(tables.services.c.host)).scalar() == 'here'
        killed.close()


class TestReasons:
    """The words of a database, and nothing around them."""

    @pytest.mark.parametrize(('error', 'words'), [
        (pymysql.err.OperationalError(2003, 'no server'), 'no server (2003)'),
        (OSError('a', 'b'), '[Errno a] b'), (ValueError(5, 6, 7), '(5, 6, 7)'),
        (ValueError(), 'ValueError'), (ValueError('  '), 'ValueError'),
        (ValueError('a\n  b '), 'a b')])
    def test_are_in_one_line(self, error, words):
        assert engine.reason(error) == words

    def test_of_wrapped_errors_are_those_within(self):
        inner = ValueError('the cause')
        for name in ('inner_exception', 'orig'):
            outer = ValueError('a wrapper')
            setattr(outer, name, inner)
            assert engine.reason(outer) == 'the cause'

    def test_tell_what_fails_from_what_is_away(self, db):
        """A wrong statement says nothing of the others."""
        with (pytest.raises(exception.StatementFailed, match='no such table'),
              db.reading() as connection):
            connection.exec_driver_sql('SELECT * FROM nowhere')
        for error in (sa.exc.TimeoutError('x'),
                      sa.exc.DisconnectionError('x')):
            with (pytest.raises(exception.DatabaseUnavailable) as caught,
                  db.translated()):
                raise error
            assert type(caught.value) is exception.DatabaseUnavailable

    def test_of_a_driver_that_cannot_connect_are_told(self, db, monkeypatch):
        """It may raise anything, as for a parameter that it does not know."""
        class Engine:
            def connect(self):
                raise TypeError('unexpected keyword argument')

            def dispose(self):
                pass
        monkeypatch.setattr(engine, 'connect', lambda *_: Engine())
        with pytest.raises(exception.DatabaseUnavailable,
                           match=r'Database sqlite://.*: unexpected keyword'):
            db.check()
