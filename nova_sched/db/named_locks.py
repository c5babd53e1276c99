"""Named locks of a database server, for processes on several machines.

``GET_LOCK`` of MySQL and MariaDB, advisory locks of PostgreSQL. They lock
neither a table nor a row, and end with the connection. In a Galera cluster
each node has separate locks.
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

#: Seconds without another attempt after an error.
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
        """Hold a lock for a block; yields whether it is held.

        It is not held if another client keeps it for longer than ``seconds``,
        or if the database has no such locks, which is logged once.
        name: text.
        """
        with contextlib.ExitStack() as stack:
            yield self._hold(stack, name, seconds)

    def _hold(self, stack, name, seconds):
        if time.monotonic() < self._next_try:
            return False
        try:
            with turns.waiting():
                reading = self._database.reading()
                connection = reading.__enter__()
                stack.callback(_end, reading)
                acquire, release = _BY_DIALECT[connection.dialect.name]
                key = _key(name, connection.dialect.name)
                is_held = acquire(connection, key, seconds)
        except (exception.DatabaseUnavailable, sa.exc.SQLAlchemyError,
                OSError, KeyError) as error:
            if not self._next_try:
                LOG.warning('Two daemons may break the policy of a server '
                            'group at the same moment: the database has no '
                            'named locks (%s)', engine.reason(error))
            self._next_try = time.monotonic() + PAUSE
            return False
        if is_held:
            stack.callback(_release, release, connection, key)
        return is_held


def _release(release, connection, key):
    # On failure, the lock ends with its connection.
    with contextlib.suppress(sa.exc.SQLAlchemyError, OSError):
        connection.execute(sa.text(release), {'key': key})


def _acquire_mysql(connection, key, seconds):
    return connection.execute(sa.text('SELECT GET_LOCK(:key, :seconds)'), {
        'key': key, 'seconds': seconds}).scalar() == 1


def _acquire_postgresql(connection, key, seconds):
    # Waiting in the server would require a time-out of the whole session.
    end = time.monotonic() + seconds
    statement = sa.text('SELECT pg_try_advisory_lock(:key)')
    while not connection.execute(statement, {'key': key}).scalar():
        if time.monotonic() >= end:
            return False
        time.sleep(0.005)
    return True


_MYSQL = _acquire_mysql, 'SELECT RELEASE_LOCK(:key)'
#: Function that acquires a lock, and the statement that releases it.
_BY_DIALECT = {'mysql': _MYSQL, 'mariadb': _MYSQL, 'postgresql': (
    _acquire_postgresql, 'SELECT pg_advisory_unlock(:key)')}


def _key(name, dialect):
    """Return the key of a lock: at most 64 characters, or an int64."""
    digest = hashlib.blake2b(name.encode(errors='replace'), digest_size=8)
    if dialect == 'postgresql':
        return int.from_bytes(digest.digest(), 'big', signed=True)
    return f'nova_sched.{digest.hexdigest()}'


def _end(reading):
    """End a transaction, without the error of its block or its own."""
    with contextlib.suppress(exception.DatabaseUnavailable):
        reading.__exit__(None, None, None)
