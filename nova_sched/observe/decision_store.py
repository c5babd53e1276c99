"""The decisions that the schedulers of a machine have made, in a file.

It is a file of SQLite in ``[DEFAULT] state_path``, which all workers write and
anybody may read meanwhile.  It is bounded in time and size: the oldest
decisions make room.  Its name has the version of its tables, so that services
of two releases that share a directory do not misread each other.
"""

import contextlib
import dataclasses
import hashlib
import json
import math
import os
import pathlib
import sqlite3
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

#: Of the tables; with another one the file has another name.
VERSION = 3
_NAME = 'nova_sched_decisions_{}.sqlite'

#: Bytes that are kept in memory where no file can be written.
IN_MEMORY = 32 << 20

#: Characters of a reason in a list, and of other texts.
_REASON, _LONGEST = 1000, 255
#: Decisions of a batch, and their bytes, at most: who reads one unpacks all.
MOST_OF_BATCH, BATCH_BYTES = 100, 1 << 20
#: Seconds that one waits for another worker that writes.
_PATIENCE = '5'
#: Bytes of SQLite's log beside the file, at most, while somebody reads.
MOST_LOG = 16 << 20
#: What takes that log in, and waits for nobody.
_TAKE_IN = ('busy_timeout = 0', 'wal_checkpoint(TRUNCATE)',
            f'busy_timeout = {_PATIENCE}000')

@dataclasses.dataclass(frozen=True)
class Summary:
    """A decision in a list.

    number: by which it is shown.  arrived: seconds since the epoch.
    service: name of the host whose service has decided.
    hosts: names of the hosts of its first instances: tuple.
    reason: why nothing was placed, cut; None for what was.
    code, kind: of rules.codes, of what was not placed.
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
    def of(cls, found):
        """Return one of a dict; what that does not have is None."""
        return cls(**{field.name: found.get(field.name)
                      for field in dataclasses.fields(cls)})


def path(conf):
    """Return the path of the file: pathlib.Path."""
    return pathlib.Path(conf.state_path, _NAME.format(VERSION))


def others(conf):
    """Return the paths of files of other versions beside it: list."""
    found = pathlib.Path(conf.state_path).glob(_NAME.format('*'))
    return sorted(set(found) - {path(conf)})


class DecisionStore:
    """Decisions in a database, of one process.

    database: db.engine.Database of an SQLite.
    service: name of the host that what is added is of.
    most_bytes: how large the database may become at most, whatever is said.
    """

    def __init__(self, database, service=None, most_bytes=math.inf):
        self._database, self._service = database, service
        self._most_bytes = most_bytes
        # Columns of names as the last record had them -> their id.
        self._last_names = (), None
        self._states = state_store.StateWriter()
        self._file = store_file.StoreFile(database.url.database)

    @classmethod
    def in_file(cls, conf):
        """Return the store to write to, in a file that is there then.

        A new one if it is damaged, as of ``begin_anew``.
        Raises OSError and DatabaseUnavailable where it cannot be written.
        """
        store, damage = cls(_database(path(conf)), conf.host), None
        try:
            store._begin()
        except exception.DatabaseUnavailable as error:
            if not store_file.is_damaged(error):
                raise
            damage = error
        if damage is not None:
            store.begin_anew(damage)
        return store

    @classmethod
    def in_memory(cls, conf):
        """Return a store that this process alone knows."""
        store = cls(db_engine.Database('sqlite://'), conf.host, IN_MEMORY)
        store._create()
        return store

    @classmethod
    def to_read(cls, conf):
        """Return the store that is there.  Raises InvalidInput without one."""
        where = path(conf)
        if not where.exists():
            raise exception.InvalidInput(reason=(
                f'there is no {where}: has the scheduler of this machine '
                'decided anything yet, and is [DEFAULT] state_path its own?'
                + ''.join(f' {other} is of another release.'
                          for other in others(conf))))
        return cls(_database(where))

    def close(self):
        """Let go of the file."""
        self._database.close()

    def begin_anew(self, damage):
        """Write to a new file from now on.

        The other one is moved aside, unless another worker has done so.
        damage: the error that says it is damaged.
        Raises as ``in_file`` does.
        """
        self.close()
        self._forget_written()
        self._file.move_aside(damage)
        self._begin()

    def _begin(self):
        """Have the file there, with its tables."""
        self._file.make()
        self._create()

    def _create(self):
        with self._database.reading() as connection:
            present = sa.inspect(connection).get_table_names()
        if set(tables.metadata.tables) <= set(present):
            return    # and waits for nobody who writes
        self._pragmas('auto_vacuum = INCREMENTAL', 'journal_mode = WAL')
        with self._database.writing() as connection:
            tables.metadata.create_all(connection)

    def add(self, records):
        """Keep closed Decisions, a list.  Raises DatabaseUnavailable."""
        entries = []
        for record in records:
            try:
                entries.append(self._entry(record))
            except Exception:
                # The others are to be kept all the same.
                LOG.exception('The record of request %s is not kept',
                              record.request_id)
        try:
            # Once more if another worker has made room in between.
            while entries and not self._insert(entries):
                self._forget_written()
        except BaseException:
            # Nothing of it is there.
            self._forget_written()
            raise

    def _forget_written(self):
        self._last_names = (), None
        self._states.forget()

    def _insert(self, entries):
        """Insert what ``_entry`` has returned, a list.

        Returns whether all that it builds on is there.
        """
        names = {}
        batches = self._in_batches(entries, names)
        # What takes long, before anybody is kept from writing.
        self._states.pack()
        for row, of_batch in batches:
            row['pieces'] = _compressed(b''.join(
                piece for *_, piece in of_batch))
        with self._database.writing() as connection:
            if not self._is_kept(connection, batches, names):
                return False
            if names:
                connection.execute(tables.INSERT_NAMES, [
                    {'id': number, 'names': text}
                    for number, text in names.items()])
            self._states.write(connection)
            self._insert_rows(connection, batches)
        return True

    def _in_batches(self, entries, names):
        """Return batches of entries with the same names and base: list.

        Each is a row, a dict, and its entries; those without names or a base
        go with any.  names: as of ``_names_id``.
        """
        batches, size, names_id, base_id = [], 0, None, None
        for entry in entries:
            state, row, _, piece = entry
            names_id = self._names_id(state.names, names) or names_id
            if state.table is not None:
                base_id, row['state'] = self._states.state_of(state.table)
            shared = {'host_names_id': names_id, 'base_id': base_id}
            if (not batches or batches[-1][0] != shared
                    or len(batches[-1][1]) == MOST_OF_BATCH
                    or size + len(piece) > BATCH_BYTES):
                batches.append((shared, []))
                size = 0
            batches[-1][1].append(entry)
            row['start'] = size
            size += len(piece)
        return batches

    def _is_kept(self, connection, batches, names):
        """Return whether what was written before, and is used, is there.

        names: id -> names of hosts that are to be written.
        """
        used = {row['host_names_id'] for row, _ in batches
                } - names.keys() - {None}
        found = connection.execute(sa.select(tables.host_names.c.id).where(
            tables.host_names.c.id.in_(used))).scalars().all() if used else ()
        return used <= {*found} and self._states.are_kept(
            connection, {row['base_id'] for row, _ in batches} - {None})

    @staticmethod
    def _insert_rows(connection, batches):
        """Insert pairs of a batch's row and its entries."""
        number = connection.exec_driver_sql(
            'SELECT seq FROM sqlite_sequence WHERE name = ?',
            (tables.decisions.name,)).scalar() or 0
        of_decisions, of_instances = [], []
        for batch, entries in batches:
            batch['first'] = number + 1
            for _, row, instances, _ in entries:
                number += 1
                of_decisions.append({'id': number} | row)
                of_instances += [
                    {'decision_id': number, 'place': place, 'uuid': uuid,
                     'host': host}
                    for place, (uuid, host) in enumerate(instances)]
            batch['last'] = number
        tables.insert_all(connection, tables.batches,
                          [row for row, _ in batches])
        tables.insert_all(connection, tables.decisions, of_decisions)
        tables.insert_all(connection, tables.instances, of_instances)

    def _entry(self, record):
        """Return what is kept of a Decision: (State, row, instances, piece).

        row: dict.  instances: (uuid, host) of each.
        piece: a line of JSON, and the arrays behind it, octets.
        """
        record.pack()
        view = decision_view.DecisionView.of(record)
        fields = view.fields | {'service': self._service,
                                'worker': os.getpid()}
        uuids, picks = fields['instance_uuids'], fields['picks']
        rests_on = (None if record.state.table is None
                    else decision_document.rests_on(record))
        return record.state, {
            'request_id': _text(record.request_id),
            'arrived': record.arrived, 'outcome': record.outcome,
            'instances': record.instances,
            'reason': _text(record.reason, _REASON),
            'code': record.refusal.code, 'kind': record.refusal.kind,
            'service': self._service, 'state': None,
        }, [(_text(uuid), _text(host)) for uuid, host, *_ in picks] or [
            (_text(uuid), None) for uuid in uuids], b'[%s,%s]\n%s' % (
                json.dumps([fields, rests_on]).encode(),
                decision_document.request(record), view.packed())

    def _names_id(self, columns, new):
        """Return the id of these names of hosts; None of none.

        new: id -> names, to which those are added that are not written yet.
        """
        if not columns:
            return None
        last, number = self._last_names
        if [*map(id, columns)] != [*map(id, last)] or number is None:
            text = _compressed(json.dumps(
                decision_document.host_names(columns)).encode())
            number = int.from_bytes(hashlib.sha256(text).digest()[:7], 'big')
            new[number] = text
            self._last_names = columns, number
        return number

    def make_room(self, earliest, most_bytes):
        """Forget what is too old, and the oldest of what is too much.

        earliest: seconds since the epoch when a decision arrived that stays.
        most_bytes: how large the database may be, about.
        Raises DatabaseUnavailable.
        """
        most_bytes = min(most_bytes, self._most_bytes)
        with self._database.writing() as connection:
            gone = tables.remove(
                connection, tables.decisions.c.arrived < earliest)
            if gone:
                tables.remove_unused(connection)
            while self._used(connection) > most_bytes:
                # Who has a decision misses its figures less than it.
                if not (state_store.forget_oldest(connection, tables.batches)
                        or tables.remove_oldest(connection)):
                    break
                gone = True
        if gone:
            self._pragmas('incremental_vacuum', *_TAKE_IN)

    def bound_log(self, most_bytes):
        """Have what SQLite has written beside the file become part of it.

        It cannot while somebody reads.
        most_bytes: how large that may be, of MOST_LOG at most.
        Raises DatabaseUnavailable if it is larger.
        """
        most_bytes = min(most_bytes, MOST_LOG)
        if self._file.log_bytes() > most_bytes / 2:
            self._pragmas(*_TAKE_IN)
        if self._file.log_bytes() > most_bytes:
            raise exception.DatabaseUnavailable(
                f'Database {self._database.masked}: a process that reads it '
                'has not ended for long, and what is beside the file grows; '
                f'"fuser -v {self._file.path}" names it: end it')

    def _pragmas(self, *pragmas):
        """Carry out what SQLite does outside of transactions only."""
        try:
            with contextlib.closing(
                    self._database.engine.raw_connection()) as connection:
                # Only a script goes on with what is done in many steps.
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

        most: how many.  outcome: of which all are then.
        host: that one of their instances was placed on.
        since: seconds since the epoch when they arrived, at the earliest.
        code, kind: of which all are then.
        Raises DatabaseUnavailable.
        """
        columns = tables.decisions.c
        statement = sa.select(
            columns.id, columns.request_id, columns.arrived, columns.outcome,
            columns.instances, columns.service, columns.reason, columns.code,
            columns.kind).order_by(
                columns.arrived.desc(), columns.id.desc()).limit(most)
        for name, wanted in (('outcome', outcome), ('code', code),
                             ('kind', kind)):
            if wanted is not None:
                statement = statement.where(columns[name] == _text(wanted))
        if since is not None:
            statement = statement.where(columns.arrived >= since)
        if host is not None:
            statement = statement.where(columns.id.in_(
                sa.select(tables.instances.c.decision_id).where(
                    tables.instances.c.host == _text(host))))
        with self._database.reading() as connection:
            rows = connection.execute(statement).all()
            return [Summary(row.id, row.request_id, row.arrived, row.outcome,
                            row.instances, row.service,
                            tables.first_hosts(connection, row.id), row.reason,
                            row.code, row.kind)
                    for row in rows]

    def numbers(self, key):
        """Return the numbers of the decisions by a key, the newest last: list.

        key: a number of one, the id of a request, or the uuid of an instance.
        Raises InvalidInput if there is none, and DatabaseUnavailable.
        """
        columns, key = tables.decisions.c, _text(key)
        found = sa.or_(columns.request_id == key, columns.id.in_(
            sa.select(tables.instances.c.decision_id).where(
                tables.instances.c.uuid == key)))
        if key.isascii() and key.isdecimal() and len(key) < 19:
            found = sa.or_(found, columns.id == int(key))
        with self._database.reading() as connection:
            numbers = connection.execute(sa.select(columns.id).where(
                found).order_by(columns.arrived, columns.id)).scalars().all()
        if not numbers:
            raise exception.InvalidInput(reason=(
                f'no decision {key:.80} is kept: write the number of one, the '
                'id of a request or the uuid of an instance; '
                '"nova-sched-manage decision list" lists what is kept'))
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
                reason=f'decision {number} is not kept any more')
        view, _, request = _view(row)
        return {'number': number} | decision_document.document(view, every) | {
            'request': request, 'asked': past_decision.requested(request)}

    def past(self, number):
        """Return what a decision rested on: past_decision.PastDecision.

        Raises InvalidInput if that is not kept, and DatabaseUnavailable.
        """
        with self._database.reading() as connection:
            row = tables.row_of(connection, number)
            table = row and row.state is not None and state_store.read(
                connection, row.base_id, row.state)
        if not table:
            raise exception.InvalidInput(reason=(
                f'what decision {number} rested on is not kept: it has made '
                'room for newer ones, or hosts were not looked at; "decision '
                'show" tells what is kept, "request plan" how it would be '
                'now'))
        view, rests_on, request = _view(row)
        return past_decision.PastDecision(view, request, table, rests_on)


def _database(where):
    url = sa.URL.create('sqlite', database=str(where),
                        query={'timeout': _PATIENCE})
    return db_engine.Database(url)


def _text(value, longest=_LONGEST):
    """Return a text that a database takes, cut; None for None."""
    return value and value[:longest].encode(errors='replace').decode()


def _compressed(data):
    # Of these, the third level takes no longer than the first.
    return zlib.compress(data, 3)


def _parsed(data):
    # What JSON has no number for is a word.
    return json.loads(data, parse_constant=str)


def _view(row):
    """Return the DecisionView of a row, its other inputs, and its call.

    row: of ``decision_tables.row_of``.
    """
    line, arrays = zlib.decompress(row.pieces)[row.start:].split(b'\n', 1)
    (fields, rests_on), request = _parsed(line)
    names = _parsed(zlib.decompress(row.names)) if row.names else []
    return decision_view.DecisionView.unpacked(
        fields, arrays, names), rests_on, request


def newest(store, key, every=False):
    """Return the newest decision of a DecisionStore by a key: dict.

    It has the numbers of the others as ``others``, a list.
    Arguments, and what is raised: as of its methods.
    """
    *others, number = store.numbers(key)
    return store.document(number, every) | {'others': others}


@contextlib.contextmanager
def opened(conf):
    """Open the store that is there, to read: a context."""
    store = DecisionStore.to_read(conf)
    try:
        yield store
    finally:
        store.close()
