"""Locks of a database server, which one of its clients holds at a time.

MySQL's and MariaDB's ``GET_LOCK`` and PostgreSQL's advisory locks: they take
neither a table nor a row, and end with the connection.  In a Galera cluster
they are of one node alone.
"""

import contextlib
import hashlib
import time

from oslo_log import log as logging
import sqlalchemy as sa

from nova_sched import exception
from nova_sched.concurrency import turns
from nova_sched.db import engine

LOG = logging.getLogger(__name__)

#: Seconds for which no lock is tried after one that could not be had for
#: another reason than that somebody holds it.
PAUSE = 60


class NamedLocks:
    """The locks of one database.

    database: engine.Database.
    """

    def __init__(self, database):
        self._database, self._next_try = database, 0.0

    def close(self):
        """Close idle connections."""
        self._database.close()

    @contextlib.contextmanager
    def held(self, name, seconds):
        """Hold a lock for a block; gives whether it is held.

        It is not where somebody holds it for more than so many seconds, and
        where the database has no such lock, which is logged once.
        name: text.
        """
        with contextlib.ExitStack() as stack:
            yield self._hold(stack, name, seconds)

    def _hold(self, stack, name, seconds):
        if time.monotonic() < self._next_try:
            return False
        try:
            with turns.waiting():
                connection = stack.enter_context(_quietly(
                    self._database.reading()))
                take, give = _STATEMENTS[connection.dialect.name]
                key = _key(name, connection.dialect.name)
                is_held = take(connection, key, seconds)
        except (exception.DatabaseUnavailable, sa.exc.SQLAlchemyError,
                OSError, KeyError) as error:
            if not self._next_try:
                LOG.warning('Server groups are not decided by one daemon at a '
                            'time, and two may break a policy at the same '
                            'moment: the database has no named locks (%s)',
                            engine.reason(error))
            self._next_try = time.monotonic() + PAUSE
            return False
        if is_held:
            stack.callback(_quiet(give), connection, key)
        return is_held


def _take_mysql(connection, key, seconds):
    return connection.execute(sa.text('SELECT GET_LOCK(:key, :seconds)'), {
        'key': key, 'seconds': seconds}).scalar() == 1


def _give_mysql(connection, key):
    connection.execute(sa.text('SELECT RELEASE_LOCK(:key)'), {'key': key})


def _take_postgresql(connection, key, seconds):
    # A wait in the server would need a time-out of the session's.
    end = time.monotonic() + seconds
    statement = sa.text('SELECT pg_try_advisory_lock(:key)')
    while not connection.execute(statement, {'key': key}).scalar():
        if time.monotonic() >= end:
            return False
        time.sleep(0.005)
    return True


def _give_postgresql(connection, key):
    connection.execute(sa.text('SELECT pg_advisory_unlock(:key)'),
                       {'key': key})


_STATEMENTS = {'mysql': (_take_mysql, _give_mysql),
               'mariadb': (_take_mysql, _give_mysql),
               'postgresql': (_take_postgresql, _give_postgresql)}


def _key(name, dialect):
    """Return the key of a lock: at most 64 characters, or an int64."""
    digest = hashlib.blake2b(name.encode(errors='replace'), digest_size=8)
    if dialect == 'postgresql':
        return int.from_bytes(digest.digest(), 'big', signed=True)
    return f'nova_sched.{digest.hexdigest()}'


@contextlib.contextmanager
def _quietly(reading):
    """Open a transaction of ``Database.reading`` for a block.

    What the block raises is not the database's.
    """
    connection = reading.__enter__()
    try:
        yield connection
    finally:
        with contextlib.suppress(exception.DatabaseUnavailable):
            reading.__exit__(None, None, None)


def _quiet(function):
    def call(*args):
        # A lock ends with its connection, too.
        with contextlib.suppress(sa.exc.SQLAlchemyError, OSError):
            function(*args)
    return call
