"""Connections to databases: engines from oslo.db's options, one per process.

A ``Database`` is made wherever a component is built, also before a fork, and
opens nothing; its engine comes to life at the first use in each process.
Whatever goes wrong with a connection or a statement leaves here as
exception.DatabaseUnavailable, whose text names the URL without its password.
"""

import contextlib
import itertools
import os
import time

from oslo_db import exception as db_exc
from oslo_db.sqlalchemy import engines
import sqlalchemy as sa
from sqlalchemy import event

from nova_sched import exception
from nova_sched.conf import database as db_conf
from nova_sched.db import timestamps

# What oslo.db's engines.create_engine takes from [database], same names.
_ENGINE_OPTIONS = (
    'sqlite_synchronous', 'mysql_sql_mode', 'mysql_wsrep_sync_wait',
    'connection_recycle_time', 'connection_debug', 'connection_trace',
    'max_pool_size', 'max_overflow', 'pool_timeout', 'connection_parameters')

# libpq has no time-out for an answer: a host that is gone shows by its system
# not answering for a minute.
_LIBPQ = {'connect_timeout': '10', 'keepalives_idle': '30',
          'keepalives_interval': '10', 'keepalives_count': '3',
          'tcp_user_timeout': '60000'}    # milliseconds

# Seconds.  A thread that waits for a dead server cannot be cancelled, so no
# wait may be endless; an operator's own value in the URL wins.
_URL_DEFAULTS = {
    'pymysql': {'connect_timeout': '10', 'read_timeout': '60',
                'write_timeout': '60'},
    'psycopg2': _LIBPQ,
    'psycopg': _LIBPQ,
    'pysqlite': {'timeout': '30'},    # for another process's write lock
}

# What says that there is no connection, rather than a wrong statement.
_NO_CONNECTION = (db_exc.DBConnectionError, sa.exc.DisconnectionError,
                  sa.exc.TimeoutError)

# Tables without which no request can be answered.
_NEEDED = ('compute_nodes', 'services')


class StatementFailed(exception.DatabaseUnavailable):
    """A database that answers refuses one statement."""


def parse_url(url):
    """A SQLAlchemy URL with a driver this service brings, and with timeouts.

    Raises ConfigurationError when the text is no database URL; the message
    does not repeat it, because a mistyped URL may well show its password.
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
    """The URL as it may be logged: password hidden, parameters left out."""
    return sa.make_url(url)._replace(query={}).render_as_string(
        hide_password=True)


def options_from(conf, group='database'):
    """The group's engine options as keyword arguments of ``connect``."""
    return {name: conf[group][name] for name in _ENGINE_OPTIONS
            if name in conf[group]}


def connect(url, options=None):
    """A new engine that has not connected yet.

    options: from options_from, or any keyword of oslo.db's create_engine.
    Raises ConfigurationError for a URL or driver that cannot be used.
    """
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


def _tune_pymysql(engine):
    """Read times with C code instead of PyMySQL's regular expression.

    That expression is the costliest part of reading a services row, and
    leaves 0000-00-00 and other relics as texts.
    """
    from pymysql import converters
    from pymysql.constants import FIELD_TYPE

    conversions = {**converters.conversions,
                   FIELD_TYPE.DATETIME: timestamps.read,
                   FIELD_TYPE.TIMESTAMP: timestamps.read}

    @event.listens_for(engine, 'do_connect')
    def on_connect(dialect, record, args, kwargs):
        kwargs.setdefault('conv', conversions)


def _tune_sqlite(engine, synchronous):
    """Let one file serve a writer and readers at the same time.

    The file is in WAL mode (``db sync`` sets it, it stays), where readers
    never wait.  WAL loses nothing on a process crash with synchronous=NORMAL.
    """
    @event.listens_for(engine, 'connect')
    def on_connect(dbapi_connection, record):
        if synchronous:
            dbapi_connection.execute('PRAGMA synchronous = NORMAL')


@contextlib.contextmanager
def writing(engine):
    """A connection in a transaction that commits at the end of the block.

    On SQLite it takes the write lock at its start: one that reads first and
    locks later fails at once when another writer came in between, whatever
    the busy timeout.
    """
    with engine.connect() as connection:
        if engine.dialect.name != 'sqlite':
            with connection.begin():
                yield connection
            return
        # With this mark oslo.db's own listener does not emit its BEGIN.
        connection.info['in_transaction'] = True
        with connection.begin():
            connection.exec_driver_sql('BEGIN IMMEDIATE')
            yield connection


class Database:
    """One database by URL; safe to share between threads and over forks."""

    def __init__(self, url, options=None):
        self.url = parse_url(url)
        self.masked = masked(self.url)
        self._options = options or {}
        # A forked child must neither use nor close its parent's sockets, so
        # the parent's engine stays referenced under the parent's pid.
        self._engines = {}

    @property
    def engine(self):
        """This process's engine, made at first use."""
        pid = os.getpid()
        if pid not in self._engines:
            self._engines.setdefault(pid, connect(self.url, self._options))
        return self._engines[pid]

    def close(self):
        """Close this process's idle connections; a next use opens new."""
        engine = self._engines.pop(os.getpid(), None)
        if engine is not None:
            engine.dispose()

    @contextlib.contextmanager
    def reading(self):
        """A connection in one read transaction, given back rolled back.

        The transaction begins with the first statement of the block, so it
        sees everything that was committed before the block; and no statement
        of it sees what was committed after the first.
        Raises DatabaseUnavailable for whatever the database refuses, and
        of that StatementFailed for what the block asks wrongly.
        """
        with self.translated(), self._connection() as connection:
            if connection.dialect.name == 'postgresql':
                # Its default shows each statement a state of its own.
                connection.execution_options(
                    isolation_level='REPEATABLE READ')
            yield connection

    def _connection(self):
        """A new connection; DatabaseUnavailable if there is none to be had."""
        engine = self.engine
        try:
            return engine.connect()
        except Exception as error:
            # Drivers meet a parameter that they do not know with a TypeError.
            raise exception.DatabaseUnavailable(
                f'Database {self.masked}: {reason(error)}') from error

    @contextlib.contextmanager
    def writing(self):
        """A connection in a transaction that commits after the block."""
        with self.translated(), writing(self.engine) as connection:
            yield connection

    @contextlib.contextmanager
    def translated(self):
        """A context of which errors leave in this service's vocabulary.

        Raises StatementFailed, or DatabaseUnavailable without a connection.
        """
        try:
            yield
        except (db_exc.DBError, sa.exc.SQLAlchemyError) as error:
            kind = (exception.DatabaseUnavailable
                    if isinstance(error, _NO_CONNECTION) else StatementFailed)
            raise kind(
                f'Database {self.masked}: {reason(error)}') from error

    def check(self, needed=_NEEDED):
        """Connect once, look for tables; DatabaseUnavailable if not."""
        with self.reading() as connection:
            present = set(sa.inspect(connection).get_table_names())
        missing = [name for name in needed if name not in present]
        if missing:
            raise exception.DatabaseUnavailable(
                f'Database {self.masked}: it has no table '
                f'{" and no table ".join(missing)}; "nova-sched-manage db '
                f'sync" makes them in a database of its own')


def database(conf, group='database'):
    """The Database of a configuration group, database or api_database."""
    return Database(connection_url(conf, group),
                    options_from(conf, group))


def connection_url(conf, group='database'):
    """The group's URL text.

    Never ``slave_connection``: a replica lags behind, and a request is to be
    decided on what was committed before it came.  Without any configuration
    that is the embedded SQLite file.  Raises ConfigurationError when the
    configured text is no URL.
    """
    if group == db_conf.GROUP:
        return db_conf.api_database_url(conf)
    return db_conf.database_url(conf)


def wait_for_database(conf, log, sleep=time.sleep):
    """Return when the configured database answers and has its tables.

    One warning line per failed attempt.  ``[database] max_retries`` attempts,
    ``retry_interval`` seconds apart; -1 means forever, 0 means one attempt.
    Raises DatabaseUnavailable after the last one.
    """
    db = database(conf)
    try:
        _wait(db, conf.database.max_retries, conf.database.retry_interval,
              log, sleep)
    finally:
        db.close()


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
    """The database's own words, without SQL, class names or web links."""
    inner = getattr(error, 'inner_exception', None) or error
    inner = getattr(inner, 'orig', None) or inner
    args = getattr(inner, 'args', ())
    if len(args) == 2 and isinstance(args[0], int):
        return f'{args[1]} ({args[0]})'
    text = str(inner).strip() or type(inner).__name__
    return ' '.join(text.split())
