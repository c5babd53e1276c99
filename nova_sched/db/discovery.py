"""Host discovery: finds compute hosts without a mapping, and maps them.

A compute service creates its rows in its cell's database. Its host gets
instances only after ``host_mappings`` of the API database names it.
"""

import dataclasses

from oslo_db import exception as db_exc
from oslo_utils import timeutils
import sqlalchemy as sa

from nova_sched import exception
from nova_sched.db import engine
from nova_sched.db import reader
from nova_sched.db import statements
from nova_sched.db import tables


@dataclasses.dataclass(frozen=True)
class Discovered:
    """The result of one discovery: lists of texts ``cell:host``.

    mapped: hosts that got a mapping.
    mapped_by_others: hosts that another process mapped at the same time.
    """

    mapped: list = dataclasses.field(default_factory=list)
    mapped_by_others: list = dataclasses.field(default_factory=list)


class Discovery:
    """Host discovery in all mapped cells except cell0, in parallel.

    A cell that does not answer is skipped, which its guard logs.
    """

    def __init__(self, conf):
        self._hosts = reader.HostReader(conf, cells=())
        self._api = engine.database(conf, 'api_database')

    def close(self):
        """Close idle connections and stop the guards' probes."""
        self._hosts.close()
        self._api.close()

    def run(self):
        """Map the hosts that have no mapping: Discovered.

        Raises DatabaseUnavailable if the API database does not answer.
        """
        discovered, marks = Discovered(), {}
        self._hosts.set_cells(self._hosts.mapped_cells() or ())
        if not self._hosts.cells:
            return discovered
        for cell, nodes in self._hosts.for_each_cell(_unmapped).items():
            if nodes:
                marks[cell.uuid] = self._map_hosts(cell, nodes, discovered)
        if any(marks.values()):
            self._hosts.for_each_cell(_mark, marks)
        return discovered

    def _map_hosts(self, cell, nodes, discovered):
        """Map hosts to a cell; return the ids of their nodes: list.

        nodes: id -> host.  discovered: the Discovered to add to.
        """
        cell_id, known = self._mappings(cell, set(nodes.values()))
        if cell_id is None:
            return []    # The cell's mapping has just been deleted.
        for host in dict.fromkeys(nodes.values()):
            if host in known:
                continue
            mapped = self._map(host, cell_id)
            known[host] = cell_id if mapped else None
            hosts = (discovered.mapped if mapped
                     else discovered.mapped_by_others)
            hosts.append(f'{cell.name or cell.uuid}:{host}')
        return [node for node, host in nodes.items()
                if known[host] == cell_id]

    def _mappings(self, cell, hosts):
        """Return the cell's id, and host -> id of the cell of its mapping."""
        cells, mappings = tables.cell_mappings.c, tables.host_mappings.c
        known = {}
        with self._api.reading() as connection:
            cell_id = connection.execute(sa.select(cells.id).where(
                cells.uuid == cell.uuid)).scalar()
            for chunk in statements.chunks(hosts):
                known.update(connection.execute(
                    sa.select(mappings.host, mappings.cell_id).where(
                        mappings.host.in_(chunk))).all())
        return cell_id, known

    def _map(self, host, cell_id):
        """Map a host; return False if another process has mapped it."""
        try:
            with self._api.writing() as connection:
                connection.execute(tables.host_mappings.insert().values(
                    host=host, cell_id=cell_id,
                    created_at=timeutils.utcnow()))
        except exception.DatabaseUnavailable as error:
            if isinstance(error.__cause__, db_exc.DBDuplicateEntry):
                return False
            raise
        return True


def _unmapped(cell_reader):
    """Return a cell's compute nodes that are not mapped: id -> host."""
    c = tables.compute_nodes.c
    conditions = [c.deleted == 0, c.host.is_not(None)]
    with cell_reader.db.reading() as connection:
        if _has_marks(connection, cell_reader.db):
            conditions.append(sa.or_(c.mapped < 1, c.mapped.is_(None)))
        return dict(connection.execute(sa.select(c.id, c.host).where(
            *conditions).order_by(c.id)).all())


def _mark(cell_reader, marks):
    """Mark compute nodes as mapped.  marks: cell uuid -> ids of nodes."""
    ids, c = marks.get(cell_reader.cell.uuid), tables.compute_nodes.c
    if not ids:
        return
    with cell_reader.db.writing() as connection:
        if not _has_marks(connection, cell_reader.db):
            return
        for chunk in statements.chunks(ids):
            connection.execute(
                tables.compute_nodes.update().where(c.id.in_(chunk))
                .values(mapped=1, updated_at=timeutils.utcnow()))


def _has_marks(connection, db):
    """Return whether compute_nodes has the column ``mapped``, since Pike."""
    return 'mapped' in statements.Schema(connection, db).columns(
        tables.compute_nodes)

