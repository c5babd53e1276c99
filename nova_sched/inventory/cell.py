"""What one cell's databases held when it was last read, and what differs."""

import dataclasses
import functools
import time

from oslo_log import log as logging

from nova_sched.db import engine
from nova_sched.hosts import columns

LOG = logging.getLogger(__name__)

_ID = 0
_NODE_HOST = columns.COMPUTE_NODE_COLUMNS.index('host')
_SERVICE_HOST = columns.SERVICE_COLUMNS.index('host')


@dataclasses.dataclass(frozen=True)
class Changes:
    """What a read of a cell found otherwise than the one before.

    nodes, services: pairs of a row as it was and as it is; None in the place
        of one that was not there, or is not there any more.
    rows: all that was read, a db.cell_reader.CellRows.
    began: seconds since the epoch when the read began.
    located: instance uuid -> host name or None, as of the same transaction, of
        those that were asked for.
    """

    nodes: list
    services: list
    rows: object = None
    began: float = 0.0
    located: dict = dataclasses.field(default_factory=dict)


class CellInventory:
    """The rows of one cell as they were last taken.

    uuid: of the cell.  number: by which its rows are ordered among those of
        other cells.
    """

    def __init__(self, uuid, number):
        self.uuid, self.number = uuid, number
        self._nodes, self._services = [], []

    def read(self, reader, wanted):
        """Read the cell in one transaction: ``Changes``.

        reader: db.cell_reader.CellReader.
        wanted: function of the set of names of hosts whose compute nodes
            changed; returns uuids of the instances to look for.

        The next read compares with the same rows until these are taken.
        Raises DatabaseUnavailable.
        """
        began = time.time()
        with reader.transaction() as transaction:
            rows = transaction.rows()
            nodes = differences(self._nodes, rows.compute_nodes)
            uuids = wanted({row[_NODE_HOST] for pair in nodes
                            for row in pair if row is not None} - {None})
            located = dict.fromkeys(uuids)
            if located:
                located = _located(reader, transaction, located)
        services = differences(self._services, rows.services)
        if nodes:
            _check_named('compute_nodes', rows.compute_nodes, _NODE_HOST)
        if services:
            _check_named('services', rows.services, _SERVICE_HOST)
        return Changes(nodes, services, rows, began, located)

    def lost(self):
        """Return the ``Changes`` of a cell that cannot be read: all its rows.
        """
        return Changes([(row, None) for row in self._nodes],
                       [(row, None) for row in self._services])

    def take(self, changes):
        """Have the next read compare with what these were found in."""
        rows = changes.rows
        self._nodes, self._services = (
            ([], []) if rows is None else (rows.compute_nodes, rows.services))


def _located(reader, transaction, uuids):
    """Return dict uuid -> host or None; of a mapped cell empty if that alone
    fails.
    """
    try:
        return uuids | transaction.locate_instances(uuids)
    except engine.StatementFailed as error:
        LOG.debug('Instances in flight are not looked for: %s', error)
        return {}


def differences(old, new):
    """Return what differs between lists of rows, of which each begins with its
    id.

    Returns pairs (old row, new row) with None for what is not there.  Rows
    that are the same object are not looked into.
    """
    if len(old) == len(new):
        pairs = [(before, after) for before, after
                 in zip(old, new, strict=True)
                 if before is not after and before != after]
        if all(before[_ID] == after[_ID] for before, after in pairs):
            return pairs
    before = {row[_ID]: row for row in old}
    after = {row[_ID]: row for row in new}
    return [(before.get(id_), after.get(id_))
            for id_ in dict.fromkeys([*before, *after])
            if before.get(id_) != after.get(id_)]


def _check_named(table, rows, host):
    """Warn, once, of rows that do not name their host."""
    nameless = [row[_ID] for row in rows if not isinstance(row[host], str)]
    if nameless:
        _warn_nameless(table, len(nameless), nameless[0])


@functools.lru_cache(maxsize=1024)
def _warn_nameless(table, count, first):
    LOG.warning('%(count)d row(s) of %(table)s are left out, as they have no '
                'host; the first of them has the id %(first)s',
                {'count': count, 'table': table, 'first': first})
