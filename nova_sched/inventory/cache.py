"""The current host table, kept up to date from the databases.

Each refresh asks the cells what has changed.  Only rows that differ from those
read before are parsed, and only their rows of the table's columns are written;
the rest is shared between generations.
"""

import bisect
import itertools
import operator

from oslo_log import log as logging

from nova_sched.hosts import columns as host_columns
from nova_sched.hosts import rows as host_rows
from nova_sched.hosts import table as host_table
from nova_sched.hosts import values as host_values
from nova_sched.inventory import api
from nova_sched.inventory.cell import CellInventory
from nova_sched.single_flight import SingleFlight

LOG = logging.getLogger(__name__)

_NODE = {name: i for i, name in enumerate(host_columns.COMPUTE_NODE_COLUMNS)}
_HOST, _NAME = _NODE['host'], _NODE['hypervisor_hostname']
_SERVICE_HOST = host_columns.SERVICE_COLUMNS.index('host')


class HostCache:
    """Holds the newest ``HostTable`` of the cells it reads.

    reader: a db.reader.HostReader.
    ratios: (cpu, ram, disk) allocation ratios for rows that carry none.
    make_record: what makes a host's record of its row, like
        host_rows.record.
    watcher: None, or an object that follows instances, with
        ``uuids_to_look_up(hosts)``: the uuids of instances to look for, a
            list, when the compute nodes of a set of hosts changed, came or
            went; asked of each cell in a thread of its own;
        ``rebase(table, located)``: told of each new table, and in located
            for the uuids asked for, of cells that could be read, the host
            that the instance was on at the moment of its cell's read, or
            None.  What it returns is what ``refresh`` returns.

    instead: columns of all compute nodes that count in place of what is
        read: dict, empty but for a dry run.
    rows_parsed: how many records were made of rows.
    cells_written: how many values were written into columns.
    """

    def __init__(self, reader, ratios, make_record=host_rows.record,
                 watcher=None):
        self._reader, self._ratios = reader, ratios
        self._make_record, self._watcher = make_record, watcher
        self.instead = {}
        self._flight = SingleFlight()
        # (uuid, disabled) -> CellInventory, and the uuids by number.
        self._cells, self._uuids = {}, []
        self._api = api.ApiInventory(reader)
        self._nodes, self._services = _Rows(_node_key), _Rows(
            operator.itemgetter(_SERVICE_HOST))
        self._table = host_table.HostTable.from_records([])
        # Hosts that no mapping leads to, and the mappings of then.
        self._host_cells = self._unmapped = None
        self.rows_parsed = self.cells_written = 0

    def refresh(self):
        """Return the table as of now: read after this call was made.

        With a watcher, what that makes of the table.  Callers that wait at
        the same time share one read, and its failure.
        Raises DatabaseUnavailable when the database cannot be read.
        """
        return self._flight.get(None, self._read)

    def forget_aggregates(self):
        """Have the next refresh read the aggregates again."""
        self._api.forget()

    def _read(self):
        """Read all, and take it over only if all of it worked."""
        found, mapped = self._read_databases()
        self._check_any_read(found)
        nodes, changed = self._nodes.patched({
            cell.number: changes.nodes for cell, changes in found.items()})
        services, served = self._services.patched({
            cell.number: changes.services for cell, changes in found.items()})
        table = self._patched(nodes, changed, services, served, mapped)
        hosts = table.columns['host']
        if (mapped.host_cells is not self._host_cells
                or hosts is not self._table.columns['host']):
            self._find_unmapped(hosts, mapped.host_cells)
        table = table.of_cells(self._as_read(found, mapped))
        answer = table
        if self._watcher is not None:
            answer = self._watcher.rebase(table, _located(found.values()))
        for cell, changes in found.items():
            cell.take(changes)
        self._api.take(mapped)
        self._nodes, self._services, self._table = nodes, services, table
        return answer

    def _read_databases(self):
        """Return what ``_read_cells`` does, and api.Mapped.

        The API database and the cells are asked at the same time: only rarely
        is there another cell, and all are read once more.
        """
        stamp, found = None, None
        if self._table.cells.reads:
            stamp = self._reader.begin_api_stamp()
            found = self._read_cells()
        mapped = self._api.read(stamp)
        if mapped.cells != self._reader.cells:
            self._reader.set_cells(mapped.cells)
            found = None
        return found or self._read_cells(), mapped

    def _read_cells(self):
        """Return dict CellInventory -> ``Changes``, of all that were ever
        read.
        """
        for cell in self._reader.cells:
            if (cell.uuid, cell.disabled) not in self._cells:
                self._cells[cell.uuid, cell.disabled] = CellInventory(
                    cell.uuid, self._number(cell))
        wanted = (lambda hosts: ()) if self._watcher is None else (
            self._watcher.uuids_to_look_up)

        def read(reader):
            cell = self._cells.get((reader.cell.uuid, reader.cell.disabled))
            # One that has just been mapped is read with the next refresh.
            return cell and cell.read(reader, wanted)

        found = {(cell.uuid, cell.disabled): changes for cell, changes
                 in self._reader.for_each_cell(read).items()}
        return {cell: found.get(key) or cell.lost()
                for key, cell in self._cells.items()}

    def _check_any_read(self, found):
        """Raise DatabaseUnavailable if no cell was read.

        A full cloud is another matter, and so is one without hosts.
        """
        if self._reader.cells and all(changes.found is None
                                      for changes in found.values()):
            raise self._reader.none_answers()

    def _number(self, cell):
        """Return a cell's place in _uuids, or its complement of a disabled
        one.

        So the rows of enabled cells come last, which win.
        """
        if cell.uuid not in self._uuids:
            self._uuids.append(cell.uuid)
        number = self._uuids.index(cell.uuid)
        return ~number if cell.disabled else number

    def _as_read(self, found, mapped):
        """Return what was read and what was not: hosts.table.Cells."""
        reads = tuple((cell.uuid, changes.began)
                      for cell, changes in found.items()
                      if changes.found is not None)
        read = {uuid for uuid, _ in reads}
        lost = self._reader.unavailable_cells()
        return host_table.Cells(
            reads, tuple((str(cell), lost.get(cell) or 'it cannot be read')
                         for cell in mapped.cells if cell.uuid not in read),
            mapped.disabled, self._unmapped)

    def _find_unmapped(self, hosts, host_cells):
        """Find the hosts, a column, that no mapping leads to.

        host_cells: as of api.Mapped.
        """
        self._host_cells = host_cells
        self._unmapped = None if host_cells is None else frozenset(
            hosts.items()).difference(host_cells)

    def _patched(self, nodes, changed, services, served, mapped):
        """Return the table with what is in other rows than before.

        nodes, services: the rows of all cells, _Rows.
        changed, served: keys of the nodes and services that differ.
        mapped: api.Mapped.
        """
        moved = {host for host in served
                 if (host in services) != (host in self._services)}
        table = self._with_services(services, served - moved)
        moved |= mapped.other_cells
        if moved:
            changed = changed | {key for key in nodes if key[0] in moved}
        table = self._with_aggregates(table, mapped)
        return self._with_hosts(table, nodes, changed, services, mapped)

    def _with_services(self, services, hosts):
        rows = self._table.rows_of(hosts)
        return self._written(
            self._table, [row for row, _ in rows],
            _service_columns(services, [host for _, host in rows]))

    def _with_aggregates(self, table, mapped):
        rows = table.rows_of(mapped.other_aggregates)
        return self._written(table, [row for row, _ in rows], {
            'aggregates': [mapped.aggregates.get(host, ())
                           for _, host in rows]})

    def _with_hosts(self, table, nodes, keys, services, mapped):
        """Return the table with the rows of these keys as nodes has them."""
        changes, gone, added = {}, [], []
        for key in sorted(keys):
            host, name = key
            row, record = table.row(host, name), None
            if key in nodes and host not in services:
                LOG.warning('No compute service record found for host '
                            '%(host)s', {'host': host})
            elif key in nodes:
                record = self._record(nodes[key], mapped.cell_of)
            if row is not None and record is not None:
                changes[row] = record
            elif record is not None:
                added.append((key, record))
            elif row is not None:
                gone.append(row)
        table = self._written(table, list(changes), {
            name: [record[name] for record in changes.values()]
            for name in self._of_node(changes.values())}).without(gone)
        return self._with_added(table, added, services, mapped)

    @staticmethod
    def _of_node(records):
        """Return the columns of records that can change with a node's row."""
        return {name for record in itertools.islice(records, 1)
                for name in record} - {'host', 'nodename'}

    def _with_added(self, table, added, services, mapped):
        """Return the table with a list of (key, record), sorted by key."""
        if not added:
            return table
        present, hosts = table.keys(), [host for (host, _), _ in added]
        values = {name: [record[name] for _, record in added]
                  for name in added[0][1]}
        values |= _service_columns(services, hosts) | {
            'host': hosts, 'nodename': [node for (_, node), _ in added],
            'service_up': [False] * len(hosts),
            'aggregates': [mapped.aggregates.get(host, ())
                           for host in hosts]}
        self.cells_written += len(added) * len(values)
        return table.with_added(
            [bisect.bisect(present, key) for key, _ in added], values)

    def _written(self, table, rows, values):
        self.cells_written += len(rows) * len(values)
        return table.with_cells(rows, values)

    def _record(self, entry, cells):
        """Return a row's record; None, with one warning for each cause, if
        it cannot be made one.
        """
        number, row = entry
        uuid = self._uuids[max(number, ~number)]
        row = dict(zip(host_columns.COMPUTE_NODE_COLUMNS, row, strict=True),
                   **self.instead)
        self.rows_parsed += 1
        try:
            record = self._make_record(
                row, cells.get(row['host']) or uuid, self._ratios)
            host_columns.check_record(record)
            return record
        except (TypeError, ValueError, OverflowError) as exc:
            error = str(exc)
        host_values.warn_left_out(row['host'], row['hypervisor_hostname'],
                                  error)
        return None


class _Rows(dict):
    """The rows of all cells by a key: key -> (number of the cell, row).

    Of several rows with one key it is the last.
    key: function of a row; rows for which it is None are left out.
    """

    def __init__(self, key, entries=(), shared=()):
        super().__init__(entries)
        # key -> list of entries, by cell and id, where there are several.
        self._key, self._shared = key, dict(shared)

    def patched(self, changes):
        """Return a new mapping and the keys that have another row in it: a
        set.

        changes: number of the cell -> list of pairs (old row, new row).
        """
        if not any(changes.values()):
            return self, set()
        made, touched = _Rows(self._key, self, self._shared), set()
        for number, pairs in changes.items():
            for old, new in pairs:
                touched.update(made._change(number, old, new))
        return made, {key for key in touched
                      if made.get(key) is not self.get(key)}

    def _change(self, number, old, new):
        """Replace a row by another; returns the keys that this touches."""
        before = None if old is None else self._key(old)
        after = None if new is None else self._key(new)
        if after is not None and after not in (
                self if before is None else self._shared) and (
                before in (None, after)):
            # Nearly always there is one row of a key, and it is this one.
            self[after] = number, new
            return (after,)
        if before is not None:
            self._keep(before, [entry for entry in self._all(before)
                                if entry != (number, old)])
        if after is not None:
            self._keep(after, sorted([*self._all(after), (number, new)],
                                     key=_place))
        return {before, after} - {None}

    def _all(self, key):
        return self._shared.get(key) or ([self[key]] if key in self else [])

    def _keep(self, key, entries):
        self._shared.pop(key, None)
        self.pop(key, None)
        if entries:
            self[key] = entries[-1]
        if len(entries) > 1:
            self._shared[key] = entries


def _place(entry):
    number, row = entry
    return number, row[0]


def _node_key(row):
    """Return host and node name, by which the table is sorted; None without.
    """
    host, name = row[_HOST], row[_NAME]
    return (host, str(name or '')) if isinstance(host, str) else None


def _service_columns(services, hosts):
    """Return what these hosts' services fill: column name -> list of values.
    """
    return host_rows.service_columns([
        host_rows.Service._make(services[host][1]) for host in hosts])


def _located(found):
    """Return uuid -> host or None, from each cell's Changes."""
    located = {}
    for changes in found:
        for uuid, host in changes.located.items():
            located[uuid] = host or located.get(uuid)
    return located
