"""What the scheduler reads: hosts of every cell, aggregates, instances.

Each cell is asked through its ``cell_reader.CellReader``, all at once.
"""

import functools
import threading

from nova_sched import exception
from nova_sched.db import api_reader
from nova_sched.db import cell_reader
from nova_sched.db import cells as db_cells
from nova_sched.db import engine as db_engine
from nova_sched.db import guard
from nova_sched.hosts import columns

COMPUTE_NODE_COLUMNS = columns.COMPUTE_NODE_COLUMNS
SERVICE_COLUMNS = columns.SERVICE_COLUMNS
INSTANCE_COLUMNS = cell_reader.INSTANCE_COLUMNS


class HostReader:
    """Reads hosts from the cells and everything else from the API database.

    The API database is ``[api_database] connection`` where that is set and
    holds aggregates, as since Newton, else ``[database] connection``.
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
        self._lock = threading.Lock()
        self._api, self._api_guard = _api_reader(conf)
        if cells is not None:
            self.use(cells)

    def close(self):
        """Close the idle connections of this process."""
        for reader in self._readers.values():
            reader.close()
        if self._api_guard is not None:
            self._api_guard.close()
        self._api.close()

    @property
    def api_apart(self):
        """Whether aggregates and mappings have a database of their own.

        One of before Newton counts as such until it has been asked.
        """
        return self._api_guard is not None and (
            self._api.read in (None, self._api.db))

    @property
    def cells(self):
        """The cells that are read, in the order of their mappings: tuple."""
        return tuple(self._known())

    def _known(self):
        """The readers by cell: a dict that nobody changes."""
        if not self._readers:
            self.use(self.find_cells())
        return self._readers

    def use(self, cells):
        """Read these cells from here on; what is known of them is kept."""
        with self._lock:
            before = {(cell.uuid, cell.connection): reader
                      for cell, reader in self._readers.items()}
            readers = {}
            for cell in cells:
                reader = before.pop((cell.uuid, cell.connection), None)
                readers[cell] = (self._reader(cell) if reader is None
                                 else reader.of(cell))
            self._readers = readers
        for reader in before.values():
            reader.close()

    def _reader(self, cell):
        options = db_engine.options_from(self._conf)
        reader = cell_reader.CellReader(
            cell, options, self.compute_node_columns)
        if cell.uuid != db_cells.SINGLE_CELL_UUID:
            reader.guard = guard.Guard(
                f'cell {cell}', 'computes', reader.probe,
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

    def each_cell(self, read, *args, uuids=None):
        """``read(reader, *args)`` of each cell's CellReader: dict by Cell.

        uuids: of the cells to ask; by default all.
        Each cell has a thread of its own.  Those that do not answer are
        missing; ``lost`` says why, or the log.
        """
        return _asked([
            reader for cell, reader in self._known().items()
            if uuids is None or cell.uuid in uuids], read, *args)

    def lost(self):
        """Why cells are not asked: dict Cell -> text."""
        return _lost(self._readers.values())

    def locate_instances(self, uuids, needed=()):
        """dict instance uuid -> host name, of those that are on a host.

        needed: uuids of the cells whose hosts are decided on.  Others that
            were lost before are left out, as their hosts are.
        Raises DatabaseUnavailable for a cell that does not answer this
        question: what a request asks for beside or far from an instance
        would be void.
        """
        answers = self._all_answers(
            'The hosts of instances that a request names cannot be looked up',
            needed, cell_reader.CellReader.locate, list(uuids))
        return {uuid: host for found in answers
                for uuid, host in found.items()}

    def _all_answers(self, trouble, needed, read, *args):
        """``read(reader, *args)`` of each cell that may not be left out.

        trouble: what it means if one of them gives no answer.
        """
        readers = self._known().values()
        lost = _lost(readers)
        readers = [reader for reader in readers
                   if reader.cell not in lost or reader.cell.uuid in needed]
        answers = _asked(readers, read, *args)
        for reader in readers:
            if reader.cell not in answers:
                raise exception.DatabaseUnavailable(
                    f'{trouble} in cell {reader.cell}: '
                    f'{reader.guard.down or "the log says why"}')
        return [answers[reader.cell] for reader in readers]

    def instances_on(self, hosts, names=INSTANCE_COLUMNS, needed=()):
        """The living instances of these hosts, any state: list of dicts.

        names: of columns, of INSTANCE_COLUMNS; instances that differ in none
            of them are one.
        memory_mb is MiB, the disk sizes GiB.
        needed: as of ``locate_instances``, which asks the same cells.
        """
        return [row for part in self._all_answers(
            'The instances on hosts cannot be read', needed,
            cell_reader.CellReader.on_hosts, list(hosts), tuple(names))
            for row in part]

    def find_nodes(self, host, node, cell_uuid=None):
        """The compute nodes of a host or node name: list of NamedNode.

        host, node: None if it does not matter.
        cell_uuid: where to look; by default everywhere, but not for a mere
            node in disabled cells.
        Those of the first cell that has any, an enabled one if there is one.
        Where none has, cells that were mapped or enabled meanwhile are looked
        at, too, and used from here on.
        """
        return self._find_nodes(host, node, cell_uuid) or (
            self._reread() and self._find_nodes(host, node, cell_uuid)) or []

    def _find_nodes(self, host, node, cell_uuid):
        if self._is_single():
            found = self.each_cell(cell_reader.CellReader.named, host, node)
            return self._in_mapped_cell(
                [each for nodes in found.values() for each in nodes],
                host, cell_uuid)
        found = self.each_cell(
            cell_reader.CellReader.named, host, node,
            uuids=None if cell_uuid is None else {cell_uuid})
        for cell, nodes in sorted(found.items(),
                                  key=lambda item: item[0].disabled):
            if nodes and (cell_uuid is not None or host
                          or not cell.disabled):
                return nodes
        return []

    def _is_single(self):
        """Whether one database holds all cells."""
        return [cell.uuid for cell in self.cells] == [
            db_cells.SINGLE_CELL_UUID]

    def _in_mapped_cell(self, nodes, host, cell_uuid):
        """Those that ``find_nodes`` may return, of one database's cells."""
        if cell_uuid == db_cells.SINGLE_CELL_UUID or not nodes:
            return nodes
        if cell_uuid is not None:
            cells = self.host_cells()
            return [node for node in nodes
                    if cells.get(node.host) == cell_uuid]
        disabled = () if host else self.disabled_cells()
        cells = self.host_cells() if disabled else {}
        return [node for node in nodes
                if cells.get(node.host) not in disabled]

    def _reread(self):
        """Whether the cells are others than before, and used."""
        if self._api_guard is None:
            return False
        try:
            cells = self.find_cells()
        except exception.DatabaseUnavailable:
            return False    # the guard has said so
        if cells == self.cells:
            return False
        self.use(cells)
        return True

    def image_properties(self, hosts, names, needed=()):
        """What the instances on these hosts keep of their images: list.

        names: of the properties; one that ends in * stands for all that
        begin with the rest of it.
        Returns tuples (host, instance uuid, name, text).
        needed: as of ``locate_instances``, which asks the same cells.
        """
        return [row for part in self._all_answers(
            'The image properties of instances cannot be read', needed,
            cell_reader.CellReader.image_properties, list(hosts), list(names))
            for row in part]

    def instance_details(self, hosts, name, needed=()):
        """What is kept of the instances on these hosts: {uuid: value}.

        name: of a column, whose values are as they are stored, or
            ``metadata`` or ``system_metadata``: dicts.
        Instances of which there is none are left out, as are those of a cell
        that has no such column.
        needed: as of ``locate_instances``, which asks the same cells.
        """
        found = {}
        for part in self._all_answers(
                f'The {name} of instances cannot be read', needed,
                cell_reader.CellReader.kept, list(hosts), name):
            found |= part
        return found

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


def _asked(readers, read, *args):
    """``read(reader, *args)`` of each that answers: dict by Cell."""
    free = {reader.cell: read(reader, *args) for reader in readers
            if reader.guard is None}
    return free | guard.answers([
        (reader.cell, reader.guard, functools.partial(read, reader, *args))
        for reader in readers if reader.guard is not None])


def _lost(readers):
    """Why cells are not asked: dict Cell -> text."""
    reasons = {reader.cell: reader.guard and reader.guard.down
               for reader in readers}
    return {cell: why for cell, why in reasons.items() if why is not None}


def _api_reader(conf):
    """The ApiReader, and the Guard of a database of its own, or None."""
    if not conf.api_database.connection:
        return api_reader.ApiReader(db_engine.database(conf)), None
    api = api_reader.ApiReader(db_engine.database(conf, 'api_database'),
                               older=db_engine.database(conf))
    return api, guard.Guard('all cells', 'aggregates and mappings', api.probe,
                            conf.nova_sched.cell_timeout)
