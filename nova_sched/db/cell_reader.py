"""Reads one cell's database: its hosts, and the instances on them.

A read uses one connection, one transaction and few statements, and returns
the changed rows (``changed_rows.py``). With MANY hosts it uses two
connections.
Rows are the driver's own plain tuples, because with 10,000 hosts an object per
row costs more than the query.
A column that a release's schema lacks is selected as NULL, unless every host
needs it. The schema is inspected once per table, and again when a statement
fails or a column has disappeared.
"""

import contextlib
import copy
import functools
import math
import time
import typing

from oslo_log import log as logging
import sqlalchemy as sa

from nova_sched import exception
from nova_sched import remote
from nova_sched.db import changed_rows
from nova_sched.db import engine as db_engine
from nova_sched.db import instance_details
from nova_sched.db import statements
from nova_sched.db import tables
from nova_sched.hosts import columns
from nova_sched.hosts import values as host_values

LOG = logging.getLogger(__name__)

INSTANCE_COLUMNS = (
    'uuid', 'host', 'node', 'project_id', 'user_id', 'vm_state', 'task_state',
    'memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb', 'instance_type_id',
    'image_ref')

# Prefix of the keys of image properties in an instance's system metadata.
_IMAGE = 'image_'

#: Columns of compute nodes that instances change -> a distinct factor, so
#: that changes of one host do not cancel each other out.
_AMOUNTS = {'vcpus_used': 65537, 'local_gb_used': 257, 'free_ram_mb': 1}
#: Columns of services that each heartbeat changes.
_HEARTBEAT = ('last_seen_up', 'updated_at', 'report_count')

#: Heartbeats this many seconds in the future are read: synchronized clocks
#: do not differ by more.
AHEAD = 10
#: Seconds until the schema is inspected again after a column disappeared.
LOOK_AGAIN = 60
#: Number of hosts from which the tables are read on two connections at once.
MANY = 2000


class NamedNode(typing.NamedTuple):
    """A compute node and its names.  uuid: None if it has none yet."""

    uuid: str | None
    host: str
    nodename: str


class CellReader:
    """A reader of one cell; its statements are compiled at first use.

    cell: cells.Cell.  options: of the engine, see engine.options_from.
    compute_node_columns: names of the columns to read of compute nodes.
    service_down_time: seconds, see settings.service_down_time.

    heartbeats: whether ``changes`` reads the heartbeats of all services.
        Otherwise it skips services that are up, unless their heartbeat is in
        the future.
    """

    heartbeats = True

    def __init__(self, cell, options, compute_node_columns,
                 service_down_time=60):
        self.cell, self.service_down_time = cell, service_down_time
        self.db = db_engine.Database(cell.connection, options)
        self._columns = compute_node_columns
        self._statements = self._nodes = None
        # Columns that existed at some time: (table, name); and the time until
        # which the statements are valid.
        self._seen, self._until = set(), math.inf
        self._details = instance_details.InstanceDetails()
        #: The remote.Guard for queries; None where no caller waits.
        self.guard = None

    def close(self):
        """Close idle connections and stop the guard's probes."""
        if self.guard is not None:
            self.guard.close()
        self.db.close()

    def for_cell(self, cell):
        """Return a reader of the same database for a changed Cell."""
        if cell == self.cell:
            return self
        reader = copy.copy(self)
        reader.cell = cell
        return reader

    def probe(self):
        """Raise DatabaseUnavailable if hosts cannot be read."""
        with self.db.reading() as connection:
            for table in (tables.compute_nodes, tables.services):
                connection.execute(
                    sa.select(table.c.id).limit(1)).all()

    @contextlib.contextmanager
    def required(self):
        """Raise DatabaseUnavailable in place of StatementFailed in a block.

        A statement that fails counts as a cell that does not answer.
        """
        try:
            with self.db.translated():
                yield
        except exception.StatementFailed as error:
            raise exception.DatabaseUnavailable(str(error)) from error

    def changes(self, connection, nodes, services, now):
        """Return the changes since KnownRows: a pair of changed_rows.Found.

        connection: in a read transaction of the database.
        nodes, services: KnownRows.  now: seconds since the epoch.
        Nodes have the columns compute_node_columns, services have the fields
        of hosts.rows.Service. With MANY nodes, services are read at the same
        time in a separate transaction, and may be of another moment, as in
        Nova.
        """
        down = self.service_down_time
        moments = changed_rows.moments(
            earliest=math.ceil(now - down),
            latest=math.floor(now + min(down, AHEAD)) - 1)
        with self.required():
            used = self.statements(connection)
            known = list(zip(used, (nodes, services), strict=True))
            try:
                if self.has_two_connections and len(nodes.rows) >= MANY:
                    return self._side_by_side(connection, *known, moments)
                return changed_rows.read(connection, known, **moments)
            except Exception:
                # The next read omits a column that has disappeared.
                self.forget_statements(used)
                raise

    def _side_by_side(self, connection, nodes, services, moments):
        with remote.aside(self.changes_of, services, moments,
                          name=f'ask cell {self.cell}') as beside:
            [found] = changed_rows.read(connection, [nodes], **moments)
            try:
                return found, beside.result()
            except exception.DatabaseUnavailable as error:
                LOG.debug('Services are read without a second connection: %s',
                          error)
        return found, *changed_rows.read(connection, [services], **moments)

    def hosts_of(self, connection, uuids):
        """Return the hosts of instances: instance uuid -> host name.

        connection: in a read transaction of the database.
        Instances without a host are missing.  Raises StatementFailed.
        """
        with self.db.translated():
            return dict(_in_chunks(connection, _LOCATE, list(uuids)))

    def changes_of(self, table, moments):
        """Return the changed_rows.Found of one table, in a new transaction.

        table: (ChangedRows, KnownRows).  moments: see changed_rows.moments.
        """
        with self.db.reading() as connection:
            [found] = changed_rows.read(connection, [table], **moments)
            return found

    @functools.cached_property
    def has_two_connections(self):
        """Whether the pool allows a second connection."""
        options = self.db.options
        return (options.get('max_pool_size'),
                options.get('max_overflow')) != (1, 0)

    def statements(self, connection):
        """Return the ChangedRows of compute nodes and of services."""
        prepared = self._statements
        if prepared is None or time.monotonic() > self._until:
            prepared = self._statements = self._prepare(connection)
        return prepared

    def forget_statements(self, used=None):
        """Make the next read prepare the statements again.

        used: the statements to forget; None for any.
        """
        if used is None or used is self._statements:
            self._statements = None

    def _prepare(self, connection):
        schema = statements.Schema(connection, self.db)
        nodes, services = tables.compute_nodes, tables.services
        present = {(table.name, name) for table in (nodes, services)
                   for name in schema.columns(table)}
        self._seen |= present
        self._until = (math.inf if present == self._seen
                       else time.monotonic() + LOOK_AGAIN)
        schema.check(nodes, [name for name in host_values.REQUIRED
                             if name in self._columns])
        return (
            self._nodes_statements(connection, schema, schema.select(
                nodes, self._columns, host=_node_host(schema))
                .where(nodes.c.deleted == 0)),
            self._services_statements(connection, schema, schema.select(
                services, columns.SERVICE_COLUMNS)
                .where(services.c.deleted == 0,
                       services.c.binary == 'nova-compute')))

    @staticmethod
    def _nodes_statements(connection, schema, rows):
        key = tables.compute_nodes.c.id
        column = functools.partial(schema.column, tables.compute_nodes)
        stamp = sa.func.coalesce(column('updated_at'), column('created_at'))
        # A change of these amounts is noticed without a new time stamp.
        amounts = sum(
            factor * changed_rows.summand(connection, column(name))
            for name, factor in _AMOUNTS.items())
        return changed_rows.ChangedRows(
            connection, rows, key,
            changed_rows.seconds_since_epoch(connection, stamp), amounts,
            stamp, compared=rows.selected_columns)

    def _services_statements(self, connection, schema, rows):
        key = tables.services.c.id
        column = functools.partial(schema.column, tables.services)
        seen = sa.func.coalesce(column('last_seen_up'), column('created_at'))
        state = _flag(column('disabled'), 2) + _flag(column('forced_down'), 1)
        # Only services that are enabled and fresh have the mark 0.
        mark = state + 4 * (1 + sa.func.coalesce(
            changed_rows.seconds_since_epoch(connection, seen), 0))
        compared = rows.selected_columns
        fresh = sa.literal(0)
        if not self.heartbeats:
            is_fresh = changed_rows.is_within(connection, seen, 'earliest',
                                              'latest')
            fresh = sa.case((is_fresh, 1), else_=0)
            mark = sa.case((is_fresh, state), else_=mark)
            compared = [each for each in compared
                        if each.name not in _HEARTBEAT]
        return changed_rows.ChangedRows(
            connection, rows.add_columns(fresh.label('fresh')), key, mark,
            changed_rows.summand(connection, column('version')), stamp=None,
            compared=compared)

    def locate_instances(self, uuids):
        """Return the hosts of instances: pairs (instance uuid, host name)."""
        return self._chunks(_LOCATE, uuids)

    def instances_on(self, hosts, names):
        """Return instances on hosts, as HostReader.instances_on does."""
        c = tables.instances.c
        statement = sa.select(*(c[name] for name in names)).where(
            c.deleted == 0, _among(c.host))
        # Without the uuid, many rows are equal.
        rows = self._chunks(
            statement.order_by(c.id) if 'uuid' in names
            else statement.distinct(), hosts)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def find_nodes(self, host, node):
        """Return the compute nodes of a host or node: list of NamedNode."""
        c = tables.compute_nodes.c
        with self.required(), self.db.reading() as connection:
            if self._nodes is None:
                schema = statements.Schema(connection, self.db)
                host_of = _node_host(schema)
                self._nodes = schema.select(
                    tables.compute_nodes,
                    ('uuid', 'host', 'hypervisor_hostname'), host=host_of
                ).where(c.deleted == 0).order_by(c.id), host_of
            statement, host_of = self._nodes
            if host:
                # A condition on host_of alone would use no index.
                statement = statement.where(sa.or_(c.host == host, sa.and_(
                    c.host.is_(None), host_of == host)))
            if node:
                statement = statement.where(c.hypervisor_hostname == node)
            return [NamedNode(*row) for row in connection.execute(statement)]

    def image_properties(self, hosts, names):
        """Return image properties, as HostReader.image_properties does."""
        instance = tables.instances.c
        metadata = tables.instance_system_metadata.c
        exact = [_IMAGE + name for name in names if not name.endswith('*')]
        matches = [metadata.key.in_(exact)] + [
            metadata.key.startswith(_IMAGE + name[:-1], autoescape=True)
            for name in names if name.endswith('*')]
        rows = self._chunks(
            sa.select(instance.host, instance.uuid, metadata.key,
                      metadata.value)
            .where(metadata.instance_uuid == instance.uuid,
                   instance.deleted == 0, metadata.deleted == 0,
                   metadata.value.is_not(None), sa.or_(*matches),
                   _among(instance.host))
            .order_by(metadata.id), hosts)
        return [(host, uuid, key.removeprefix(_IMAGE), value)
                for host, uuid, key, value in rows]

    def instance_details(self, hosts, name):
        """Return instance details: pairs (instance uuid, value)."""
        if not hosts:
            return ()
        with self.db.reading() as connection:
            statement = self._details.statement(
                statements.Schema(connection, self.db), name)
            if statement is None:
                return ()
            return instance_details.by_uuid(_in_chunks(
                connection, statement.where(_among(instance_details.HOST)),
                hosts)).items()

    def _chunks(self, statement, values):
        if not values:
            return []
        with self.db.reading() as connection:
            return _in_chunks(connection, statement, values)


def _flag(column, value):
    """Return the expression that is a value where a column is true, or 0."""
    return sa.case((column.is_(True), value), else_=0)


def _among(column):
    """Return the condition that a column has a value of a chunk."""
    return column.in_(sa.bindparam('chunk', expanding=True))


def _in_chunks(connection, statement, values):
    """Return the rows of a statement with ``_among``, for all values: list."""
    return [row for chunk in statements.chunks(values)
            for row in connection.execute(statement, {'chunk': chunk})]


#: Made once: building a statement takes longer than sending it.
_LOCATE = sa.select(tables.instances.c.uuid, tables.instances.c.host).where(
    tables.instances.c.deleted == 0, tables.instances.c.host.is_not(None),
    _among(tables.instances.c.uuid))


def _node_host(schema):
    """Return the expression for a node's host.

    In very old releases a node has a host only through its service.
    """
    nodes, services = tables.compute_nodes, tables.services
    if 'service_id' not in schema.columns(nodes):
        return nodes.c.host
    by_service = sa.select(services.c.host).where(
        services.c.id == nodes.c.service_id, services.c.deleted == 0)
    return sa.func.coalesce(nodes.c.host, by_service.scalar_subquery())
