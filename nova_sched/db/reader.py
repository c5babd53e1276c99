"""What the scheduler reads: hosts of every cell, aggregates, instances.

One refresh is one connection, one read transaction and a statement or two
with explicit columns per table.  Rows come out as the driver's own plain
tuples: at 10,000 hosts an object per row would cost more than the query.
A column that an era's schema lacks is selected as NULL; the schema is looked
at once per table, not per read.
"""

import contextlib
import dataclasses
import functools
import typing

import sqlalchemy as sa

from nova_sched.db import api_reader
from nova_sched.db import cells as db_cells
from nova_sched.db import engine as db_engine
from nova_sched.db import guard
from nova_sched.db import statements
from nova_sched.db import tables
from nova_sched.hosts import columns

COMPUTE_NODE_COLUMNS = columns.COMPUTE_NODE_COLUMNS
SERVICE_COLUMNS = columns.SERVICE_COLUMNS

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
    services: nova-compute services, tuples in the order of SERVICE_COLUMNS.
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


class HostReader:
    """Reads hosts from the cells and everything else from the API database.

    The API database is ``[api_database] connection`` where that is set, else
    ``[database] connection``.
    cells: the Cells to read; by default those that the API database maps, and
        where it maps none that of ``[database] connection``.
    compute_node_columns: what is read of compute nodes, a subset of
        COMPUTE_NODE_COLUMNS for callers that need no long texts.

    A database that does not answer within ``[nova_sched] cell_timeout``
    seconds is not waited for again until it does.  Mapped cells that cannot
    be read are left out, with a warning; otherwise all methods raise
    DatabaseUnavailable.
    """

    def __init__(self, conf, cells=None,
                 compute_node_columns=COMPUTE_NODE_COLUMNS):
        self._conf = conf
        self.compute_node_columns = tuple(compute_node_columns)
        self._fixed, self._readers = cells, {}
        self._api, self._api_guard = _api_reader(conf)
        if cells is not None:
            self.use(cells)

    def close(self):
        """Close the idle connections of this process."""
        for reader in self._readers.values():
            reader.close()
        if self._api_guard is not None:
            self._api_guard.close()
        self._api.db.close()

    @property
    def api_apart(self):
        """Whether the API database is one of its own."""
        return self._api_guard is not None

    @property
    def cells(self):
        """The cells that are read, in the order of their mappings: tuple."""
        if not self._readers:
            self.use(self.find_cells())
        return tuple(self._readers)

    def use(self, cells):
        """Read these cells from here on; what is known of them is kept."""
        before = {(cell.uuid, cell.connection): reader
                  for cell, reader in self._readers.items()}
        readers = {}
        for cell in cells:
            reader = before.pop((cell.uuid, cell.connection), None)
            readers[cell] = reader or self._reader(cell)
            readers[cell].cell = cell
        self._readers = readers
        for reader in before.values():
            reader.close()

    def _reader(self, cell):
        options = db_engine.options_from(self._conf)
        reader = CellReader(cell, options, self.compute_node_columns)
        if cell.uuid != db_cells.SINGLE_CELL_UUID:
            reader.guard = guard.Guard(
                f'cell {cell}', 'computes', reader.db.check,
                self._conf.nova_sched.cell_timeout)
        return reader

    def find_cells(self):
        """The cells there are: tuple of Cell.

        Those of ``cell_mappings`` but cell0, disabled ones included; where
        there are no mappings, the one of ``[database] connection``.
        """
        if self._fixed is not None:
            return tuple(self._fixed)
        mapped = self.mapped_cells()
        return db_cells.only_one(self._conf) if mapped is None else mapped

    def mapped_cells(self):
        """The cells of ``cell_mappings`` but cell0: tuple of Cell.

        None in a cloud without mappings, or without an API database.
        """
        if self._api_guard is None:
            return None
        rows = self._ask_api(self._api.cell_mappings)
        # A loaded cloud has cells without databases of their own.
        if not any(row['database_connection'] for row in rows):
            return None
        return db_cells.of_mappings(rows, self._conf)

    def _ask_api(self, function, *args):
        if self._api_guard is None:
            return function(*args)
        return guard.asking(self._api_guard, function)(*args)

    def each_cell(self, read, *args):
        """``read(reader, *args)`` of each cell's CellReader: dict by Cell.

        Each cell has a thread of its own.  Those that do not answer are
        missing; ``lost`` says why.
        """
        readers = [self._readers[cell] for cell in self.cells]
        free = {reader.cell: read(reader, *args) for reader in readers
                if reader.guard is None}
        return free | guard.answers([
            (reader.cell, reader.guard,
             functools.partial(read, reader, *args))
            for reader in readers if reader.guard is not None])

    def lost(self):
        """Why cells are not asked: dict Cell -> text."""
        return {cell: reader.guard.down
                for cell, reader in self._readers.items()
                if reader.guard is not None and reader.guard.down is not None}

    def locate_instances(self, uuids):
        """dict instance uuid -> host name, of those that are on a host."""
        uuids = list(uuids)
        found = {}
        for part in self.each_cell(CellReader.locate, uuids).values():
            found.update(part)
        return found

    def instances_on(self, hosts):
        """The living instances of these hosts, any state: list of dicts.

        Keys are INSTANCE_COLUMNS; memory_mb is MiB, the disk sizes GiB.
        """
        hosts = list(hosts)
        return [row for part in self.each_cell(
            CellReader.on_hosts, hosts).values() for row in part]

    def find_nodes(self, host, node, cell_uuid=None):
        """The compute nodes of a host or node name: list of NamedNode.

        host, node: None if it does not matter.
        cell_uuid: where to look; by default everywhere, but not for a mere
            node in disabled cells.
        Those of the first cell that has any.
        """
        found = self.each_cell(CellReader.named, host, node)
        for cell, nodes in found.items():
            if nodes and (cell.uuid == cell_uuid if cell_uuid is not None
                          else host or not cell.disabled):
                return nodes
        return []

    def image_properties(self, hosts, names):
        """What the instances on these hosts keep of their images: list.

        names: of the properties; one that ends in * stands for all that
        begin with the rest of it.
        Returns tuples (host, instance uuid, name, text).
        """
        hosts, names = list(hosts), list(names)
        return [row for part in self.each_cell(
            CellReader.image_properties, hosts, names).values()
            for row in part]

    def host_cells(self):
        """dict host name -> cell uuid; empty in a database without cells."""
        return self._ask_api(self._api.host_cells)

    def disabled_cells(self):
        """Uuids of the disabled cells that one database holds: set."""
        return {row['uuid'] for row in self._ask_api(self._api.cell_mappings)
                if row['disabled']}

    def aggregates(self):
        """All aggregates by id: list of dicts id, uuid, name, hosts, metadata.

        uuid is None in databases of Kilo; hosts is a list of host names,
        metadata a dict of texts.
        """
        return self._ask_api(self._api.aggregates)

    def api_stamp(self):
        """Equal to the last one while no aggregate or cell mapping changed.

        One statement.  Counts tell deletions, ids insertions, times updates.
        Whole-second times cannot tell a second change within one second, and
        a slow commit can arrive behind a newer time: until the newest change
        is a few seconds old the value equals nothing.
        """
        return self._ask_api(self._api.stamp)


def _api_reader(conf):
    """The ApiReader, and the Guard of a database of its own, or None."""
    if not conf.api_database.connection:
        return api_reader.ApiReader(db_engine.database(conf)), None
    db = db_engine.database(conf, 'api_database')
    return api_reader.ApiReader(db), guard.Guard(
        'all cells', 'aggregates and mappings', functools.partial(
            db.check, ('aggregates',)), conf.nova_sched.cell_timeout)


class CellReader:
    """The statements of one cell database, compiled at first use."""

    def __init__(self, cell, options, compute_node_columns):
        self.cell = cell
        self.db = db_engine.Database(cell.connection, options)
        self._columns = compute_node_columns
        self._statements = None
        #: Through which it is asked; None to be asked directly.
        self.guard = None

    def close(self):
        """Close idle connections, and ask no more whether it answers."""
        if self.guard is not None:
            self.guard.close()
        self.db.close()

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
                services, SERVICE_COLUMNS)
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

    def on_hosts(self, hosts):
        c = tables.instances.c
        rows = self._chunks(
            sa.select(*(c[name] for name in INSTANCE_COLUMNS)).where(
                c.deleted == 0).order_by(c.id), c.host, hosts)
        return [dict(zip(INSTANCE_COLUMNS, row, strict=True)) for row in rows]

    def named(self, host, node):
        c = tables.compute_nodes.c
        wanted = [c.deleted == 0]
        if host:
            wanted.append(c.host == host)
        if node:
            wanted.append(c.hypervisor_hostname == node)
        with self.db.reading() as connection:
            return [NamedNode(*row) for row in connection.execute(
                sa.select(c.uuid, c.host, c.hypervisor_hostname)
                .where(*wanted).order_by(c.id))]

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
        return CellRows(self._reader.cell, *(
            statement.rows(self._connection) for statement
            in self._reader.statements(self._connection)))

    def locate(self, uuids):
        """dict instance uuid -> host name, of those that are on a host."""
        c = tables.instances.c
        return dict(_in_chunks(
            self._connection, sa.select(c.uuid, c.host).where(
                c.deleted == 0, c.host.is_not(None)), c.uuid, list(uuids)))


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
