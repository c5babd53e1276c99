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

# libpq has no time-out for an answer.  TCP keepalives and the TCP user
# time-out detect a lost host within a minute.
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

#: oslo.db's logger, which writes a traceback for each unknown error.
_WRAPPING = py_logging.getLogger('oslo_db.sqlalchemy.exc_filters')

# Errors of SQLite when it cannot create or write a file. In WAL mode it also
# creates files to read.
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
            sqlite3.SQLITE_CANTOPEN)


def parse_url(url):
    """Return a SQLAlchemy URL with a supported driver and time-outs.

    Raises ConfigurationError for a text that is no database URL.  The message
    does not contain the text, because a mistyped URL may show its password.
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
    """Return the URL for logs, with the password hidden, without parameters.
    """
    return sa.make_url(url)._replace(query={}).render_as_string(
        hide_password=True)


def options_from(conf, group='database'):
    """Return a group's engine options, keyword arguments of ``connect``."""
    return {name: conf[group][name] for name in _ENGINE_OPTIONS
            if name in conf[group]}


def connect(url, options=None):
    """Return a new engine that has not connected yet.

    options: from options_from, or any keyword of oslo.db's create_engine.
    Raises ConfigurationError for an invalid URL or driver.
    """
    _WRAPPING.addFilter(_is_debug)
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


def _is_debug(record):
    """Return whether to log oslo.db's record of an error: in debug mode only.

    The code that handles the error logs it.
    """
    return _WRAPPING.isEnabledFor(py_logging.DEBUG)


def _tune_pymysql(engine):
    """Parse time stamps with C code instead of PyMySQL's pattern.

    The pattern is the most expensive part of reading a row of services, and
    returns 0000-00-00 and other invalid values as texts.
    Also end a log-in at its deadline; libpq has a time-out for this.
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
        opened = mysql.Connection(*args, **kwargs, defer_connect=True)
        with remote.ended_by(functools.partial(_hang_up, opened), None):
            opened.connect()
        return opened


def _tune_sqlite(engine, synchronous):
    """Use synchronous=NORMAL, which is safe for a file in WAL mode.

    ``db sync`` sets that mode, in which readers never wait for a writer.
    Invalid UTF-8 in one row does not make the others unreadable. A file can
    be read while the disk is full. Only ``db sync`` creates a missing file,
    because the path may be mistyped.
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
                    or not _is_complete(path)):
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
    """Return whether a SQLAlchemy URL names a SQLite file."""
    return (url.get_backend_name() == 'sqlite' and bool(url.database)
            and ':' not in url.database)


def _is_complete(path):
    """Return whether a SQLite file has no pending data in its WAL file.

    Reading the WAL file needs an index file, and so room on the disk.
    """
    try:
        return os.path.isfile(path) and not os.path.getsize(f'{path}-wal')
    except FileNotFoundError:
        return True


@contextlib.contextmanager
def writing(engine, limited=contextlib.nullcontext):
    """Open a transaction that commits at the end of the block.

    limited: function of the connection that returns a context for the block.
    On SQLite it takes the write lock at its start.  A transaction that reads
    first and locks later fails at once, whatever the busy time-out, if
    another process has written in between.
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
    """Shut the socket down, so that a thread waiting for an answer fails.

    A SQLite file has no socket; its waits have a time-out.
    """
    # PyMySQL has no public name for its socket.
    link = getattr(dbapi_connection, '_sock', dbapi_connection)
    # The thread may be closing it: each driver has another error for this.
    with contextlib.suppress(Exception), socket.socket(
            fileno=os.dup(link.fileno())) as other:
        other.shutdown(socket.SHUT_RDWR)


class Database:
    """A database by URL; safe to share between threads and over forks.

    url: SQLAlchemy URL or text.  options: of ``connect``.
    timeout: maximum seconds of a transaction, or None.  Within a remote.Call
        the Call's deadline applies.
    """

    def __init__(self, url, options=None, timeout=None):
        self.url, self.timeout = parse_url(url), timeout
        self.masked = masked(self.url)
        self.options = options or {}
        # By pid: a forked child must neither use nor close the sockets of its
        # parent's engine, so that engine stays referenced.
        self._engines = {}

    @property
    def engine(self):
        """This process's engine, created at first use."""
        pid = os.getpid()
        if pid not in self._engines:
            self._engines.setdefault(pid, connect(self.url, self.options))
        return self._engines[pid]

    def close(self):
        """Close this process's idle connections; it can be used again."""
        engine = self._engines.pop(os.getpid(), None)
        if engine is not None:
            engine.dispose()

    @contextlib.contextmanager
    def reading(self):
        """Open a read transaction that is rolled back after the block.

        It begins with the first statement of the block, and sees all commits
        before the block and none after that statement.
        Raises StatementFailed for a statement that the database refuses, and
        DatabaseUnavailable for every other error.
        """
        with self.translated(), self._connection() as connection, (
                self._limited(connection)):
            if connection.dialect.name == 'postgresql':
                # By default, each statement sees a separate snapshot.
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
        """Shut a connection down in a block that takes too long.

        No driver has a time-out for an answer that arrives a byte at a time.
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
                    # Keeps it out of the pool.
                    connection.invalidate()

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
        """Return the names of all tables: set.  Raises DatabaseUnavailable."""
        with self.reading() as connection:
            return set(sa.inspect(connection).get_table_names())

    def check(self, required=_REQUIRED_TABLES):
        """Raise DatabaseUnavailable if it does not answer or lacks tables."""
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

    It is never ``slave_connection``: a replica may lag behind, and a decision
    has to see all commits before the request.  The default is the embedded
    SQLite file.
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
    limit, interval = conf.database.max_retries, conf.database.retry_interval
    with contextlib.closing(database(conf)) as db:
        for attempt in itertools.count(1):
            try:
                return db.check()
            except exception.DatabaseUnavailable as error:
                if limit >= 0 and attempt >= limit:
                    raise
                log.warning('%s. Attempt %s of %s, the next in %s seconds.',
                            error, attempt, limit if limit >= 0 else 'endless',
                            interval)
                sleep(interval)


def reason(error):
    """Return the database's text of an error, without SQL or class names."""
    inner = getattr(error, 'inner_exception', None) or error
    inner = getattr(inner, 'orig', None) or inner
    args = getattr(inner, 'args', ())
    if len(args) == 2 and isinstance(args[0], int):
        return f'{args[1]} ({args[0]})'
    text = str(inner).strip() or type(inner).__name__
    return ' '.join(text.split())
