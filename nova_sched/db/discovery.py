"""Compute hosts that no cell mapping knows yet: finding and mapping them.

A compute service makes its rows in its cell's database; only once
``host_mappings`` of the API database names its host do instances find their
way there.
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

_CHUNK = 500    # values in one IN (...) list


@dataclasses.dataclass(frozen=True)
class Discovered:
    """What one search came to: texts ``cell:host``, in order.

    mapped: hosts that got a mapping.
    taken: hosts that somebody else mapped in the same moment.
    """

    mapped: list = dataclasses.field(default_factory=list)
    taken: list = dataclasses.field(default_factory=list)


class Discovery:
    """Searches all mapped cells but cell0, at the same time.

    A cell that does not answer is left out, and its guard tells of it.
    """

    def __init__(self, conf):
        self._hosts = reader.HostReader(conf, cells=())
        self._api = engine.database(conf, 'api_database')

    def close(self):
        """Close idle connections, and ask no more who answers."""
        self._hosts.close()
        self._api.close()

    def run(self):
        """Map what is found: Discovered.

        Raises DatabaseUnavailable if the API database does not answer.
        """
        found, marks = Discovered(), {}
        self._hosts.use(self._hosts.mapped_cells() or ())
        if not self._hosts.cells:
            return found
        for cell, nodes in self._hosts.each_cell(_unmapped).items():
            if nodes:
                marks[cell.uuid] = self._map_hosts(cell, nodes, found)
        if any(marks.values()):
            self._hosts.each_cell(_mark, marks)
        return found

    def _map_hosts(self, cell, nodes, found):
        """Ids of the nodes whose hosts are mapped to this cell then: list.

        nodes: dict id -> host.  found: the Discovered to add to.
        """
        cell_id, known = self._mappings(cell, set(nodes.values()))
        if cell_id is None:
            return []    # its mapping has just been deleted
        for host in dict.fromkeys(nodes.values()):
            if host in known:
                continue
            mapped = self._map(host, cell_id)
            known[host] = cell_id if mapped else None
            (found.mapped if mapped else found.taken).append(
                f'{cell.name or cell.uuid}:{host}')
        return [node for node, host in nodes.items()
                if known[host] == cell_id]

    def _mappings(self, cell, hosts):
        """The cell's id, and dict host -> id of the cell it is mapped to."""
        cells, mappings = tables.cell_mappings.c, tables.host_mappings.c
        known = {}
        with self._api.reading() as connection:
            cell_id = connection.execute(sa.select(cells.id).where(
                cells.uuid == cell.uuid)).scalar()
            for chunk in _chunks(hosts):
                known.update(connection.execute(
                    sa.select(mappings.host, mappings.cell_id).where(
                        mappings.host.in_(chunk))).all())
        return cell_id, known

    def _map(self, host, cell_id):
        """Whether this has made the mapping, not somebody else."""
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
    """A cell's compute nodes that are not marked as mapped: id -> host."""
    c = tables.compute_nodes.c
    wanted = [c.deleted == 0, c.host.is_not(None)]
    with cell_reader.db.reading() as connection:
        if _has_marks(connection, cell_reader.db):
            wanted.append(sa.or_(c.mapped < 1, c.mapped.is_(None)))
        return dict(connection.execute(sa.select(c.id, c.host).where(
            *wanted).order_by(c.id)).all())


def _mark(cell_reader, marks):
    """Mark compute nodes as mapped; marks: dict cell uuid -> their ids."""
    ids, c = marks.get(cell_reader.cell.uuid), tables.compute_nodes.c
    if not ids:
        return
    with cell_reader.db.writing() as connection:
        if not _has_marks(connection, cell_reader.db):
            return
        for chunk in _chunks(ids):
            connection.execute(
                tables.compute_nodes.update().where(c.id.in_(chunk))
                .values(mapped=1, updated_at=timeutils.utcnow()))


def _has_marks(connection, db):
    """Whether compute nodes have the column; those of Ocata have not."""
    return 'mapped' in statements.Schema(connection, db).columns(
        tables.compute_nodes)


def _chunks(values):
    values = list(values)
    return [values[start:start + _CHUNK]
            for start in range(0, len(values), _CHUNK)]
