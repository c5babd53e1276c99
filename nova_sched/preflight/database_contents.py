"""The contents of the databases, as far as an operator must know them."""

import dataclasses

from oslo_utils import timeutils
import sqlalchemy as sa

from nova_sched.db import api_reader
from nova_sched.db import cell_reader
from nova_sched.db import engine
from nova_sched.db import layouts
from nova_sched.db import services
from nova_sched.db import statements
from nova_sched.db import tables
from nova_sched.hosts import columns

#: Of compute nodes; reports and inventories are not needed here.
_NODE_COLUMNS = ('uuid', 'host', 'hypervisor_hostname')
_SCHEDULER_COLUMNS = ('host', 'disabled', 'forced_down', 'last_seen_up',
                      'created_at', 'version')

#: Tables that only the API database, and only cells' databases have; a loaded
#: cloud of our own has both.
_IN_API, _IN_CELLS = tables.cell_mappings.name, tables.compute_nodes.name


@dataclasses.dataclass(frozen=True)
class Api:
    """The contents of the API database.

    cells: rows of cell_mappings.  mapped: dict host name -> cell uuid.
    """

    layout: str
    cells: list
    mapped: dict
    aggregates: int


@dataclasses.dataclass(frozen=True)
class Scheduler:
    """The record of a nova-scheduler, or of this service."""

    host: str
    up: bool
    version: int | None


@dataclasses.dataclass(frozen=True)
class Schedulers:
    """The records of schedulers.

    records: list of Scheduler.  own: db.services.Version of the record that
    this service has or would get.
    """

    records: list
    own: services.Version


@dataclasses.dataclass(frozen=True)
class Computes:
    """The compute hosts of one database.

    nodes: (name, uuid or None) of each.  hosts: names of their hosts.
    states: dict host name -> up, down or disabled, of hosts with a service.
    version: the oldest of the compute services, None without any.
    """

    layout: str
    nodes: list
    hosts: frozenset
    states: dict
    version: int | None

    def count(self, state):
        """Return how many hosts are up, down or disabled."""
        return sum(known == state for known in self.states.values())


def api(conf):
    """Read the API database: Api.  Raises DatabaseUnavailable."""
    db = engine.database(conf, 'api_database')
    reader = api_reader.ApiReader(db, fallback=engine.database(conf))
    try:
        aggregates = len(reader.aggregates())
        return Api(layouts.of_api(db).words, reader.cell_mappings(),
                   reader.host_cells(), aggregates)
    finally:
        reader.close()


def are_swapped(conf):
    """Return whether each of the two databases is where the other belongs.

    Raises DatabaseUnavailable.
    """
    own, api_tables = (_tables(engine.database(conf, group))
                       for group in ('database', 'api_database'))
    return (_IN_API in own - api_tables) and _IN_CELLS in api_tables - own


def _tables(db):
    try:
        with db.reading() as connection:
            return set(sa.inspect(connection).get_table_names())
    finally:
        db.close()


def schedulers(conf, down_time):
    """Read the records of schedulers in [database]: Schedulers.

    down_time: seconds without heartbeat after which one is down.
    Raises DatabaseUnavailable.
    """
    db = engine.database(conf)
    try:
        with db.reading() as connection:
            c = tables.services.c
            rows = statements.CompiledStatement(
                connection, statements.Schema(connection, db).select(
                    tables.services, _SCHEDULER_COLUMNS).where(
                        c.deleted == 0, c.binary == services.BINARY)
            ).rows(connection)
        return Schedulers([
            Scheduler(host, _is_up(forced_down, seen or created, down_time),
                      version)
            for host, _disabled, forced_down, seen, created, version in rows
        ], services.ServiceRecord(db, conf.host).version())
    finally:
        db.close()


def computes(cell, conf, down_time):
    """Read the compute hosts of a db.cells.Cell: Computes.

    Raises DatabaseUnavailable.
    """
    reader = cell_reader.CellReader(
        cell, engine.options_from(conf), _NODE_COLUMNS)
    try:
        with reader.transaction() as transaction:
            rows = transaction.rows()
        layout = layouts.of_cell(reader.db).words
    finally:
        reader.close()
    found = [dict(zip(columns.SERVICE_COLUMNS, row, strict=True))
             for row in rows.services]
    return Computes(
        layout, [(name, uuid) for uuid, _host, name in rows.compute_nodes],
        frozenset(host for _uuid, host, _name in rows.compute_nodes),
        {row['host']: _state(row, down_time) for row in found},
        min((row['version'] or 0 for row in found), default=None))


def _state(row, down_time):
    if row['disabled']:
        return 'disabled'
    return 'up' if _is_up(
        row['forced_down'], row['last_seen_up'] or row['created_at'],
        down_time) else 'down'


def _is_up(forced_down, seen, down_time):
    return not forced_down and services.is_fresh(
        seen, timeutils.utcnow(), down_time)
