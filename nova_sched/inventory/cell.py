"""What one cell's databases held when it was last read, and what differs."""

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
    """What a read of a cell found otherwise than the one before.

    nodes, services: pairs of a row as it was and as it is; None in the place
        of one that was not there, or is not there any more.
    found: the db.changed_rows.Found of both tables; None if it was not read.
    began: seconds since the epoch when the read began.
    located: instance uuid -> host name or None, as of the same transaction, of
        those that were asked for.
    """

    nodes: list
    services: list
    found: tuple | None = None
    began: float = 0.0
    located: dict = dataclasses.field(default_factory=dict)


class CellInventory:
    """The rows of one cell as they were last taken.

    uuid: of the cell.  number: by which its rows are ordered among those of
        other cells.
    """

    def __init__(self, uuid, number):
        self.uuid, self.number = uuid, number
        self._nodes, self._services = KnownRows(), KnownRows()

    def read(self, reader, wanted):
        """Read the cell: ``Changes``.

        reader: db.cell_reader.CellReader.
        wanted: function of the set of names of hosts whose compute nodes
            changed; returns uuids of the instances to look for.

        The next read compares with the same rows until these are taken.
        Raises DatabaseUnavailable.
        """
        began = time.time()
        with reader.transaction() as transaction:
            found = transaction.changes(self._nodes, self._services, began)
            nodes = self._nodes.pairs(found[0])
            uuids = wanted({row[_NODE_HOST] for pair in nodes
                            for row in pair if row is not None} - {None})
            located = dict.fromkeys(uuids)
            if located:
                located = _located(reader, transaction, located)
        services = self._services.pairs(found[1])
        for table, each in zip(('compute_nodes', 'services'), found,
                               strict=True):
            if each.edited:
                LOG.info('%(count)d row(s) of %(table)s had changed without a '
                         'new time stamp or state; the first of them has the '
                         'id %(first)s', {
                             'count': len(each.edited), 'table': table,
                             'first': min(each.edited)})
        _check_named('compute_nodes', nodes, _NODE_HOST)
        _check_named('services', services, _SERVICE_HOST)
        return Changes(nodes, services, found, began, located)

    def lost(self):
        """Return the ``Changes`` of a cell that cannot be read: all its rows.
        """
        return Changes(*([(row.values, None) for row in known.rows.values()]
                         for known in (self._nodes, self._services)))

    def take(self, changes):
        """Have the next read compare with what these were found in."""
        if changes.found is None:
            self._nodes, self._services = KnownRows(), KnownRows()
            return
        for known, found in zip((self._nodes, self._services), changes.found,
                                strict=True):
            known.take(found)


def _located(reader, transaction, uuids):
    """Return dict uuid -> host or None; of a mapped cell empty if that alone
    fails.
    """
    try:
        return uuids | transaction.locate_instances(uuids)
    except exception.StatementFailed as error:
        LOG.debug('Instances in flight are not looked for: %s', error)
        return {}


def _check_named(table, pairs, host):
    """Warn, once, of rows that do not name their host."""
    nameless = [row[_ID] for _, row in pairs
                if row is not None and not isinstance(row[host], str)]
    if nameless:
        _warn_nameless(table, len(nameless), min(nameless))


@functools.lru_cache(maxsize=1024)
def _warn_nameless(table, count, first):
    LOG.warning('%(count)d row(s) of %(table)s are left out, as they have no '
                'host; the first of them has the id %(first)s',
                {'count': count, 'table': table, 'first': first})
