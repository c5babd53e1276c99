"""The current host table, kept up to date from the databases.

Each refresh reads the rows anew, but only rows that differ from those read
before are parsed again; the rest of the table is shared between generations.
"""

import collections
import functools
import threading
import time

from oslo_log import log as logging

from nova_sched import objects
from nova_sched.db import reader as db_reader
from nova_sched.hosts import rows as host_rows
from nova_sched.hosts import table as host_table

LOG = logging.getLogger(__name__)

_NODE = {name: i for i, name in enumerate(db_reader.COMPUTE_NODE_COLUMNS)}
_SERVICE = {name: i for i, name in enumerate(db_reader.SERVICE_COLUMNS)}
_Service = collections.namedtuple('_Service', db_reader.SERVICE_COLUMNS)
_NODE_KEY = (_NODE['host'], _NODE['hypervisor_hostname'])

#: Aggregates and cells are reread at least this often, in seconds, whatever
#: the database's change stamp says.
API_INTERVAL = 60.0


class HostCache:
    """Holds the newest ``HostTable`` of the cells it reads.

    reader: a db.reader.HostReader.
    ratios: (cpu, ram, disk) allocation ratios for rows that carry none.
    make_record: what makes a host's record of its row, like
        host_rows.record.
    """

    def __init__(self, reader, ratios, make_record=host_rows.record):
        self._reader, self._ratios = reader, ratios
        self._make_record = make_record
        self._lock = threading.Lock()
        self._started, self._failure = -1.0, None
        self._table = host_table.HostTable.from_records([])
        self._nodes, self._services, self._rows = [], {}, {}
        self._stamp, self._stamp_taken = None, -1.0
        self._aggregates, self._cells = {}, {}

    def refresh(self):
        """The table as of now: read after this call was made.

        Callers that wait at the same time share one read, and its failure.
        Raises DatabaseUnavailable when the database cannot be read.
        """
        called = time.monotonic()
        with self._lock:
            if self._started < called:
                started, self._failure = time.monotonic(), None
                try:
                    self._read()
                except Exception as exc:
                    self._failure = exc
                self._started = started
            if self._failure is not None:
                raise self._failure
            return self._table

    def current(self):
        """The table as last read."""
        return self._table

    def forget_aggregates(self):
        """Have the next refresh read the aggregates again."""
        self._stamp = None

    def _read(self):
        cells = self._reader.read_hosts()
        self._read_api()
        nodes = [(cell.cell.uuid, row) for cell in cells
                 for row in _named('compute_nodes', cell.compute_nodes, _NODE)]
        services = {row[_SERVICE['host']]: row for cell in cells
                    for row in _named('services', cell.services, _SERVICE)}
        changed = self._changed(nodes, services)
        if changed is None:
            self._rebuild(nodes, services)
        else:
            self._patch(nodes, changed)
        if services != self._services:
            self._take_services(services)
        self._nodes, self._services = nodes, services

    def _changed(self, nodes, services):
        """Positions of the nodes that read otherwise than last time.

        None when there are other hosts than last time.
        """
        if (len(nodes) != len(self._nodes)
                or services.keys() != self._services.keys()):
            return None
        changed = [position for position, (new, old) in enumerate(
            zip(nodes, self._nodes, strict=True)) if new != old]
        same = all(nodes[position][1][i] == self._nodes[position][1][i]
                   for position in changed for i in _NODE_KEY)
        return changed if same else None

    def _patch(self, nodes, changed):
        """Replace the rows of the nodes at the changed positions."""
        changes = {}
        for position in changed:
            cell_uuid, node = nodes[position]
            if node[_NODE['host']] not in self._services:
                continue
            row, record = self._rows.get(position), self._record(
                cell_uuid, node)
            if (row is None) != (record is None):
                # The host can no longer be read, or can be read again.
                return self._rebuild(nodes, self._services)
            if record is not None:
                del record['host'], record['nodename']
                changes[row] = record
        self._table = self._table.replaced(changes)

    def _rebuild(self, nodes, services):
        """Make the table anew, sorted by host and node name."""
        named = {}
        for position, (_, row) in enumerate(nodes):
            host, node = (row[i] for i in _NODE_KEY)
            if host in services:
                named[host, node or ''] = position
            else:
                LOG.warning('No compute service record found for host '
                            '%(host)s', {'host': host})
        records, rows = [], {}
        for _, position in sorted(named.items()):
            record = self._record(*nodes[position])
            if record is not None:
                rows[position] = len(records)
                records.append(record)
        hosts = [record['host'] for record in records]
        self._table = host_table.HostTable.from_records(
            records, **self._service_columns(services, hosts),
            service_up=[False] * len(hosts),
            aggregates=[self._aggregates.get(host, ()) for host in hosts])
        self._rows = rows

    def _record(self, cell_uuid, row):
        """A row's record; None, with a warning, if it cannot be made one."""
        row = dict(zip(db_reader.COMPUTE_NODE_COLUMNS, row, strict=True))
        try:
            record = self._make_record(
                row, self._cells.get(row['host'], cell_uuid), self._ratios)
            host_table.check_record(record)
            return record
        except (TypeError, ValueError, OverflowError) as exc:
            LOG.warning('Compute node %(node)s is left out: its row cannot '
                        'be read: %(error)s',
                        {'node': row['hypervisor_hostname'], 'error': exc})
            return None

    def _take_services(self, services):
        self._table = self._table.with_columns(
            **self._service_columns(services, self._hosts()))

    @staticmethod
    def _service_columns(services, hosts):
        rows = [_Service._make(services[host]) for host in hosts]
        seen, created, disabled, down = (_SERVICE[name] for name in (
            'last_seen_up', 'created_at', 'disabled', 'forced_down'))
        return {
            'service': rows,
            'service_disabled': [bool(row[disabled]) for row in rows],
            'service_forced_down': [bool(row[down]) for row in rows],
            'service_last_seen': [
                host_rows.seconds(row[seen] or row[created]) for row in rows]}

    def _read_api(self):
        """Reread aggregates and cells if they changed, or at an interval."""
        stamp, now = self._reader.api_stamp(), time.monotonic()
        if stamp == self._stamp and now - self._stamp_taken < API_INTERVAL:
            return
        self._aggregates = _by_host(self._reader.aggregates())
        cells = self._reader.host_cells()
        if cells != self._cells:
            # Have the hosts made anew, in their cells.
            self._cells, self._nodes = cells, []
        self._stamp, self._stamp_taken = stamp, now
        self._table = self._table.with_columns(aggregates=[
            self._aggregates.get(host, ()) for host in self._hosts()])

    def _hosts(self):
        column = self._table.columns['host']
        return [column.values[code] for code in column.codes.tolist()]


def _named(table, rows, columns):
    """The rows that name their host; a warning tells, once, of others."""
    host, id_ = columns['host'], columns['id']
    nameless = [row[id_] for row in rows if row[host] is None]
    if not nameless:
        return rows
    _warn_nameless(table, len(nameless), nameless[0])
    return [row for row in rows if row[host] is not None]


@functools.lru_cache(maxsize=1024)
def _warn_nameless(table, count, first):
    LOG.warning('%(count)d row(s) of %(table)s are left out, as they have no '
                'host; the first of them has the id %(first)s',
                {'count': count, 'table': table, 'first': first})


def _by_host(rows):
    """host -> tuple of its aggregates; equal sets are the same tuple."""
    found = {}
    for row in rows:
        try:
            aggregate = objects.Aggregate(**{
                name: value for name, value in row.items()
                if value is not None})
        except ValueError as exc:
            LOG.warning('Aggregate %(id)s is left out: %(error)s',
                        {'id': row['id'], 'error': exc})
            continue
        for host in row['hosts']:
            found.setdefault(host, []).append(aggregate)
    tuples = {}
    return {host: tuples.setdefault(tuple(aggregates), tuple(aggregates))
            for host, aggregates in found.items()}
