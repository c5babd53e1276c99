"""The rows of one cell's databases and how they change between reads."""

import dataclasses
import functools
import time

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.db.changed_rows import KnownRows
from nova_sched.hosts import columns

LOG = logging.getLogger(__name__)

_ID = 0
_NODE_HOST = columns.COMPUTE_NODE_COLUMNS.index('host')
_SERVICE_HOST = columns.SERVICE_COLUMNS.index('host')


@dataclasses.dataclass(frozen=True)
class Changes:
    """The differences between two reads of a cell.

    nodes, services: pairs (old row, new row); None for the old row of an
        added one and for the new row of a removed one.
    found: tuple of db.changed_rows.Found, for compute_nodes and services; None
        if the cell was not read.
    began: seconds since the epoch when the read began.
    located: instance uuid -> host name, for the instances to locate, read in
        the same transaction; None for an instance without a host, or which is
        not in this cell.
    """

    nodes: list
    services: list
    found: tuple | None = None
    began: float = 0.0
    located: dict = dataclasses.field(default_factory=dict)


class CellInventory:
    """The rows of one cell, as of the last read that was accepted.

    uuid: of the cell.  number: sort key of its rows among the rows of all
        cells.
    """

    def __init__(self, uuid, number):
        self.uuid, self.number = uuid, number
        self._nodes, self._services = KnownRows(), KnownRows()

    def read(self, reader, to_locate):
        """Read the cell and return its ``Changes``.

        reader: db.cell_reader.CellReader.
        to_locate: function of the names of hosts with changed compute nodes,
            a set; returns the uuids of the instances to locate.

        Further reads compare with the same rows until ``accept`` is called.
        Raises DatabaseUnavailable.
        """
        began = time.time()
        with reader.db.reading() as connection:
            found = reader.changes(connection, self._nodes, self._services,
                                   began)
            nodes = self._nodes.pairs(found[0])
            uuids = to_locate({row[_NODE_HOST] for pair in nodes
                               for row in pair if row is not None} - {None})
            located = _located(reader, connection, uuids) if uuids else {}
        services = self._services.pairs(found[1])
        for table, rows in zip(('compute_nodes', 'services'), found,
                               strict=True):
            if rows.edited:
                LOG.info('%d row(s) of %s changed without a new timestamp or '
                         'state; lowest id: %s',
                         len(rows.edited), table, min(rows.edited))
        _check_named('compute_nodes', nodes, _NODE_HOST)
        _check_named('services', services, _SERVICE_HOST)
        return Changes(nodes, services, found, began, located)

    def all_removed(self):
        """Return ``Changes`` that remove all rows: the cell is unreadable."""
        return Changes(*([(row.values, None) for row in known.rows.values()]
                         for known in (self._nodes, self._services)))

    def accept(self, changes):
        """Make these Changes the baseline of the next read."""
        if changes.found is None:
            self._nodes, self._services = KnownRows(), KnownRows()
            return
        for known, rows in zip((self._nodes, self._services), changes.found,
                               strict=True):
            known.take(rows)


def _located(reader, connection, uuids):
    """Return uuid -> host or None, for each instance to locate.

    Empty if this query alone fails; the read of the cell goes on.
    """
    try:
        return dict.fromkeys(uuids) | reader.hosts_of(connection, uuids)
    except exception.StatementFailed as error:
        LOG.debug('Could not look up the hosts of in-flight instances: %s',
                  error)
        return {}


def _check_named(table, pairs, host):
    """Warn once about rows without a host name."""
    nameless = [row[_ID] for _, row in pairs
                if row is not None and not isinstance(row[host], str)]
    if nameless:
        _warn_nameless(table, len(nameless), min(nameless))


@functools.lru_cache(maxsize=1024)
def _warn_nameless(table, count, first):
    LOG.warning('%d row(s) of %s are left out because they have no host; '
                'lowest id: %s', count, table, first)
