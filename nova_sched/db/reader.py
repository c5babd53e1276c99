"""Reads the hosts and instances of all cells, and the API database.

All cells are read in parallel, each through its ``cell_reader.CellReader``.
"""

import functools
import threading

from nova_sched import conf as config
from nova_sched import exception
from nova_sched import remote
from nova_sched.db import api_reader
from nova_sched.db import cell_reader
from nova_sched.db import cells as db_cells
from nova_sched.db import engine as db_engine
from nova_sched.hosts import columns

COMPUTE_NODE_COLUMNS = columns.COMPUTE_NODE_COLUMNS
SERVICE_COLUMNS = columns.SERVICE_COLUMNS
INSTANCE_COLUMNS = cell_reader.INSTANCE_COLUMNS


class HostReader:
    """A reader of the cells and the API database.

    The API database is ``[api_database] connection`` if that is set and holds
    aggregates, as since Newton, else ``[database] connection``.
    cells: the Cells to read; by default the cells in the API database's
        mappings, or ``[database] connection`` if there are no mappings.
    compute_node_columns: columns to read of compute nodes, a subset of
        COMPUTE_NODE_COLUMNS for callers that need no long texts.

    After a database has not answered within ``[nova_sched] cell_timeout``
    seconds, no caller waits for it until a probe succeeds.  Mapped cells that
    cannot be read are skipped with a warning; otherwise all methods raise
    DatabaseUnavailable.
    """

    def __init__(self, conf, cells=None,
                 compute_node_columns=COMPUTE_NODE_COLUMNS):
        self._conf = conf
        self.compute_node_columns = tuple(compute_node_columns)
        self._fixed, self._readers, self._heartbeats = cells, {}, True
        self._lock = threading.Lock()
        self._has_api = bool(conf.api_database.connection)
        self._api = _api_reader(conf)
        self._api_guard = remote.Guard(
            'all cells', 'aggregates and mappings', self._api.probe,
            conf.nova_sched.cell_timeout)
        if cells is not None:
            self.set_cells(cells)

    def close(self):
        """Close the idle connections of this process."""
        for reader in self._readers.values():
            reader.close()
        self._api_guard.close()
        self._api.close()

    def skip_heartbeats(self):
        """Skip the heartbeats of services that are up."""
        self._heartbeats = False
        for reader in self._readers.values():
            reader.heartbeats = False
            reader.forget_statements()

    @property
    def has_api_database(self):
        """Whether aggregates and mappings are in a separate database.

        True for an API database from before Newton until its first read.
        """
        return self._has_api and self._api.active in (None, self._api.db)

    @property
    def cells(self):
        """The cells to read, in the order of their mappings: tuple."""
        return tuple(self._readers_by_cell())

    def _readers_by_cell(self):
        """Return Cell -> CellReader: a dict that is never changed."""
        if not self._readers:
            self.set_cells(self.find_cells())
        return self._readers

    def set_cells(self, cells):
        """Set the cells to read, and keep readers of the same databases."""
        with self._lock:
            unused = {(cell.uuid, cell.connection): reader
                      for cell, reader in self._readers.items()}
            readers = {}
            for cell in cells:
                reader = unused.pop((cell.uuid, cell.connection), None)
                readers[cell] = (self._reader(cell) if reader is None
                                 else reader.for_cell(cell))
            self._readers = readers
        for reader in unused.values():
            reader.close()

    def _reader(self, cell):
        options = db_engine.options_from(self._conf)
        reader = cell_reader.CellReader(
            cell, options, self.compute_node_columns,
            config.service_down_time(self._conf))
        reader.heartbeats = self._heartbeats
        reader.guard = remote.Guard(f'cell {cell}', 'computes', reader.probe,
                                    self._conf.nova_sched.cell_timeout)
        return reader

    def find_cells(self):
        """Return the cells of the cloud: tuple of Cell.

        All cells of ``cell_mappings`` except cell0, also disabled ones; in a
        cloud without mappings, the cell of ``[database] connection``.
        """
        if self._fixed is not None:
            return tuple(self._fixed)
        mapped = self.mapped_cells()
        return db_cells.single_cell(self._conf) if mapped is None else mapped

    def mapped_cells(self):
        """Return the cells of ``cell_mappings`` except cell0: tuple of Cell.

        None for a cloud without mappings or without an API database.
        """
        if not self._has_api:
            return None
        rows = self._ask_api(self._api.cell_mappings)
        # The cells of a cloud loaded from a file share its database.
        if not any(row['database_connection'] for row in rows):
            return None
        return db_cells.from_mappings(rows, self._conf)

    def _ask_api(self, function):
        return self._api_guard.ask(function)()

    def for_each_cell(self, read, *args, uuids=None):
        """Call ``read(reader, *args)`` for each cell: results by Cell.

        read: function of a CellReader, called in a thread per cell.
        uuids: of the cells to read; by default all.
        Cells that do not answer are missing; ``unavailable_cells`` or the log
        has the reason.
        """
        return _ask_all([
            reader for cell, reader in self._readers_by_cell().items()
            if uuids is None or cell.uuid in uuids], read, *args)

    def unavailable_cells(self):
        """Return the reasons why cells are not read now: Cell -> text."""
        return {cell: reason for cell, reader in self._readers.items()
                if (reason := reader.guard.down_reason) is not None}

    def contacts(self):
        """Return the Contact with each database: list of (Cell, Contact).

        None replaces the cell for the API database.
        """
        api = ([(None, self._api_guard.contact)] if self.has_api_database
               else [])
        return api + [(cell, reader.guard.contact)
                      for cell, reader in self._readers.items()]

    def none_answers(self):
        """Return the DatabaseUnavailable for when no cell can be read."""
        return exception.DatabaseUnavailable('; '.join(
            reason if cell.uuid == db_cells.SINGLE_CELL_UUID
            else f'cell {cell} cannot be read: {reason}'
            for cell, reason in self.unavailable_cells().items())
            or 'it cannot be read')

    def locate_instances(self, uuids, needed=()):
        """Return the hosts of instances: instance uuid -> host name.

        Instances without a host are missing.
        needed: uuids of the cells that the decision is about.  Other cells
            are skipped if they are unavailable already.
        Raises DatabaseUnavailable if a cell does not answer, because the
        affinity of a request could not be judged.
        """
        return dict(self._ask_required_cells(
            'The hosts of instances that a request names cannot be looked up',
            needed, cell_reader.CellReader.locate_instances, list(uuids)))

    def _ask_required_cells(self, trouble, needed, read, *args):
        """Return the rows of the cells that must answer: list.

        read: function of a CellReader that returns a cell's rows, an iterable.
        trouble: the error text if one of the cells does not answer.
        """
        readers = self._readers_by_cell().values()
        lost = self.unavailable_cells()
        needed = {*needed, db_cells.SINGLE_CELL_UUID}
        readers = [reader for reader in readers
                   if reader.cell not in lost or reader.cell.uuid in needed]
        answers = _ask_all(readers, read, *args)
        for reader in readers:
            if reader.cell not in answers:
                raise exception.DatabaseUnavailable(
                    f'{trouble} in cell {reader.cell}: '
                    f'{reader.guard.down_reason or "see the log"}')
        return [row for reader in readers for row in answers[reader.cell]]

    def instances_on(self, hosts, names=INSTANCE_COLUMNS, needed=()):
        """Return the instances on hosts, in any state: list of dicts.

        names: columns to read, of INSTANCE_COLUMNS.  Without ``uuid`` among
            them, equal rows are returned once.
        memory_mb is in MiB, the disk sizes in GiB.
        needed: see ``locate_instances``.
        """
        return self._ask_required_cells(
            'The instances on hosts cannot be read', needed,
            cell_reader.CellReader.instances_on, list(hosts), tuple(names))

    def find_nodes(self, host, node, cell_uuid=None):
        """Return the compute nodes of a host or node name: list of NamedNode.

        host, node: None for any.
        cell_uuid: the cell to search; by default all, or all enabled cells
            without a host name.
        Returns the nodes of the first cell that has any, enabled cells first.
        If there are none, reads the cell mappings again, and uses the changed
        cells from then on.
        Raises DatabaseUnavailable if none of the searched cells answers.
        """
        nodes = self._find_nodes(host, node, cell_uuid)
        if not nodes and self._refresh_cells():
            nodes = self._find_nodes(host, node, cell_uuid)
        return nodes

    def _find_nodes(self, host, node, cell_uuid):
        uuids = None if cell_uuid is None or self._is_single() else {
            cell_uuid}
        answers = self.for_each_cell(
            cell_reader.CellReader.find_nodes, host, node, uuids=uuids)
        if not answers and any(uuids is None or cell.uuid in uuids
                               for cell in self.cells):
            raise self.none_answers()
        if self._is_single():
            return self._in_mapped_cell(
                [node for nodes in answers.values() for node in nodes],
                host, cell_uuid)
        for cell, nodes in sorted(answers.items(),
                                  key=lambda item: item[0].disabled):
            if nodes and (cell_uuid is not None or host
                          or not cell.disabled):
                return nodes
        return []

    def _is_single(self):
        """Return whether one database holds all cells."""
        return [cell.uuid for cell in self.cells] == [
            db_cells.SINGLE_CELL_UUID]

    def _in_mapped_cell(self, nodes, host, cell_uuid):
        """Filter the nodes of a shared database by their mapped cells."""
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

    def _refresh_cells(self):
        """Read the cell mappings again; return whether they have changed."""
        if not self._has_api:
            return False
        try:
            cells = self.find_cells()
        except exception.DatabaseUnavailable:
            return False    # The guard logs it.
        if cells == self.cells:
            return False
        self.set_cells(cells)
        return True

    def image_properties(self, hosts, names, needed=()):
        """Return the image properties of the instances on hosts: list.

        Returns tuples (host, instance uuid, name, text).
        names: of the properties; a final * matches any rest.
        needed: see ``locate_instances``.
        """
        return self._ask_required_cells(
            'The image properties of instances cannot be read', needed,
            cell_reader.CellReader.image_properties, list(hosts), list(names))

    def instance_details(self, hosts, name, needed=()):
        """Return one detail of the instances on hosts: {uuid: value}.

        name: of a column, whose values are returned as stored, or
            ``metadata`` or ``system_metadata``, whose values are dicts.
        Instances without a value are missing, as are all instances of a cell
        without the column.
        needed: see ``locate_instances``.
        """
        return dict(self._ask_required_cells(
            f'The {name} of instances cannot be read', needed,
            cell_reader.CellReader.instance_details, list(hosts), name))

    def host_cells(self):
        """Return the cells of hosts: host name -> cell uuid.

        Empty in a database without cells.
        """
        return self._ask_api(self._api.host_cells)

    def disabled_cells(self):
        """Return the uuids of the disabled cells: set."""
        return {row['uuid'] for row in self._ask_api(self._api.cell_mappings)
                if row['disabled']}

    def aggregates(self):
        """Return all aggregates, ordered by id: list of dicts.

        The keys are id, uuid (None in databases of Kilo), name, hosts (list
        of host names) and metadata (dict of texts).
        """
        return self._ask_api(self._api.aggregates)

    def api_stamp(self):
        """Return a stamp that changes with aggregates and cell mappings.

        One statement reads it: counts show deletions, ids insertions, times
        updates.  Times in whole seconds hide a second change within the same
        second, and a slow commit may come after a commit with a newer time.
        So the stamp equals no other until the newest change is a few seconds
        old.
        """
        return self.begin_api_stamp()()

    def begin_api_stamp(self):
        """Start reading it; return a function that returns ``api_stamp``."""
        return self._api_guard.ask(self._api.stamp)


def _ask_all(readers, read, *args):
    """Call ``read(reader, *args)`` for readers in parallel: results by Cell.

    Cells that do not answer, or fail, are missing, which is logged.
    """
    results, error = {}, None
    for reader, wait in [
            (reader, reader.guard.ask(functools.partial(read, reader, *args)))
            for reader in readers]:
        try:
            results[reader.cell] = wait()
            continue
        except exception.DatabaseUnavailable:
            # The guard has logged it.
            continue
        except Exception as exc:
            error = exc
        reader.guard.log_failure(read, error)
    return results


def _api_reader(conf):
    """Return the ApiReader of the configured databases."""
    if not conf.api_database.connection:
        return api_reader.ApiReader(db_engine.database(conf))
    return api_reader.ApiReader(db_engine.database(conf, 'api_database'),
                                fallback=db_engine.database(conf))
