"""The service's own row in ``services``, and those of its like.

Operators see in it, and newer Novas' schedulers decide by it who leads,
whether this service is up.  The row is in the database of ``[database]``, and
all workers and daemons on one host share it.
"""

from oslo_db import api as db_api
from oslo_db import exception as db_exc
from oslo_utils import timeutils
from oslo_utils import uuidutils
import sqlalchemy as sa

from nova_sched.db import statements
from nova_sched.db import tables

BINARY = 'nova-scheduler'
TOPIC = 'scheduler'

#: What the nova-scheduler of 34.0.0 writes; it only shows in listings.
VERSION = 74

_LIVENESS = ('host', 'disabled', 'forced_down', 'last_seen_up', 'created_at')


def _crossed(error):
    """Whether a transaction failed because of another one."""
    return isinstance(error.__cause__,
                      (db_exc.DBDuplicateEntry, db_exc.DBDeadlock))


class ServiceRecord:
    """The living row of this service; a soft-deleted one is left alone.

    db: engine.Database.  host: ``[DEFAULT] host``.
    Columns that an era's schema lacks are neither read nor written; the
    schema is looked at once.
    All methods raise DatabaseUnavailable.
    """

    def __init__(self, db, host):
        self.db, self.host = db, host
        self._columns = None
        self._statement = None

    @db_api.wrap_db_retry(max_retries=5, retry_interval=0.2, jitter=True,
                          exception_checker=_crossed)
    def register(self):
        """Make the row, or write this release's version into it.

        Whoever makes it at the same time makes the same one, once.
        """
        row = self._present({
            'uuid': uuidutils.generate_uuid(), 'host': self.host,
            'binary': BINARY, 'topic': TOPIC, 'report_count': 0,
            'disabled': False, 'forced_down': False, 'version': VERSION,
            'created_at': timeutils.utcnow(), 'deleted': 0})
        with self.db.writing() as connection:
            if not self._set_version(connection):
                connection.execute(tables.services.insert().values(row))

    def beat(self):
        """Say that the service is up; False if there is no row to say it in.

        One statement.  An admin's ``disabled`` and ``forced_down`` stay.
        """
        now = timeutils.utcnow()
        values = self._present({
            'report_count': tables.services.c.report_count + 1,
            'last_seen_up': now, 'updated_at': now})
        with self.db.writing() as connection:
            return self._update(connection, values)

    def leader(self, down_time):
        """The first host, by name, whose scheduler works; None without one.

        down_time: seconds without heartbeat after which another one is down.
        This one is up, as it asks.  Disabled or forced down, none leads.
        """
        with self.db.reading() as connection:
            if self._statement is None:
                self._statement = self._prepare(connection)
            rows = self._statement.rows(connection)
        now = timeutils.utcnow()
        return min((
            host for host, disabled, forced_down, seen, created in rows
            if host is not None and not disabled and not forced_down
            and (host == self.host
                 or is_fresh(seen or created, now, down_time))),
            default=None)

    def _prepare(self, connection):
        c = tables.services.c
        schema = statements.Schema(connection, self.db)
        return statements.FixedStatement(connection, schema.select(
            tables.services, _LIVENESS).where(
                c.deleted == 0, c.binary == BINARY))

    def _set_version(self, connection):
        """Whether there is a row, which has our version then."""
        c = tables.services.c
        names = self._present({'id': None, 'version': None})
        found = connection.execute(sa.select(
            *(c[name] for name in names)).where(
                *self._mine())).mappings().first()
        if found is None:
            return False
        if found.get('version', VERSION) != VERSION:
            self._update(connection, {
                'version': VERSION, 'updated_at': timeutils.utcnow()})
        return True

    def _update(self, connection, values):
        """Whether there was a row."""
        return bool(connection.execute(tables.services.update().where(
            *self._mine()).values(values)).rowcount)

    def _mine(self):
        c = tables.services.c
        return c.host == self.host, c.binary == BINARY, c.deleted == 0

    def _present(self, values):
        """Without the columns that the database does not have."""
        if self._columns is None:
            # On a connection of its own: after MySQL's was asked for this,
            # oslo.db is not told of errors on it any more.
            with self.db.reading() as connection:
                self._columns = statements.Schema(
                    connection, self.db).columns(tables.services)
        return {name: value for name, value in values.items()
                if name in self._columns}


def is_fresh(seen, now, down_time):
    """Whether a heartbeat, a time or None, is recent: seconds, either way."""
    return seen is not None and (
        abs((now - seen).total_seconds()) <= down_time)
