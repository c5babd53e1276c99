"""What the API database told of hosts when it was last read."""

import dataclasses
import time

from oslo_log import log as logging

from nova_sched import objects

LOG = logging.getLogger(__name__)

#: Aggregates and cells are reread at least this often, in seconds, whatever
#: the database's change stamp says.
INTERVAL = 60.0


@dataclasses.dataclass(frozen=True)
class Mapped:
    """The aggregates and cells of hosts.

    aggregates: host -> tuple of its Aggregate objects.
    cells: host -> uuid of its cell.
    other_aggregates, other_cells: the hosts of which that has changed.
    known: Aggregate and row by id; stamp, at: see ApiInventory.
    """

    aggregates: dict
    cells: dict
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
        self._reader, self._taken = reader, Mapped({}, {})
        self._asked = object()

    def forget(self):
        """Have the next read that begins after this look at all of it."""
        self._asked = object()

    def read(self):
        """``Mapped`` as of now; reread if it changed, or at an interval."""
        # First, so that what is forgotten meanwhile is read the next time.
        asked = self._asked
        stamp, now = (asked, self._reader.api_stamp()), time.monotonic()
        last = self._taken
        if stamp == last.stamp and now - last.at < INTERVAL:
            return dataclasses.replace(
                last, other_aggregates=frozenset(), other_cells=frozenset())
        known = _made(self._reader.aggregates(), last.known)
        aggregates, cells = _by_host(known), self._reader.host_cells()
        return Mapped(
            aggregates, cells, _different(last.aggregates, aggregates),
            _different(last.cells, cells), known, stamp, now)

    def take(self, mapped):
        """Have the next read compare with this one."""
        self._taken = mapped


def _made(rows, known):
    """id -> (row, Aggregate), with the old object of a row that is equal."""
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
    """host -> tuple of its aggregates; equal sets are the same tuple."""
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
