"""The service record: this service's row in ``services``.

It shows operators whether the service is up, and schedulers of newer releases
of Nova elect a leader by it.  The row is in the database of ``[database]``;
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

#: The version that nova-scheduler 34.0.0 writes; it only shows in listings.
VERSION = 74

_LIVENESS = ('host', 'disabled', 'forced_down', 'last_seen_up', 'created_at')


def _is_conflict(error):
    """Return whether a transaction failed because of another one."""
    return isinstance(error.__cause__,
                      (db_exc.DBDuplicateEntry, db_exc.DBDeadlock))


class ServiceRecord:
    """The row of this service that is not deleted.

    db: engine.Database.  host: ``[DEFAULT] host``.
    Columns that a release's schema lacks are neither read nor written; the
    schema is inspected once.
    All methods raise DatabaseUnavailable.
    """

    def __init__(self, db, host):
        self.db, self.host = db, host
        self._columns = None
        self._statement = None

    @db_api.wrap_db_retry(max_retries=5, retry_interval=0.2, jitter=True,
                          exception_checker=_is_conflict)
    def register(self):
        """Create the row, or update its version.

        Several processes may do so at once; there is one row in the end.
        """
        row = self._present({
            'uuid': uuidutils.generate_uuid(), 'host': self.host,
            'binary': BINARY, 'topic': TOPIC, 'report_count': 0,
            'disabled': False, 'forced_down': False, 'version': VERSION,
            'created_at': timeutils.utcnow(), 'deleted': 0})
        with self.db.writing() as connection:
            if not self._set_version(connection):
                connection.execute(tables.services.insert().values(row))

    def heartbeat(self):
        """Record that the service is up; return False if there is no row.

        Takes one statement.  ``disabled`` and ``forced_down``, which an
        administrator sets, stay.
        """
        now = timeutils.utcnow()
        values = self._present({
            'report_count': tables.services.c.report_count + 1,
            'last_seen_up': now, 'updated_at': now})
        with self.db.writing() as connection:
            return self._update(connection, values)

    def leader(self, down_time):
        """Return the first host by name whose scheduler is up, or None.

        A scheduler that is disabled or forced down is no leader.  This
        service counts as up.
        down_time: seconds without a heartbeat after which another is down.
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
        return statements.CompiledStatement(connection, schema.select(
            tables.services, _LIVENESS).where(
                c.deleted == 0, c.binary == BINARY))

    def _set_version(self, connection):
        """Set the version; return whether there is a row."""
        c = tables.services.c
        names = self._present({'id': None, 'version': None})
        found = connection.execute(sa.select(
            *(c[name] for name in names)).where(
                *self._conditions())).mappings().first()
        if found is None:
            return False
        if found.get('version', VERSION) != VERSION:
            self._update(connection, {
                'version': VERSION, 'updated_at': timeutils.utcnow()})
        return True

    def _update(self, connection, values):
        """Update the row; return whether there is one."""
        return bool(connection.execute(tables.services.update().where(
            *self._conditions()).values(values)).rowcount)

    def _conditions(self):
        """Return the conditions that the row meets."""
        c = tables.services.c
        return c.host == self.host, c.binary == BINARY, c.deleted == 0

    def _present(self, values):
        """Return the values of the columns that the database has."""
        if self._columns is None:
            # On a connection of its own: after inspecting one of MySQL's,
            # oslo.db misses later errors on it.
            with self.db.reading() as connection:
                self._columns = statements.Schema(
                    connection, self.db).columns(tables.services)
        return {name: value for name, value in values.items()
                if name in self._columns}


def is_fresh(seen, now, down_time):
    """Return whether a heartbeat is within the down time, in either direction.

    seen, now: naive UTC datetimes, seen may be None.  down_time: seconds.
    """
    return seen is not None and (
        abs((now - seen).total_seconds()) <= down_time)
