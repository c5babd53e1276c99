"""The decisions that the schedulers of a machine have made, in a file.

It is an SQLite file in ``[DEFAULT] state_path``.  All workers write it, and
any process may read it at the same time.  Its size and the age of decisions
are bounded: the oldest decisions are removed.  The file name has the version
of the tables, so services of two releases can share a directory.
"""

import contextlib
import json
import math
import os
import pathlib
import sqlite3
import typing
import zlib

from oslo_log import log as logging
import sqlalchemy as sa

from nova_sched import exception
from nova_sched.db import engine as db_engine
from nova_sched.observe import decision_document
from nova_sched.observe import decision_tables as tables
from nova_sched.observe import decision_view
from nova_sched.observe import past_decision
from nova_sched.observe import state_store
from nova_sched.observe import store_file

LOG = logging.getLogger(__name__)

#: Version of the tables, and part of the file name.
VERSION = 4
_NAME = 'nova_sched_decisions_{}.sqlite'

#: Most bytes of a store in memory, where no file can be written.
IN_MEMORY = 32 << 20

#: Characters of a reason in a list, and of other texts.
_REASON, _LONGEST = 1000, 255
#: Most decisions of a batch, and most bytes: reading one unpacks the batch.
MOST_OF_BATCH, BATCH_BYTES = 100, 1 << 20
#: Seconds to wait for another worker that writes.
_LOCK_TIMEOUT = '5'
#: Most bytes of SQLite's write-ahead log, which grows while a process reads.
MOST_LOG = 16 << 20
#: Pragmas that move that log into the file, without waiting for readers.
_CHECKPOINT = ('busy_timeout = 0', 'wal_checkpoint(TRUNCATE)',
            f'busy_timeout = {_LOCK_TIMEOUT}000')


class Summary(typing.NamedTuple):
    """A decision in a list.

    number: of the decision in the store.  arrived: seconds since the epoch.
    service: name of the host whose service decided.
    hosts: hosts of its first instances: tuple.
    reason: why the request was not placed, cut; None if it was.
    code, kind: of the refusal, see rules.codes; None if it was placed.
    """

    number: int
    request_id: str | None
    arrived: float
    outcome: str
    instances: int
    service: str
    hosts: tuple
    reason: str | None
    code: str | None
    kind: str | None

    @classmethod
    def of(cls, fields):
        """Return the summary in a dict; missing fields are None."""
        return cls(*map(fields.get, cls._fields))


def path(conf):
    """Return the path of the file: pathlib.Path."""
    return pathlib.Path(conf.state_path, _NAME.format(VERSION))


class DecisionStore:
    """A database of decisions, of one process.

    database: db.engine.Database of an SQLite.
    service: name of the host that is stored with each decision.
    most_bytes: upper bound of the size, whatever ``make_room`` allows.
    """

    def __init__(self, database, service=None, most_bytes=math.inf):
        self._database, self._service = database, service
        self._most_bytes = most_bytes
        self._states = state_store.StateWriter()
        self._file = store_file.StoreFile(database.url.database)

    @classmethod
    def in_file(cls, conf):
        """Return the store to write to, and make its file if there is none.

        A damaged file is replaced, see ``repaired``.
        Raises OSError and DatabaseUnavailable if it cannot be written.
        """
        store = cls(_database(path(conf)), conf.host)
        store.repaired(store._begin)
        return store

    @classmethod
    def in_memory(cls, conf):
        """Return a store in memory, for this process only."""
        store = cls(db_engine.Database('sqlite://'), conf.host, IN_MEMORY)
        store._create()
        return store

    @classmethod
    def to_read(cls, conf):
        """Return the existing store.  Raises InvalidInput if there is none."""
        where = path(conf)
        if not where.exists():
            raise exception.InvalidInput(reason=(
                f'there is no {where}: has the scheduler of this machine '
                'decided anything yet, and is [DEFAULT] state_path its own?'
                + ''.join(f' {other} is of another release.' for other
                          in sorted(where.parent.glob(_NAME.format('*'))))))
        return cls(_database(where))

    def close(self):
        """Close the file."""
        self._database.close()

    def repaired(self, act):
        """Call a function; if the file is damaged, replace it and try again.

        Raises the errors of the function and of ``in_file``.
        """
        try:
            return act()
        except exception.DatabaseUnavailable as error:
            if not store_file.is_damaged(error):
                raise
            self.replace_file(error)
        return act()

    def replace_file(self, damage):
        """Write to a new file from now on, instead of a damaged one.

        The damaged file is moved aside, unless another worker has done so.
        damage: the error by which the damage was found.
        Raises the errors of ``in_file``.
        """
        self.close()
        self._states.forget()
        self._file.move_aside(damage)
        self._begin()

    def _begin(self):
        """Make the file and its tables, as far as they are missing."""
        self._file.make()
        self._create()

    def _create(self):
        with self._database.reading() as connection:
            present = sa.inspect(connection).get_table_names()
        if set(tables.metadata.tables) <= set(present):
            return    # without waiting for writers
        self._pragmas('auto_vacuum = INCREMENTAL', 'journal_mode = WAL')
        with self._database.writing() as connection:
            tables.metadata.create_all(connection)

    def add(self, records):
        """Store closed Decisions, a list.  Raises DatabaseUnavailable."""
        entries = []
        for record in records:
            try:
                entries.append(self._entry(record))
            except Exception:
                # Store the other records all the same.
                LOG.exception('The decision on request %s is not stored',
                              record.request_id)
        try:
            # Try again if another worker has removed rows that these refer to.
            while entries and not self._insert(entries):
                self._states.forget()
        except BaseException:
            # The transaction was rolled back.
            self._states.forget()
            raise

    def _insert(self, entries):
        """Insert a list of results of ``_entry``.

        Returns whether all rows that they refer to exist.
        """
        batches = self._in_batches(entries)
        # Compress before the transaction, which blocks other writers.
        self._states.pack()
        for row, members in batches:
            row['pieces'] = zlib.compress(b''.join(
                piece for *_, piece in members), 3)
        with self._database.writing() as connection:
            if not self._states.are_stored(connection, {
                    row['base_id'] for row, _ in batches} - {None}):
                return False
            self._states.write(connection)
            self._insert_rows(connection, batches)
        return True

    def _in_batches(self, entries):
        """Return batches of entries with the same base: list.

        Each is a row, a dict, and its entries.  Entries without a base fit
        into any batch.
        """
        batches, size, base_id = [], 0, None
        for member in entries:
            table, row, _, piece = member
            if table is not None:
                base_id, row['state'] = self._states.state_of(table)
            shared = {'base_id': base_id}
            if (not batches or batches[-1][0] != shared
                    or len(batches[-1][1]) == MOST_OF_BATCH
                    or size + len(piece) > BATCH_BYTES):
                batches.append((shared, []))
                size = 0
            batches[-1][1].append(member)
            row['start'] = size
            size += len(piece)
        return batches

    @staticmethod
    def _insert_rows(connection, batches):
        """Insert batches: pairs of a row and its entries."""
        number = connection.exec_driver_sql(
            'SELECT seq FROM sqlite_sequence WHERE name = ?',
            (tables.decisions.name,)).scalar() or 0
        decision_rows, instance_rows = [], []
        for batch, entries in batches:
            batch['first'] = number + 1
            for _, row, instances, _ in entries:
                number += 1
                decision_rows.append({'id': number} | row)
                instance_rows += [
                    {'decision_id': number, 'place': place, 'uuid': uuid,
                     'host': host}
                    for place, (uuid, host) in enumerate(instances)]
            batch['last'] = number
        tables.insert_all(connection, tables.batches,
                          [row for row, _ in batches])
        tables.insert_all(connection, tables.decisions, decision_rows)
        tables.insert_all(connection, tables.instances, instance_rows)

    def _entry(self, record):
        """Return the stored form of a Decision: (HostTable, row, instances,
        piece).

        row: dict.  instances: (uuid, host) of each.
        piece: a line of JSON, and the arrays behind it, bytes.
        """
        record.pack()
        view = decision_view.DecisionView.of(record)
        fields = view.fields | {'service': self._service,
                                'worker': os.getpid()}
        uuids, picks = fields['instance_uuids'], fields['picks']
        inputs = (None if record.state.table is None
                  else decision_document.inputs(record))
        row = {name: fields[name] for name in Summary._fields
               if name in fields} | {
            'request_id': _text(fields['request_id']), 'state': None,
            'reason': _text(fields['reason'], _REASON)}
        return record.state.table, row, [
            (_text(uuid), _text(host)) for uuid, host, *_ in picks] or [
            (_text(uuid), None) for uuid in uuids], b'[%s,%s]\n%s' % (
                json.dumps([fields, inputs]).encode(),
                decision_document.request(record), view.packed())

    def make_room(self, earliest, most_bytes):
        """Remove decisions that are too old, and the oldest if there are too
        many.

        earliest: decisions that arrived before are removed, seconds since the
            epoch.
        most_bytes: how large the database may be, about.
        Raises DatabaseUnavailable.
        """
        most_bytes = min(most_bytes, self._most_bytes)
        with self._database.writing() as connection:
            removed = tables.remove(
                connection, tables.decisions.c.arrived < earliest)
            if removed:
                tables.remove_unused(connection)
            while self._used(connection) > most_bytes:
                # Decisions without their hosts' state are of more use than no
                # decisions.
                if not (state_store.forget_oldest(connection)
                        or tables.remove_oldest(connection)):
                    break
                removed = True
        if removed:
            self._pragmas('incremental_vacuum', *_CHECKPOINT)

    def bound_log(self, most_bytes):
        """Move SQLite's write-ahead log into the file when it has grown.

        It cannot be moved while a process reads the file.
        most_bytes: how large the log may be, up to MOST_LOG.
        Raises DatabaseUnavailable if it is larger.
        """
        most_bytes = min(most_bytes, MOST_LOG)
        if self._file.log_bytes() > most_bytes / 2:
            self._pragmas(*_CHECKPOINT)
        if self._file.log_bytes() > most_bytes:
            raise exception.DatabaseUnavailable(
                f'Database {self._database.masked}: a process has been '
                "reading it for so long that SQLite's write-ahead log is "
                f'full; "fuser -v {self._file.path}" names the process: end '
                'it')

    def _pragmas(self, *pragmas):
        """Run pragmas, which SQLite does outside of transactions only."""
        try:
            with contextlib.closing(
                    self._database.engine.raw_connection()) as connection:
                # execute() would run only the first step of
                # incremental_vacuum.
                connection.dbapi_connection.executescript(';'.join(
                    f'PRAGMA {pragma}' for pragma in pragmas))
        except sqlite3.Error as error:
            raise exception.DatabaseUnavailable(
                f'Database {self._database.masked}: {error}') from error

    @staticmethod
    def _used(connection):
        """Return how many bytes of the database are in use."""
        count, free, size = (
            connection.exec_driver_sql(f'PRAGMA {name}').scalar()
            for name in ('page_count', 'freelist_count', 'page_size'))
        return (count - free) * size

    def summaries(self, most, outcome=None, host=None, since=None, code=None,
                  kind=None):
        """Return the newest decisions, the newest first: list of Summary.

        most: how many.
        outcome, code, kind: of the decisions; None for any.
        host: of one of their instances.
        since: earliest arrival, seconds since the epoch.
        Raises DatabaseUnavailable.
        """
        columns = tables.decisions.c
        statement = sa.select(columns.id.label('number'), *(
            columns[name] for name in Summary._fields if name in columns)
        ).order_by(columns.arrived.desc(), columns.id.desc()).limit(most)
        for name, value in (('outcome', outcome), ('code', code),
                            ('kind', kind)):
            if value is not None:
                statement = statement.where(columns[name] == _text(value))
        if since is not None:
            statement = statement.where(columns.arrived >= since)
        if host is not None:
            statement = statement.where(columns.id.in_(
                sa.select(tables.instances.c.decision_id).where(
                    tables.instances.c.host == _text(host))))
        with self._database.reading() as connection:
            rows = connection.execute(statement).all()
            return [Summary(hosts=tables.first_hosts(connection, row.number),
                            **row._mapping) for row in rows]

    def numbers(self, key):
        """Return the numbers of the decisions by a key, the newest last: list.

        key: the number of a decision, the id of a request or the uuid of an
            instance.
        Raises InvalidInput if there is none, and DatabaseUnavailable.
        """
        columns, key = tables.decisions.c, _text(key)
        condition = sa.or_(columns.request_id == key, columns.id.in_(
            sa.select(tables.instances.c.decision_id).where(
                tables.instances.c.uuid == key)))
        if key.isascii() and key.isdecimal() and len(key) < 19:
            condition = sa.or_(condition, columns.id == int(key))
        with self._database.reading() as connection:
            numbers = connection.execute(
                sa.select(columns.id).where(condition).order_by(
                    columns.arrived, columns.id)).scalars().all()
        if not numbers:
            raise exception.InvalidInput(reason=(
                f'no decision {key:.80} is stored: give the number of a '
                'decision, the id of a request or the uuid of an instance; '
                '"nova-sched-manage decision list" lists the decisions'))
        return list(numbers)

    def document(self, number, every=False):
        """Return a decision as plain JSON, see decision_document: dict.

        every: whether to name all hosts.
        Raises InvalidInput and DatabaseUnavailable.
        """
        with self._database.reading() as connection:
            row = tables.row_of(connection, number)
        if row is None:
            raise exception.InvalidInput(
                reason=f'decision {number} is not stored any more')
        view, _, request = _view(row)
        return {'number': number} | decision_document.document(view, every) | {
            'request': request, 'asked': past_decision.requested(request)}

    def past(self, number):
        """Return a decision with its inputs: past_decision.PastDecision.

        Raises InvalidInput if they are not stored, and DatabaseUnavailable.
        """
        with self._database.reading() as connection:
            row = tables.row_of(connection, number)
            table = row and row.state is not None and state_store.read(
                connection, row.base_id, row.state)
        if not table:
            raise exception.InvalidInput(reason=(
                f'the hosts of decision {number} are not stored: they were '
                'removed to make room, or it was refused without looking at '
                'hosts; see "decision show", and "request plan" for a '
                'decision on the present hosts'))
        view, inputs, request = _view(row)
        return past_decision.PastDecision(view, request, table, inputs)


def _database(where):
    url = sa.URL.create('sqlite', database=str(where),
                        query={'timeout': _LOCK_TIMEOUT})
    return db_engine.Database(url)


def _text(value, longest=_LONGEST):
    """Return a text that a database accepts, cut; None for None."""
    return value and value[:longest].encode(errors='replace').decode()


def _parsed(data):
    # NaN and infinities are texts.
    return json.loads(data, parse_constant=str)


def _view(row):
    """Return the DecisionView of a row, its other inputs, and its call.

    row: of ``decision_tables.row_of``.
    """
    line, arrays = zlib.decompress(row.pieces)[row.start:].split(b'\n', 1)
    (fields, inputs), request = _parsed(line)
    names = _parsed(zlib.decompress(row.names)) if row.names else []
    return decision_view.DecisionView.unpacked(
        fields, arrays, names), inputs, request


def newest(store, key, every=False):
    """Return the newest decision of a DecisionStore by a key: dict.

    ``others`` are the numbers of the other decisions by that key, a list.
    For arguments and errors see the methods of DecisionStore.
    """
    *others, number = store.numbers(key)
    return store.document(number, every) | {'others': others}


def opened(conf):
    """Open the existing store, to read: a context."""
    return contextlib.closing(DecisionStore.to_read(conf))
