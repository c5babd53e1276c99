"""Reads one cell's database: its hosts, and the instances on them.

A read uses one connection, one transaction, and few statements with explicit
columns per table: for what has changed (``changed_rows.py``), or for all rows.
What has changed of MANY hosts is read on two connections.
Rows are the driver's own plain tuples, because with 10,000 hosts an object per
row costs more than the query.
A column that a release's schema lacks is selected as NULL, unless no row is a
host without it.  The schema is inspected once per table, not per read, and
again when a statement fails, or a column has gone.
"""

import contextlib
import copy
import dataclasses
import functools
import math
import time
import typing

from oslo_log import log as logging
import sqlalchemy as sa

from nova_sched import exception
from nova_sched import remote
from nova_sched.db import cells as db_cells
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

_CHUNK = 500         # values in one IN (...) list

#: Columns of compute nodes that instances change -> a factor of its own, so
#: that changes of one host do not make up for each other.
_AMOUNTS = {'vcpus_used': 65537, 'local_gb_used': 257, 'free_ram_mb': 1}
#: Columns of services that each heartbeat changes.
_HEARTBEAT = ('last_seen_up', 'updated_at', 'report_count')

#: Seconds by which a heartbeat is of the future that clocks do not explain
#: which are kept together.  It is read.
AHEAD = 10
#: Seconds after which columns that have gone are looked for again.
LOOK_AGAIN = 60
#: Hosts from which on two connections read a table each, at the same time.
MANY = 2000


@dataclasses.dataclass(frozen=True)
class CellRows:
    """One cell's rows that are not deleted, each list ordered by id.

    compute_nodes: tuples in the order of the reader's compute_node_columns.
    services: nova-compute services, tuples in the order of
        hosts.columns.SERVICE_COLUMNS.
    Timestamps are naive UTC datetimes or None, booleans False/True/0/1/None,
    JSON columns their text.
    """

    cell: db_cells.Cell
    compute_nodes: list
    services: list


class NamedNode(typing.NamedTuple):
    """A compute node and its names.  uuid: None if it has none yet."""

    uuid: str | None
    host: str
    nodename: str


class CellReader:
    """A reader of one cell; its statements are compiled at first use.

    cell: cells.Cell.  options: of the engine, as of engine.options_from.
    compute_node_columns: names of the columns to read of compute nodes.
    service_down_time: seconds, as of the option.

    heartbeats: whether ``changes`` reads the heartbeats of services that are
        up; else, of these, those that are of the future alone.
    """

    heartbeats = True

    def __init__(self, cell, options, compute_node_columns,
                 service_down_time=60):
        self.cell, self.service_down_time = cell, service_down_time
        self.db = db_engine.Database(cell.connection, options)
        self._columns = compute_node_columns
        self._statements = self._nodes = None
        # Columns that were there at some time: (table, name); and until when
        # the statements count.
        self._seen, self._until = set(), math.inf
        self._details = instance_details.InstanceDetails()
        #: The remote.Guard for questions to it; None where nobody waits.
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
        """Treat a statement that fails as a cell that does not answer.

        A context manager that raises DatabaseUnavailable in place of
        StatementFailed.
        """
        try:
            with self.db.translated():
                yield
        except exception.StatementFailed as error:
            raise exception.DatabaseUnavailable(str(error)) from error

    @contextlib.contextmanager
    def transaction(self):
        """Open a read transaction: CellTransaction.

        A context manager.  Raises DatabaseUnavailable.
        """
        with self.db.reading() as connection:
            yield CellTransaction(self, connection)

    def changes_of(self, table, moments):
        """Return the changed_rows.Found of one table, in a transaction of its
        own.

        table: (ChangedRows, KnownRows).  moments: as of changed_rows.moments.
        """
        with self.db.reading() as connection:
            [found] = changed_rows.read(connection, [table], **moments)
            return found

    @functools.cached_property
    def has_two_connections(self):
        """Whether the pool has another connection for who has one."""
        options = self.db.options
        return (options.get('max_pool_size'),
                options.get('max_overflow')) != (1, 0)

    def statements(self, connection):
        """Return the statements for compute nodes and services: a pair."""
        found = self._statements
        if found is None or time.monotonic() > self._until:
            found = self._statements = self._prepare(connection)
        return found

    def forget_statements(self, used=None):
        """Have them prepared again, for the tables as they are then.

        used: the ones to forget; None for any.
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
        # Of these, what is edited by hand shows at once.
        amounts = sum(
            factor * changed_rows.summand(connection, column(name))
            for name, factor in _AMOUNTS.items())
        return _Statements(
            statements.CompiledStatement(connection, rows.order_by(key)),
            changed_rows.ChangedRows(
                connection, rows, key,
                changed_rows.seconds_since_epoch(connection, stamp), amounts,
                stamp, compared=rows.selected_columns))

    def _services_statements(self, connection, schema, rows):
        key = tables.services.c.id
        column = functools.partial(schema.column, tables.services)
        seen = sa.func.coalesce(column('last_seen_up'), column('created_at'))
        state = _flag(column('disabled'), 2) + _flag(column('forced_down'), 1)
        # Marks of services that are enabled and fresh are 0, and no others.
        told = state + 4 * (1 + sa.func.coalesce(
            changed_rows.seconds_since_epoch(connection, seen), 0))
        compared = rows.selected_columns
        fresh = sa.literal(0)
        if not self.heartbeats:
            is_fresh = changed_rows.is_within(connection, seen, 'earliest',
                                              'latest')
            fresh = sa.case((is_fresh, 1), else_=0)
            told = sa.case((is_fresh, state), else_=told)
            compared = [each for each in compared
                        if each.name not in _HEARTBEAT]
        return _Statements(
            statements.CompiledStatement(connection, rows.order_by(key)),
            changed_rows.ChangedRows(
                connection, rows.add_columns(fresh.label('fresh')), key, told,
                changed_rows.summand(connection, column('version')),
                stamp=None, compared=compared))

    def locate_instances(self, uuids):
        """Return the hosts of instances: instance uuid -> host name."""
        if not uuids:
            return {}
        with self.transaction() as transaction:
            return transaction.locate_instances(uuids)

    def instances_on(self, hosts, names):
        """Return instances on hosts, as HostReader.instances_on does."""
        c = tables.instances.c
        statement = sa.select(*(c[name] for name in names)).where(
            c.deleted == 0)
        # Without the uuid, many instances have equal values.
        rows = self._chunks(
            statement.order_by(c.id) if 'uuid' in names
            else statement.distinct(), c.host, hosts)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def find_nodes(self, host, node):
        """Return the compute nodes of a host or node: list of NamedNode."""
        c = tables.compute_nodes.c
        with self.required(), self.db.reading() as connection:
            if self._nodes is None:
                self._nodes = self._prepare_nodes(connection)
            statement, host_of = self._nodes
            if host:
                # No index helps a condition on host_of alone.
                statement = statement.where(sa.or_(c.host == host, sa.and_(
                    c.host.is_(None), host_of == host)))
            if node:
                statement = statement.where(c.hypervisor_hostname == node)
            return [NamedNode(*row) for row in connection.execute(statement)]

    def _prepare_nodes(self, connection):
        """Return a SELECT of NamedNodes and the expression for their host."""
        nodes = tables.compute_nodes
        schema = statements.Schema(connection, self.db)
        host = _node_host(schema)
        return schema.select(
            nodes, ('uuid', 'host', 'hypervisor_hostname'), host=host).where(
                nodes.c.deleted == 0).order_by(nodes.c.id), host

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
                   metadata.value.is_not(None), sa.or_(*matches))
            .order_by(metadata.id), instance.host, hosts)
        return [(host, uuid, key.removeprefix(_IMAGE), value)
                for host, uuid, key, value in rows]

    def instance_details(self, hosts, name):
        """Return instance details, as HostReader.instance_details does."""
        if not hosts:
            return {}
        with self.db.reading() as connection:
            statement = self._details.statement(
                statements.Schema(connection, self.db), name)
            if statement is None:
                return {}
            return instance_details.by_uuid(_in_chunks(
                connection, statement.where(_among(instance_details.HOST)),
                hosts))

    def _chunks(self, statement, column, values):
        if not values:
            return []
        with self.db.reading() as connection:
            return _in_chunks(connection, statement.where(_among(column)),
                              values)


class _Statements(typing.NamedTuple):
    """Of one table: a CompiledStatement for all rows, and ChangedRows."""

    all: object
    changed: object


def _flag(column, value):
    """Return the expression for a number that stands for a true column."""
    return sa.case((column.is_(True), value), else_=0)


class CellTransaction:
    """A read transaction: all that it reads is of the same moment, but what
    ``changes`` reads beside it.
    """

    def __init__(self, reader, connection):
        self._reader, self._connection = reader, connection

    def rows(self):
        """Return the compute nodes and services: CellRows."""
        return self._read(lambda nodes, services: CellRows(
            self._reader.cell, nodes.all.rows(self._connection),
            services.all.rows(self._connection)))

    def changes(self, nodes, services, now):
        """Return what differs from KnownRows: a pair of changed_rows.Found.

        nodes, services: KnownRows.  now: seconds since the epoch.
        Services' values are those of hosts.rows.Service.  Where there are
        MANY nodes, services are read at the same time in a transaction of
        their own; as in Nova they may be of another moment then.
        """
        down = self._reader.service_down_time
        moments = changed_rows.moments(
            earliest=math.ceil(now - down),
            latest=math.floor(now + min(down, AHEAD)) - 1)
        read = (self._side_by_side if self._reader.has_two_connections
                and len(nodes.rows) >= MANY else self._one_by_one)
        return self._read(lambda of_nodes, of_services: read(
            (of_nodes.changed, nodes), (of_services.changed, services),
            moments))

    def _one_by_one(self, nodes, services, moments):
        return changed_rows.read(self._connection, [nodes, services],
                                 **moments)

    def _side_by_side(self, nodes, services, moments):
        with remote.aside(self._reader.changes_of, services, moments,
                          name=f'ask cell {self._reader.cell}') as beside:
            [found] = changed_rows.read(self._connection, [nodes], **moments)
            try:
                return found, beside.result()
            except exception.DatabaseUnavailable as error:
                LOG.debug('Services are read without a connection of their '
                          'own: %s', error)
        return found, *changed_rows.read(self._connection, [services],
                                         **moments)

    def _read(self, read):
        """Return what a function reads with the statements of both tables."""
        with self._reader.required():
            used = self._reader.statements(self._connection)
            try:
                return read(*used)
            except Exception:
                # A column that is gone is left out the next time.
                self._reader.forget_statements(used)
                raise

    def locate_instances(self, uuids):
        """Return the hosts of instances: instance uuid -> host name.

        Instances that are on no host are missing.  Raises StatementFailed.
        """
        with self._reader.db.translated():
            return dict(_in_chunks(self._connection, _LOCATE, list(uuids)))


def _among(column):
    """Return the condition that a column has one of a chunk of values."""
    return column.in_(sa.bindparam('chunk', expanding=True))


def _in_chunks(connection, statement, values):
    """Return the rows of a statement that has ``_among`` in it, for any of
    the values: list.
    """
    rows = []
    for start in range(0, len(values), _CHUNK):
        rows += connection.execute(
            statement, {'chunk': values[start:start + _CHUNK]}).all()
    return rows


#: To make a statement takes longer than to send it.
_LOCATE = sa.select(tables.instances.c.uuid, tables.instances.c.host).where(
    tables.instances.c.deleted == 0, tables.instances.c.host.is_not(None),
    _among(tables.instances.c.uuid))


def _node_host(schema):
    """Return the expression for a node's host.

    Rows of very old releases have it only through their service.
    """
    nodes, services = tables.compute_nodes, tables.services
    if 'service_id' not in schema.columns(nodes):
        return nodes.c.host
    by_service = sa.select(services.c.host).where(
        services.c.id == nodes.c.service_id, services.c.deleted == 0)
    return sa.func.coalesce(nodes.c.host, by_service.scalar_subquery())
