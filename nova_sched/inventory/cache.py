"""The current host table, kept up to date from the databases.

Each refresh queries the cells for changed rows.  Only changed rows are parsed
and written to the table's columns; the rest is shared between generations.
"""

import bisect
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
    """Holds the newest ``HostTable`` of all cells.

    reader: a db.reader.HostReader.
    ratios: (cpu, ram, disk) allocation ratios for rows without ratios.
    make_record: function that makes a host record of a row, like
        host_rows.record.
    watcher: None, or an object that tracks instances, with
        ``uuids_to_look_up(hosts)``: uuids of the instances to locate when the
            compute nodes of some hosts were added, changed or removed: list;
            called for each cell in a thread of its own;
        ``rebase(table, located)``: called with each new table and with the
            located instances (uuid -> host or None, as of the read of their
            cell).  Returns what ``refresh`` returns.

    instead: values that override columns of all compute nodes: dict, empty
        except in a dry run.
    """

    def __init__(self, reader, ratios, make_record=host_rows.record,
                 watcher=None):
        self._reader, self._ratios = reader, ratios
        self._make_record, self._watcher = make_record, watcher
        self.instead = {}
        self._flight = SingleFlight()
        # (uuid, disabled) -> CellInventory; cell uuids in order of number.
        self._cells, self._uuids = {}, []
        self._api = api.ApiInventory(reader)
        self._nodes, self._services = _Rows(_node_key), _Rows(
            operator.itemgetter(_SERVICE_HOST))
        self._table = host_table.HostTable.from_records([])
        # The last ApiData.host_cells, and the hosts that are not in it.
        self._host_cells = self._unmapped = None

    def refresh(self):
        """Return a table that was read after this call was made.

        With a watcher, return what its ``rebase`` returns.  Concurrent
        callers share one read, and its failure.
        Raises DatabaseUnavailable when the database cannot be read.
        """
        return self._flight.get(None, self._read)

    def forget_aggregates(self):
        """Make the next refresh read the aggregates again."""
        self._api.forget()

    def _read(self):
        """Read all databases; keep the result only if every step works."""
        by_cell, data = self._read_databases()
        # A cloud without hosts is no failure; that no cell can be read is.
        if self._reader.cells and all(changes.found is None
                                      for changes in by_cell.values()):
            raise self._reader.none_answers()
        nodes, changed = self._nodes.patched({
            cell.number: changes.nodes for cell, changes in by_cell.items()})
        services, service_hosts = self._services.patched({
            cell.number: changes.services
            for cell, changes in by_cell.items()})
        table = self._patched(nodes, changed, services, service_hosts, data)
        hosts, mapped = table.columns['host'], data.host_cells
        if (mapped is not self._host_cells
                or hosts is not self._table.columns['host']):
            self._host_cells = mapped
            self._unmapped = None if mapped is None else frozenset(
                hosts.items()).difference(mapped)
        table = table.of(table.columns, self._read_state(by_cell, data))
        result = table
        if self._watcher is not None:
            result = self._watcher.rebase(table, _located(by_cell.values()))
        for cell, changes in by_cell.items():
            cell.accept(changes)
        self._api.accept(data)
        self._nodes, self._services, self._table = nodes, services, table
        return result

    def _read_databases(self):
        """Return the result of ``_read_cells``, and ApiData.

        The API database and the cells are read in parallel.  In the rare case
        of a new cell, all cells are read a second time.
        """
        stamp, by_cell = None, None
        if self._table.cells.reads:
            stamp = self._reader.begin_api_stamp()
            by_cell = self._read_cells()
        data = self._api.read(stamp)
        if data.cells != self._reader.cells:
            self._reader.set_cells(data.cells)
            by_cell = None
        return by_cell or self._read_cells(), data

    def _read_cells(self):
        """Return CellInventory -> ``Changes`` for all cells ever read."""
        for cell in self._reader.cells:
            if (cell.uuid, cell.disabled) not in self._cells:
                self._cells[cell.uuid, cell.disabled] = CellInventory(
                    cell.uuid, self._number(cell))
        to_locate = (lambda hosts: ()) if self._watcher is None else (
            self._watcher.uuids_to_look_up)

        def read(reader):
            cell = self._cells.get((reader.cell.uuid, reader.cell.disabled))
            # A cell that was mapped just now is read by the next refresh.
            return cell and cell.read(reader, to_locate)

        by_key = {(cell.uuid, cell.disabled): changes for cell, changes
                  in self._reader.for_each_cell(read).items()}
        return {cell: by_key.get(key) or cell.all_removed()
                for key, cell in self._cells.items()}

    def _number(self, cell):
        """Return the index of a cell in _uuids; ~index if it is disabled.

        Rows of enabled cells thus sort last, and win.
        """
        if cell.uuid not in self._uuids:
            self._uuids.append(cell.uuid)
        number = self._uuids.index(cell.uuid)
        return ~number if cell.disabled else number

    def _read_state(self, by_cell, data):
        """Return which cells were read and which were not: hosts.table.Cells.
        """
        reads = tuple((cell.uuid, changes.began)
                      for cell, changes in by_cell.items()
                      if changes.found is not None)
        read = {uuid for uuid, _ in reads}
        lost = self._reader.unavailable_cells()
        return host_table.Cells(
            reads, tuple((str(cell), lost.get(cell) or 'it cannot be read')
                         for cell in data.cells if cell.uuid not in read),
            data.disabled, self._unmapped)

    def _patched(self, nodes, changed, services, service_hosts, data):
        """Return the table with the changed rows written.

        nodes, services: the rows of all cells, _Rows.
        changed: keys of the changed nodes.
        service_hosts: hosts with changed services.
        data: ApiData.
        """
        affected = {host for host in service_hosts
                    if (host in services) != (host in self._services)}
        rows = self._table.rows_of(service_hosts - affected)
        table = self._table.with_values(
            [row for row, _ in rows],
            _service_columns(services, [host for _, host in rows]))
        affected |= data.changed_cells
        if affected:
            changed = changed | {key for key in nodes if key[0] in affected}
        rows = table.rows_of(data.changed_aggregates)
        table = table.with_values([row for row, _ in rows], {
            'aggregates': [data.aggregates.get(host, ()) for _, host in rows]})
        return self._with_hosts(table, nodes, changed, services, data)

    def _with_hosts(self, table, nodes, keys, services, data):
        """Return the table with the rows of these keys as in ``nodes``."""
        changes, removed, added = {}, [], []
        for key in sorted(keys):
            host, name = key
            row, record = table.row(host, name), None
            if key in nodes and host not in services:
                LOG.warning('No compute service record found for host '
                            '%(host)s', {'host': host})
            elif key in nodes:
                record = self._record(nodes[key], data.cell_of)
            if row is not None and record is not None:
                changes[row] = record
            elif record is not None:
                added.append((key, record))
            elif row is not None:
                removed.append(row)
        names = next(iter(changes.values()), {}).keys() - {'host', 'nodename'}
        table = table.with_values(list(changes), {
            name: [record[name] for record in changes.values()]
            for name in names}).without(removed)
        return self._with_added(table, added, services, data)

    def _with_added(self, table, added, services, data):
        """Return the table with new rows: (key, record) pairs in key order."""
        if not added:
            return table
        present, hosts = table.keys(), [host for (host, _), _ in added]
        values = {name: [record[name] for _, record in added]
                  for name in added[0][1]}
        values |= _service_columns(services, hosts) | {
            'host': hosts, 'nodename': [node for (_, node), _ in added],
            'service_up': [False] * len(hosts),
            'aggregates': [data.aggregates.get(host, ())
                           for host in hosts]}
        return table.with_added(
            [bisect.bisect(present, key) for key, _ in added], values)

    def _record(self, entry, cells):
        """Return the record of a row, or None if the row is invalid.

        Each cause is logged once.
        """
        number, row = entry
        uuid = self._uuids[max(number, ~number)]
        row = dict(zip(host_columns.COMPUTE_NODE_COLUMNS, row, strict=True),
                   **self.instead)
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
    """The rows of all cells: key -> (number of the cell, row).

    If several rows have the same key, the last row counts.
    key: function of a row; rows with key None are left out.
    """

    def __init__(self, key, entries=(), shared=()):
        super().__init__(entries)
        # Key -> list of entries, by cell and id, for keys of several rows.
        self._key, self._shared = key, dict(shared)

    def patched(self, changes):
        """Return a new mapping, and the set of keys with another row.

        changes: number of the cell -> list of pairs (old row, new row).
        """
        if not any(changes.values()):
            return self, set()
        new, touched = _Rows(self._key, self, self._shared), set()
        for number, pairs in changes.items():
            for pair in pairs:
                touched.update(new._change(number, *pair))
        return new, {key for key in touched
                     if new.get(key) is not self.get(key)}

    def _change(self, number, old, new):
        """Replace a row by another; return the keys affected."""
        before = None if old is None else self._key(old)
        after = None if new is None else self._key(new)
        if after is not None and after not in (
                self if before is None else self._shared) and (
                before in (None, after)):
            # Fast path: this is the only row of its key.
            self[after] = number, new
            return (after,)
        if before is not None:
            self._set(before, [entry for entry in self._entries(before)
                               if entry != (number, old)])
        if after is not None:
            self._set(after, sorted(
                [*self._entries(after), (number, new)],
                key=lambda entry: (entry[0], entry[1][0])))
        return {before, after} - {None}

    def _entries(self, key):
        return self._shared.get(key) or ([self[key]] if key in self else [])

    def _set(self, key, entries):
        self._shared.pop(key, None)
        self.pop(key, None)
        if entries:
            self[key] = entries[-1]
        if len(entries) > 1:
            self._shared[key] = entries


def _node_key(row):
    """Return (host, node name), the table's sort key; None without a host."""
    host, name = row[_HOST], row[_NAME]
    return (host, str(name or '')) if isinstance(host, str) else None


def _service_columns(services, hosts):
    """Return the service columns of hosts: column name -> list of values."""
    return host_rows.service_columns([
        host_rows.Service._make(services[host][1]) for host in hosts])


def _located(all_changes):
    """Return uuid -> host or None, from the Changes of all cells."""
    located = {}
    for changes in all_changes:
        for uuid, host in changes.located.items():
            located[uuid] = host or located.get(uuid)
    return located
