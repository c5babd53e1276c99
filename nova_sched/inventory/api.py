"""Aggregates and cell mappings, as last read from the API database."""

import dataclasses
import threading
import time

from oslo_log import log as logging

from nova_sched import exception
from nova_sched import objects
from nova_sched.db.cells import SINGLE_CELL_UUID

LOG = logging.getLogger(__name__)

#: Seconds after which aggregates and cells are reread even if the database's
#: change stamp is the same.
INTERVAL = 60.0


@dataclasses.dataclass(frozen=True)
class ApiData:
    """The aggregates and cells of hosts, as of one read.

    aggregates: host -> tuple of its Aggregate objects.
    cells: tuple of db.cells.Cell; None before the first read.
    cell_of: host -> cell uuid, where one database holds all cells.
    host_cells: host -> uuid of the cell in its host mapping; None in a cloud
        without mappings. The same dict object until a mapping changes.
    disabled: uuids of the cells that take no new servers.
    changed_aggregates, changed_cells: hosts whose aggregates, or whose cell,
        differ from the last read.
    by_id: aggregate id -> (row, Aggregate).
    stamp: change stamp of the database.  at: time.monotonic() of the read.
    """

    aggregates: dict
    cells: tuple | None = None
    cell_of: dict = dataclasses.field(default_factory=dict)
    host_cells: dict | None = None
    disabled: frozenset = frozenset()
    changed_aggregates: set = frozenset()
    changed_cells: set = frozenset()
    by_id: dict = dataclasses.field(default_factory=dict)
    stamp: object = None
    at: float = -1.0

    def unchanged(self):
        """Return the same data with no changed hosts."""
        return dataclasses.replace(
            self, changed_aggregates=frozenset(), changed_cells=frozenset())


class ApiInventory:
    """Reads the aggregates and cells of hosts and keeps the last result.

    reader: db.reader.HostReader.
    """

    def __init__(self, reader):
        self._reader, self._last = reader, ApiData({})
        # Part of the stamp: a new object makes the next read a full one.
        self._epoch, self._lock = object(), threading.Lock()

    def forget(self):
        """Make every read that begins after this call a full one."""
        self._epoch = object()

    def read(self, stamp=None):
        """Return the current ApiData.

        The tables are reread if the change stamp differs, or after INTERVAL.
        stamp: the function that HostReader.begin_api_stamp returned, if the
            stamp query has been started already.

        While a separate API database cannot be read, the last data is used.
        Raises DatabaseUnavailable if there is none, or if the API tables are
        in the hosts' own database.
        """
        try:
            return self._read(stamp or self._reader.api_stamp)
        except exception.DatabaseUnavailable as error:
            if self._last.cells is None or not self._reader.has_api_database:
                raise
            LOG.debug('Using the aggregates and cells of the last read: %s',
                      error)
            return self._last.unchanged()

    def _read(self, stamp):
        # Taken before the query: a forget() during the read must cause
        # another one.
        epoch = self._epoch
        stamp, now = (epoch, stamp()), time.monotonic()
        last = self._last
        if stamp == last.stamp and now - last.at < INTERVAL:
            return last.unchanged()
        by_id = _aggregates_by_id(self._reader.aggregates(), last.by_id)
        aggregates, cells = _by_host(by_id), self._reader.find_cells()
        if cells != last.cells:
            LOG.debug('Found %(count)i cells: %(cells)s', {
                'count': len(cells), 'cells': ', '.join(map(str, cells))})
        # With several databases a host belongs to the cell it is read from.
        cell_of, disabled = {}, {cell.uuid for cell in cells if cell.disabled}
        host_cells = self._reader.host_cells()
        if [cell.uuid for cell in cells] == [SINGLE_CELL_UUID]:
            cell_of, host_cells = host_cells, host_cells or None
            disabled = self._reader.disabled_cells()
        if host_cells == last.host_cells:
            host_cells = last.host_cells
        return ApiData(
            aggregates, cells, cell_of, host_cells, frozenset(disabled),
            _changed_hosts(last.aggregates, aggregates),
            _changed_hosts(last.cell_of, cell_of), by_id, stamp, now)

    def all(self):
        """Return all current aggregates, ordered by id: list of Aggregate.

        Raises as ``read``.
        """
        with self._lock:
            data = self.read()
            self.accept(data)
        return [aggregate for _, aggregate in data.by_id.values()]

    def accept(self, data):
        """Set the ApiData that the next read compares with."""
        self._last = data


def _aggregates_by_id(rows, last):
    """Return id -> (row, Aggregate); equal rows keep their last object."""
    by_id = {}
    for row in rows:
        old = last.get(row['id'])
        if old is not None and old[0] == row:
            by_id[row['id']] = old
            continue
        try:
            by_id[row['id']] = row, objects.Aggregate(**{
                name: value for name, value in row.items()
                if value is not None})
        except ValueError as exc:
            LOG.warning('Aggregate %s is left out: %s', row['id'], exc)
    return by_id


def _by_host(by_id):
    """Return host -> tuple of its aggregates; equal tuples are one object."""
    lists = {}
    for row, aggregate in by_id.values():
        for host in row['hosts']:
            lists.setdefault(host, []).append(aggregate)
    tuples = {}
    return {host: tuples.setdefault(tuple(aggregates), tuple(aggregates))
            for host, aggregates in lists.items()}


def _changed_hosts(old, new):
    return {host for host in old.keys() | new.keys()
            if old.get(host) != new.get(host)}
