"""Database engines from oslo.db's options, one per process.

A ``Database`` can be built before a fork, as it opens no connection; its
engine is created at the first use in each process.  Every error of a
connection or a statement is raised as exception.DatabaseUnavailable, whose
text has the URL without its password.
"""

import contextlib
import functools
import itertools
import logging as py_logging
import os
import socket
import sqlite3
import time
import urllib.parse

from oslo_db import exception as db_exc
from oslo_db.sqlalchemy import engines
import sqlalchemy as sa
from sqlalchemy import event

from nova_sched import exception
from nova_sched import remote
from nova_sched.conf import database as db_conf
from nova_sched.db import timestamps

# Options of [database] that are keywords of oslo.db's create_engine.
_ENGINE_OPTIONS = (
    'sqlite_synchronous', 'mysql_sql_mode', 'mysql_wsrep_sync_wait',
    'connection_recycle_time', 'connection_debug', 'connection_trace',
    'max_pool_size', 'max_overflow', 'pool_timeout', 'connection_parameters')

# libpq has no time-out for an answer.  TCP keepalives and its user time-out
# detect a host that is gone within a minute.
_LIBPQ = {'connect_timeout': '10', 'keepalives_idle': '30',
          'keepalives_interval': '10', 'keepalives_count': '3',
          'tcp_user_timeout': '60000'}    # milliseconds

# Seconds.  A thread that waits for a dead server cannot be cancelled, so
# every wait has a limit.  A value in the operator's URL takes precedence.
_URL_DEFAULTS = {
    'pymysql': {'connect_timeout': '10', 'read_timeout': '60',
                'write_timeout': '60'},
    'psycopg2': _LIBPQ,
    'psycopg': _LIBPQ,
    'pysqlite': {'timeout': '30'},    # for another process's write lock
}

# Errors of the connection, rather than of a statement.
_NO_CONNECTION = (db_exc.DBConnectionError, sa.exc.DisconnectionError,
                  sa.exc.TimeoutError)

# Tables without which no request can be answered.
_REQUIRED_TABLES = ('compute_nodes', 'services')

#: Who has a traceback for each error that it does not know, and raises it.
_WRAPPING = py_logging.getLogger('oslo_db.sqlalchemy.exc_filters')

# What SQLite fails with when it can make no file, or write none. In WAL mode
# it makes files to read, too.
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
            sqlite3.SQLITE_CANTOPEN)


def parse_url(url):
    """Return a SQLAlchemy URL with a supported driver and time-outs.

    Raises ConfigurationError for a text that is no database URL.  The message
    does not repeat it, because a mistyped URL may show its password.
    """
    if isinstance(url, str):
        url = db_conf.driver_url(url)
    try:
        url = sa.make_url(url)
        dbapi = url.get_driver_name()
    except (sa.exc.ArgumentError, ValueError, ImportError):
        raise exception.ConfigurationError(
            '[database] connection', '****',
            'this is no database URL with a known driver; write '
            'mysql+pymysql://USER:PASSWORD@HOST/DATABASE or '
            'sqlite:////PATH') from None
    defaults = _URL_DEFAULTS.get(dbapi, {})
    missing = {k: v for k, v in defaults.items() if k not in url.query}
    return url.update_query_dict(missing)


def masked(url):
    """Return the URL for logs: password hidden, parameters left out."""
    return sa.make_url(url)._replace(query={}).render_as_string(
        hide_password=True)


def options_from(conf, group='database'):
    """Return a group's engine options, keyword arguments of ``connect``."""
    return {name: conf[group][name] for name in _ENGINE_OPTIONS
            if name in conf[group]}


def connect(url, options=None):
    """Return a new engine that has not connected yet.

    options: from options_from, or any keyword of oslo.db's create_engine.
    Raises ConfigurationError for a URL or driver that cannot be used.
    """
    _WRAPPING.addFilter(_is_news)
    try:
        engine = engines.create_engine(
            parse_url(url), max_retries=0, thread_checkin=False,
            **(options or {}))
    except (sa.exc.ArgumentError, ImportError, TypeError,
            ValueError) as error:
        raise exception.ConfigurationError(
            '[database] connection', masked(url), reason(error)) from error
    if engine.dialect.name == 'sqlite':
        _tune_sqlite(engine, (options or {}).get('sqlite_synchronous', True))
    if engine.driver == 'pymysql':
        _tune_pymysql(engine)
    return engine


def _is_news(record):
    """Return whether a record is to be logged: in debug mode.

    Whoever handles the error tells of it.
    """
    return _WRAPPING.isEnabledFor(py_logging.DEBUG)


def _tune_pymysql(engine):
    """Parse time stamps with C code instead of PyMySQL's pattern.

    The pattern is the most expensive part of reading a row of services, and
    returns 0000-00-00 and other invalid values as texts.
    A log-in that is given up ends; libpq has a time for all of it.
    """
    from pymysql import converters
    from pymysql.constants import FIELD_TYPE

    from nova_sched.db import mysql

    conversions = {**converters.conversions,
                   FIELD_TYPE.DATETIME: timestamps.parse,
                   FIELD_TYPE.TIMESTAMP: timestamps.parse}

    @event.listens_for(engine, 'do_connect')
    def on_connect(dialect, record, args, kwargs):
        kwargs.setdefault('conv', conversions)
        made = mysql.Connection(*args, **kwargs, defer_connect=True)
        with remote.ended_by(functools.partial(_hang_up, made), None):
            made.connect()
        return made


def _tune_sqlite(engine, synchronous):
    """Use synchronous=NORMAL, which is safe for a file in WAL mode.

    ``db sync`` sets that mode, in which readers never wait for a writer.
    Text that is not in UTF-8 is read all the same: it is one row's fault.
    A file is read also where the disk is full.  One that is not there is made
    by ``db sync`` alone: its path may be mistyped.
    """
    @event.listens_for(engine, 'do_connect')
    def on_do_connect(dialect, record, args, kwargs):
        if is_file(engine.url) and not os.path.exists(args[0]):
            raise sqlite3.OperationalError(
                'there is no such file; if its name is right, '
                '"nova-sched-manage db sync" makes it')
        opened = dialect.connect(*args, **kwargs)
        try:
            opened.execute('PRAGMA schema_version')
        except sqlite3.OperationalError as error:
            path = args[0]
            if (error.sqlite_errorcode & 0xff not in _NO_ROOM
                    or not _is_all_there(path)):
                opened.close()
                raise
        else:
            return opened
        opened.close()
        uri = f'file:{urllib.parse.quote(path)}?immutable=1'
        return dialect.connect(uri, **kwargs, uri=True)

    @event.listens_for(engine, 'connect')
    def on_connect(dbapi_connection, record):
        dbapi_connection.text_factory = functools.partial(
            str, encoding='utf-8', errors='replace')
        if synchronous:
            dbapi_connection.execute('PRAGMA synchronous = NORMAL')


def is_file(url):
    """Return whether a SQLAlchemy URL is that of a file of SQLite."""
    return (url.get_backend_name() == 'sqlite' and bool(url.database)
            and ':' not in url.database)


def _is_all_there(path):
    """Return whether nothing of a file of SQLite is yet beside it.

    What is, one reads there only with room for what tells readers apart.
    """
    try:
        return os.path.isfile(path) and not os.path.getsize(f'{path}-wal')
    except FileNotFoundError:
        return True


@contextlib.contextmanager
def writing(engine, limited=contextlib.nullcontext):
    """Open a transaction that commits at the end of the block.

    limited: function of the connection; a context for all that is done.
    On SQLite it takes the write lock at its start.  A transaction that reads
    first and locks later fails at once, whatever the busy time-out, if
    another writer comes in between.
    """
    with engine.connect() as connection, limited(connection):
        if engine.dialect.name != 'sqlite':
            with connection.begin():
                yield connection
            return
        # This mark keeps oslo.db's listener from emitting its own BEGIN.
        connection.info['in_transaction'] = True
        with connection.begin():
            connection.exec_driver_sql('BEGIN IMMEDIATE')
            yield connection


def _hang_up(dbapi_connection):
    """Have a thread that waits for an answer find its connection lost.

    The file of an SQLite has a time for what it waits for.
    """
    # PyMySQL tells its socket nowhere else.
    link = getattr(dbapi_connection, '_sock', dbapi_connection)
    # Its own thread may be closing it, of which each driver has an error.
    with contextlib.suppress(Exception), socket.socket(
            fileno=os.dup(link.fileno())) as other:
        other.shutdown(socket.SHUT_RDWR)


class Database:
    """A database by URL; safe to share between threads and over forks.

    url: SQLAlchemy URL or text.  options: of ``connect``.
    timeout: seconds that a transaction may take; None for any.  Within a
        remote.Call it is the Call's time.
    """

    def __init__(self, url, options=None, timeout=None):
        self.url, self.timeout = parse_url(url), timeout
        self.masked = masked(self.url)
        self.options = options or {}
        # By pid: a forked child must neither use nor close the sockets of its
        # parent's engine, which therefore stays referenced.
        self._engines = {}

    @property
    def engine(self):
        """This process's engine, created at first use."""
        pid = os.getpid()
        if pid not in self._engines:
            self._engines.setdefault(pid, connect(self.url, self.options))
        return self._engines[pid]

    def close(self):
        """Close this process's idle connections; a later use opens new ones.
        """
        engine = self._engines.pop(os.getpid(), None)
        if engine is not None:
            engine.dispose()

    @contextlib.contextmanager
    def reading(self):
        """Open a read transaction that is rolled back after the block.

        It begins with the first statement of the block, so that it sees all
        that was committed before the block, and nothing that was committed
        after that statement.
        Raises StatementFailed for a statement that the database refuses, and
        DatabaseUnavailable for every other error.
        """
        with self.translated(), self._connection() as connection, (
                self._limited(connection)):
            if connection.dialect.name == 'postgresql':
                # By default, each statement sees a snapshot of its own.
                connection.execution_options(
                    isolation_level='REPEATABLE READ')
            yield connection

    def _connection(self):
        """Return a connection; raise DatabaseUnavailable if there is none."""
        engine = self.engine
        try:
            return engine.connect()
        except Exception as error:
            # Drivers raise TypeError for an unknown parameter in the URL.
            raise exception.DatabaseUnavailable(
                f'Database {self.masked}: {reason(error)}') from error

    @contextlib.contextmanager
    def writing(self):
        """Open a transaction that commits after the block.

        Raises as ``reading`` does.
        """
        with self.translated(), writing(
                self.engine, self._limited) as connection:
            yield connection

    @contextlib.contextmanager
    def _limited(self, connection):
        """End what takes too long on a connection in a block.

        No driver has a time for an answer that comes a byte at a time.
        """
        link, lost = connection.connection.dbapi_connection, []

        def end():
            lost.append(link)
            _hang_up(link)

        with remote.ended_by(end, self.timeout):
            try:
                yield
            finally:
                if lost:
                    connection.invalidate()    # or the pool tries to use it

    @contextlib.contextmanager
    def translated(self):
        """Translate the errors of the database driver in a block.

        Raises StatementFailed, or DatabaseUnavailable for a lost connection.
        """
        try:
            yield
        except (db_exc.DBError, sa.exc.SQLAlchemyError) as error:
            kind = (exception.DatabaseUnavailable
                    if isinstance(error, _NO_CONNECTION)
                    else exception.StatementFailed)
            raise kind(
                f'Database {self.masked}: {reason(error)}') from error

    def table_names(self):
        """Return the names of its tables: set.  Raises DatabaseUnavailable."""
        with self.reading() as connection:
            return set(sa.inspect(connection).get_table_names())

    def check(self, required=_REQUIRED_TABLES):
        """Raise DatabaseUnavailable if tables are missing, or no answer."""
        present = self.table_names()
        missing = [name for name in required if name not in present]
        if missing:
            raise exception.DatabaseUnavailable(
                f'Database {self.masked}: it has no table '
                f'{" and no table ".join(missing)}; "nova-sched-manage db '
                f'sync" makes them in a database of its own')


def database(conf, group='database'):
    """Return the Database of a group, ``database`` or ``api_database``."""
    return Database(connection_url(conf, group), options_from(conf, group),
                    conf.nova_sched.cell_timeout)


def connection_url(conf, group='database'):
    """Return the URL of a group: text.

    It is never ``slave_connection``: a replica may lag behind, and a request
    is decided on what was committed before it arrived.  The default is the
    embedded SQLite file.
    Raises ConfigurationError if the configured text is no URL.
    """
    if group == db_conf.GROUP:
        return db_conf.api_database_url(conf)
    return db_conf.database_url(conf)


def wait_for_database(conf, log, sleep=time.sleep):
    """Wait until the configured database answers and has its tables.

    Logs one warning per failed attempt.  Makes ``[database] max_retries``
    attempts, ``retry_interval`` seconds apart; -1 means forever, 0 means one.
    Raises DatabaseUnavailable after the last attempt.
    """
    with contextlib.closing(database(conf)) as db:
        _wait(db, conf.database.max_retries, conf.database.retry_interval,
              log, sleep)


def _wait(db, limit, interval, log, sleep):
    for attempt in itertools.count(1):
        try:
            return db.check()
        except exception.DatabaseUnavailable as error:
            if limit >= 0 and attempt >= limit:
                raise
            log.warning('%(error)s. Attempt %(attempt)s of %(limit)s, the '
                        'next in %(interval)s seconds.',
                        {'error': error, 'attempt': attempt,
                         'limit': limit if limit >= 0 else 'endless',
                         'interval': interval})
            sleep(interval)


def reason(error):
    """Return the database's own text of an error.

    It has no SQL, class names or web links.
    """
    inner = getattr(error, 'inner_exception', None) or error
    inner = getattr(inner, 'orig', None) or inner
    args = getattr(inner, 'args', ())
    if len(args) == 2 and isinstance(args[0], int):
        return f'{args[1]} ({args[0]})'
    text = str(inner).strip() or type(inner).__name__
    return ' '.join(text.split())
