"""What is read of one cell: its hosts, and the instances on them.

A read is one connection, one read transaction and a statement or two with
explicit columns per table.  Rows come out as the driver's own plain tuples:
at 10,000 hosts an object per row would cost more than the query.
A column that an era's schema lacks is selected as NULL; the schema is looked
at once per table, not per read.
"""

import contextlib
import copy
import dataclasses
import typing

import sqlalchemy as sa

from nova_sched import exception
from nova_sched.db import cells as db_cells
from nova_sched.db import engine as db_engine
from nova_sched.db import kept
from nova_sched.db import statements
from nova_sched.db import tables
from nova_sched.hosts import columns

INSTANCE_COLUMNS = (
    'uuid', 'host', 'node', 'project_id', 'user_id', 'vm_state', 'task_state',
    'memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb', 'instance_type_id',
    'image_ref')

# Instances keep the properties of their image under keys that begin so.
_IMAGE = 'image_'

_CHUNK = 500         # values in one IN (...) list


@dataclasses.dataclass(frozen=True)
class CellRows:
    """One cell's living rows, each ordered by id.

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
    """A compute node.  uuid: None where it has none yet."""

    uuid: str | None
    host: str
    nodename: str


class CellReader:
    """The statements of one cell database, compiled at first use."""

    def __init__(self, cell, options, compute_node_columns):
        self.cell = cell
        self.db = db_engine.Database(cell.connection, options)
        self._columns = compute_node_columns
        self._statements = self._nodes = None
        self._kept = kept.Kept()
        #: Through which it is asked; None to be asked directly.
        self.guard = None

    def close(self):
        """Close idle connections, and ask no more whether it answers."""
        if self.guard is not None:
            self.guard.close()
        self.db.close()

    def of(self, cell):
        """Another reader of the same database, of a cell as it is then."""
        if cell == self.cell:
            return self
        reader = copy.copy(self)
        reader.cell = cell
        return reader

    def probe(self):
        """Return if hosts can be read; DatabaseUnavailable if not."""
        with self.db.reading() as connection:
            for table in (tables.compute_nodes, tables.services):
                connection.execute(
                    sa.select(table.c.id).limit(1)).all()

    @contextlib.contextmanager
    def needed(self):
        """A context of statements without which a cell is as good as away.

        Raises DatabaseUnavailable for those that the database refuses, too.
        """
        try:
            with self.db.translated():
                yield
        except db_engine.StatementFailed as error:
            raise exception.DatabaseUnavailable(str(error)) from error

    @contextlib.contextmanager
    def moment(self):
        """One read transaction: a Moment, that of the first question to it.

        Raises DatabaseUnavailable for whatever the database refuses.
        """
        with self.db.reading() as connection:
            yield Moment(self, connection)

    def statements(self, connection):
        """The statements for compute nodes and services: a pair."""
        if self._statements is None:
            self._statements = self._prepare(connection)
        return self._statements

    def _prepare(self, connection):
        schema = statements.Schema(connection, self.db)
        nodes, services = tables.compute_nodes, tables.services
        return (
            self._statement(connection, schema.select(
                nodes, self._columns, host=_node_host(schema))
                .where(nodes.c.deleted == 0), nodes.c.id),
            self._statement(connection, schema.select(
                services, columns.SERVICE_COLUMNS)
                .where(services.c.deleted == 0,
                       services.c.binary == 'nova-compute'), services.c.id))

    @staticmethod
    def _statement(connection, statement, key):
        statement = statement.order_by(key)
        if statements.RememberingStatement.can_digest(connection):
            return statements.RememberingStatement(connection, statement, key)
        return statements.FixedStatement(connection, statement)

    def locate(self, uuids):
        if not uuids:
            return {}
        with self.moment() as moment:
            return moment.locate(uuids)

    def on_hosts(self, hosts, names):
        c = tables.instances.c
        statement = sa.select(*(c[name] for name in names)).where(
            c.deleted == 0)
        # A few columns of many instances are mostly the same.
        rows = self._chunks(
            statement.order_by(c.id) if 'uuid' in names
            else statement.distinct(), c.host, hosts)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def named(self, host, node):
        c = tables.compute_nodes.c
        with self.needed(), self.db.reading() as connection:
            if self._nodes is None:
                self._nodes = self._prepare_nodes(connection)
            statement, host_of = self._nodes
            if host:
                # Not host_of alone, for which no index is of use.
                statement = statement.where(sa.or_(c.host == host, sa.and_(
                    c.host.is_(None), host_of == host)))
            if node:
                statement = statement.where(c.hypervisor_hostname == node)
            return [NamedNode(*row) for row in connection.execute(statement)]

    def _prepare_nodes(self, connection):
        """SELECT of NamedNodes, and the expression for their hosts."""
        nodes = tables.compute_nodes
        schema = statements.Schema(connection, self.db)
        host = _node_host(schema)
        return schema.select(
            nodes, ('uuid', 'host', 'hypervisor_hostname'), host=host).where(
                nodes.c.deleted == 0).order_by(nodes.c.id), host

    def image_properties(self, hosts, names):
        instance = tables.instances.c
        kept = tables.instance_system_metadata.c
        whole = [_IMAGE + name for name in names if not name.endswith('*')]
        wanted = [kept.key.in_(whole)] + [
            kept.key.startswith(_IMAGE + name[:-1], autoescape=True)
            for name in names if name.endswith('*')]
        rows = self._chunks(
            sa.select(instance.host, instance.uuid, kept.key, kept.value)
            .where(kept.instance_uuid == instance.uuid,
                   instance.deleted == 0, kept.deleted == 0,
                   kept.value.is_not(None), sa.or_(*wanted))
            .order_by(kept.id), instance.host, hosts)
        return [(host, uuid, key.removeprefix(_IMAGE), value)
                for host, uuid, key, value in rows]

    def kept(self, hosts, name):
        if not hosts:
            return {}
        with self.db.reading() as connection:
            statement = self._kept.statement(
                statements.Schema(connection, self.db), name)
            return {} if statement is None else kept.by_uuid(_in_chunks(
                connection, statement, kept.HOST, hosts))

    def _chunks(self, statement, column, values):
        if not values:
            return []
        with self.db.reading() as connection:
            return _in_chunks(connection, statement, column, values)


class Moment:
    """A cell at one moment: all answers are of the same state of it."""

    def __init__(self, reader, connection):
        self._reader, self._connection = reader, connection

    def rows(self):
        """The living compute nodes and services: CellRows."""
        with self._reader.needed():
            return CellRows(self._reader.cell, *(
                statement.rows(self._connection) for statement
                in self._reader.statements(self._connection)))

    def locate(self, uuids):
        """dict instance uuid -> host name, of those that are on a host.

        Raises StatementFailed.
        """
        c = tables.instances.c
        with self._reader.db.translated():
            return dict(_in_chunks(
                self._connection, sa.select(c.uuid, c.host).where(
                    c.deleted == 0, c.host.is_not(None)), c.uuid,
                list(uuids)))


def _in_chunks(connection, statement, column, values):
    """The rows in which a column has one of the values: list."""
    rows = []
    for start in range(0, len(values), _CHUNK):
        rows += connection.execute(statement.where(
            column.in_(values[start:start + _CHUNK]))).all()
    return rows


def _node_host(schema):
    """A node's host; very old rows have it only through their service."""
    nodes, services = tables.compute_nodes, tables.services
    if 'service_id' not in schema.columns(nodes):
        return nodes.c.host
    by_service = sa.select(services.c.host).where(
        services.c.id == nodes.c.service_id, services.c.deleted == 0)
    return sa.func.coalesce(nodes.c.host, by_service.scalar_subquery())
