"""What the API database told of hosts when it was last read."""

import dataclasses
import threading
import time

from oslo_log import log as logging

from nova_sched import exception
from nova_sched import objects
from nova_sched.db.cells import SINGLE_CELL_UUID

LOG = logging.getLogger(__name__)

#: Aggregates and cells are reread at least this often, in seconds, whatever
#: the database's change stamp says.
INTERVAL = 60.0


@dataclasses.dataclass(frozen=True)
class Mapped:
    """The aggregates and cells of hosts.

    aggregates: host -> tuple of its Aggregate objects.
    cells: the cells there are: tuple of db.cells.Cell; None before any read.
    cell_of: host -> uuid of its cell, where one database holds all cells.
    host_cells: host -> uuid of the cell that its mapping leads to; None in a
        cloud without mappings. The same dict until one changes.
    disabled: uuids of the cells that take no new servers.
    other_aggregates, other_cells: the hosts of which that has changed.
    known: Aggregate and row by id; stamp, at: see ApiInventory.
    """

    aggregates: dict
    cells: tuple | None = None
    cell_of: dict = dataclasses.field(default_factory=dict)
    host_cells: dict | None = None
    disabled: frozenset = frozenset()
    other_aggregates: set = frozenset()
    other_cells: set = frozenset()
    known: dict = dataclasses.field(default_factory=dict)
    stamp: object = None
    at: float = -1.0


class ApiInventory:
    """The aggregates and cells of hosts as they were last taken.

    reader: db.reader.HostReader.
    """

    def __init__(self, reader):
        self._reader, self._taken = reader, Mapped({})
        self._asked, self._lock = object(), threading.Lock()

    def forget(self):
        """Have the next read that begins after this look at all of it."""
        self._asked = object()

    def read(self, stamp=None):
        """Return ``Mapped`` as of now; reread if it changed, or at an
        interval.

        stamp: as of HostReader.begin_api_stamp, where that has begun.

        While an API database of its own cannot be read, what was last taken
        goes on.  Raises DatabaseUnavailable if nothing was, and if it is the
        database of the hosts, too.
        """
        try:
            return self._read(stamp or self._reader.api_stamp)
        except exception.DatabaseUnavailable as error:
            if self._taken.cells is None or not self._reader.has_api_database:
                raise
            LOG.debug('Aggregates and cells are those of before: %s', error)
            return dataclasses.replace(
                self._taken, other_aggregates=frozenset(),
                other_cells=frozenset())

    def _read(self, stamp):
        # First, so that what is forgotten meanwhile is read the next time.
        asked = self._asked
        stamp, now = (asked, stamp()), time.monotonic()
        last = self._taken
        if stamp == last.stamp and now - last.at < INTERVAL:
            return dataclasses.replace(
                last, other_aggregates=frozenset(), other_cells=frozenset())
        known = _made(self._reader.aggregates(), last.known)
        aggregates, cells = _by_host(known), self._reader.find_cells()
        if cells != last.cells:
            LOG.debug('Found %(count)i cells: %(cells)s', {
                'count': len(cells), 'cells': ', '.join(map(str, cells))})
        # Elsewhere a host is in the cell whose database it is read from.
        cell_of, disabled = {}, {cell.uuid for cell in cells if cell.disabled}
        host_cells = self._reader.host_cells()
        if [cell.uuid for cell in cells] == [SINGLE_CELL_UUID]:
            cell_of, host_cells = host_cells, host_cells or None
            disabled = self._reader.disabled_cells()
        if host_cells == last.host_cells:
            host_cells = last.host_cells
        return Mapped(
            aggregates, cells, cell_of, host_cells, frozenset(disabled),
            _different(last.aggregates, aggregates),
            _different(last.cell_of, cell_of), known, stamp, now)

    def all(self):
        """Return all aggregates as of now, by id: list of Aggregate.

        Raises as ``read``.
        """
        with self._lock:
            mapped = self.read()
            self.take(mapped)
        return [aggregate for _, aggregate in mapped.known.values()]

    def take(self, mapped):
        """Have the next read compare with this one."""
        self._taken = mapped


def _made(rows, known):
    """Return id -> (row, Aggregate), with the old object of a row that is
    equal.
    """
    made = {}
    for row in rows:
        old = known.get(row['id'])
        if old is not None and old[0] == row:
            made[row['id']] = old
            continue
        try:
            made[row['id']] = row, objects.Aggregate(**{
                name: value for name, value in row.items()
                if value is not None})
        except ValueError as exc:
            LOG.warning('Aggregate %(id)s is left out: %(error)s',
                        {'id': row['id'], 'error': exc})
    return made


def _by_host(known):
    """Return host -> tuple of its aggregates; equal sets are the same tuple.
    """
    found = {}
    for row, aggregate in known.values():
        for host in row['hosts']:
            found.setdefault(host, []).append(aggregate)
    tuples = {}
    return {host: tuples.setdefault(tuple(aggregates), tuple(aggregates))
            for host, aggregates in found.items()}


def _different(old, new):
    return {host for host in old.keys() | new.keys()
            if old.get(host) != new.get(host)}
