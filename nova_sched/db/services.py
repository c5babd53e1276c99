"""The service record: this service's row in ``services``.

It shows operators whether the service is up. Schedulers of newer releases of
Nova use it to elect a leader, and compare its version with their own. The row
is in the database of ``[database]``; all workers and daemons on one host
share it.
"""

import dataclasses

from oslo_db import api as db_api
from oslo_db import exception as db_exc
from oslo_utils import timeutils
from oslo_utils import uuidutils
import sqlalchemy as sa

from nova_sched.db import layouts
from nova_sched.db import statements
from nova_sched.db import tables

BINARY = 'nova-scheduler'
TOPIC = 'scheduler'

#: Services whose records show the release of a deployment, in this order.
_PEERS = (BINARY, 'nova-conductor')

_LIVENESS = ('host', 'disabled', 'forced_down', 'last_seen_up', 'created_at')


def _is_conflict(error):
    """Return whether a transaction failed because of another one."""
    return isinstance(error.__cause__,
                      (db_exc.DBDuplicateEntry, db_exc.DBDeadlock))


@dataclasses.dataclass(frozen=True)
class Version:
    """The version in a service record.

    number: int, or None.  origin: source of the number, text.
    is_there: whether the record exists; its version is never changed.
    above: the lowest version of nova-conductor if the lowest version of
        schedulers is higher, else None.
    """

    number: int | None
    origin: str
    is_there: bool = False
    above: int | None = None


class ServiceRecord:
    """The row of this service.

    db: engine.Database.  host: ``[DEFAULT] host``.
    Columns that a release's schema lacks are neither read nor written; the
    schema is inspected once.
    All methods raise DatabaseUnavailable.
    """

    def __init__(self, db, host):
        self.db, self.host = db, host
        #: The uuid of the row, or its id in a release without; None until
        #: it is registered.
        self.service_id = None
        self._columns = None

    @db_api.wrap_db_retry(max_retries=5, retry_interval=0.2, jitter=True,
                          exception_checker=_is_conflict)
    def register(self):
        """Create the row unless it exists.

        Safe for several processes at once, which create one row together.
        """
        version = self.version()
        if version.is_there:
            return
        row = self._present({
            'uuid': uuidutils.generate_uuid(), 'host': self.host,
            'binary': BINARY, 'topic': TOPIC, 'report_count': 0,
            'disabled': False, 'forced_down': False,
            'version': version.number, 'created_at': timeutils.utcnow(),
            'deleted': 0})
        with self.db.writing() as connection:
            connection.execute(tables.services.insert().values(row))
        self.service_id = row.get('uuid')

    def version(self):
        """Return the Version of the row, also before it is created.

        A service of Nova does not start if the lowest version of its binary
        in the table is above its own. So a new row gets the lowest existing
        version.
        """
        versioned = 'version' in self._present({'version': None})
        c = tables.services.c
        with self.db.reading() as connection:
            own = connection.execute(sa.select(
                c.version if versioned else sa.null(),
                c.uuid if self._present({'uuid': None}) else c.id).where(
                    *self._conditions())).first()
            found = {binary: least for binary in _PEERS if versioned and (
                least := _least_version(connection, binary)) is not None}
        if own is not None:
            self.service_id = str(own[1])
            return Version(own[0], 'its own', is_there=True,
                           above=_exceeded(found))
        if not versioned:
            return Version(None, 'its table has no versions')
        for binary, least in found.items():
            return Version(least, f'the least of {binary}')
        layout = layouts.of_cell(self.db)
        return Version(layout.version, f'of tables {layout.words}')

    def heartbeat(self):
        """Record that the service is up; return False if there is no row.

        One statement, which does not change ``disabled`` and
        ``forced_down``: administrators set these.
        """
        now = timeutils.utcnow()
        values = self._present({
            'report_count': tables.services.c.report_count + 1,
            'last_seen_up': now, 'updated_at': now})
        with self.db.writing() as connection:
            return bool(connection.execute(tables.services.update().where(
                *self._conditions()).values(values)).rowcount)

    def leader(self, down_time):
        """Return the first host by name whose scheduler is up, or None.

        A scheduler that is disabled or forced down is no leader.  This
        service counts as up.
        down_time: seconds without a heartbeat after which a service is down.
        """
        with self.db.reading() as connection:
            c = tables.services.c
            rows = statements.CompiledStatement(connection, statements.Schema(
                connection, self.db).select(tables.services, _LIVENESS).where(
                    c.deleted == 0, c.binary == BINARY)).rows(connection)
        now = timeutils.utcnow()
        return min((
            host for host, disabled, forced_down, seen, created in rows
            if host is not None and not disabled and not forced_down
            and (host == self.host
                 or is_fresh(seen or created, now, down_time))),
            default=None)

    def _conditions(self):
        """Return the conditions that select the row."""
        c = tables.services.c
        return c.host == self.host, c.binary == BINARY, c.deleted == 0

    def _present(self, values):
        """Return the values of the columns that the database has."""
        if self._columns is None:
            # On a separate connection: after an inspection of MySQL, oslo.db
            # misses later errors on the connection.
            with self.db.reading() as connection:
                self._columns = statements.Schema(
                    connection, self.db).columns(tables.services)
        return {name: value for name, value in values.items()
                if name in self._columns}


def _least_version(connection, binary):
    """Return the lowest version of a binary, as Nova computes it."""
    c = tables.services.c
    return connection.execute(sa.select(sa.func.min(c.version)).where(
        c.binary == binary, c.deleted == 0,
        c.forced_down.is_not(sa.true()))).scalar()


def _exceeded(least):
    """Return ``Version.above`` for the lowest versions by binary."""
    ours, conductors = map(least.get, _PEERS)
    return conductors if None not in (ours, conductors) and (
        ours > conductors) else None


def is_fresh(seen, now, down_time):
    """Return whether a heartbeat is within the down time, in either direction.

    seen, now: naive UTC datetimes, seen may be None.  down_time: seconds.
    """
    return seen is not None and (
        abs((now - seen).total_seconds()) <= down_time)
