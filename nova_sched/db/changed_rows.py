"""Reads the rows of a table that have changed since the last read.

With thousands of hosts, a few report a change each second. So a read selects
*totals* first: one row, which shows whether the *mark* of any row has changed,
its time stamp or its state. If so, the read lists marks, of likely rows first,
until the different marks explain the totals, and fetches their rows. No index
helps to list marks, so the newest time stamps come together with the totals.

Time stamps have whole seconds: a second change within the same second does not
change the mark. So rows with a new mark are compared by digests for some
seconds. All rows are compared by digests within a minute, some with each read,
because a change by hand may leave the time stamp as it is.
"""

import bisect
import contextlib
import dataclasses
import datetime
import itertools
import math
import time
import typing

import sqlalchemy as sa

from nova_sched.db import statements

#: Seconds within which all rows are compared, a part with each read. After a
#: longer time without a read they are compared at once.
SPAN = 60
#: Minimum seconds between two such parts.
PART = 0.5
#: Seconds for which a row with a new stamp is compared with each read, and the
#: usual maximum difference between the stamps of two hosts.
YOUNG = 3
#: Below and above all marks.
_LOWEST, _HIGHEST = -(1 << 60), 1 << 60
#: Maximum number of rows to list with the totals; in a cloud loaded at once,
#: all rows have the newest stamp.
CROWD = 500
#: Rows have different weights in totals, so that changes do not cancel each
#: other out; sums stay within 64 bits.
_WEIGHTS = 1024
_LOW_BITS = (1 << 24) - 1
#: The last second that databases can represent, since the epoch.
_LAST_SECOND = 253_402_300_799


class Row(typing.NamedTuple):
    """One row.

    mark: a number that changes with the row.  check: a second number, for
    changes that do not change the mark.
    digest: of the compared values; None if the database computes none.
    values: of the columns.
    """

    mark: int
    check: int
    digest: str | None
    values: tuple


class Totals(typing.NamedTuple):
    """Sums over all rows, which change with any mark or check."""

    count: int = 0
    keys: int = 0
    marks: int = 0
    checks: int = 0

    def plus(self, key, row, sign=1):
        """Return the totals with a Row added, or removed with sign = -1."""
        weight = (key & _WEIGHTS - 1) + 1
        return Totals(self.count + sign, self.keys + sign * key,
                      self.marks + sign * weight * row.mark,
                      self.checks + sign * weight * row.check)


@dataclasses.dataclass(frozen=True)
class Found:
    """The result of a read.

    rows: id -> Row, the fetched rows: new or possibly changed.
    gone: ids of rows that do not exist any more.
    edited: ids of rows that changed without a new mark.
    listed: number of rows listed with the totals.
    walked: last id of the part that was compared; None without a part.
    whole: whether all rows were compared.
    at: seconds of time.monotonic().
    source: the ChangedRows of the read.
    """

    rows: dict
    gone: frozenset
    edited: frozenset
    listed: int
    walked: int | None
    whole: bool
    at: float
    source: object


class KnownRows:
    """The rows of a table after the last ``take``: ``rows``, id -> Row."""

    def __init__(self):
        self.rows, self.totals, self.source = {}, Totals(), None
        self.newest = _LOWEST
        self.read_at = self.walked_at = -math.inf
        self._walked, self._keys = _LOWEST, None
        # The newest mark at the time when too many rows were listed.
        self._crowded = None
        # id -> time of its new mark, oldest first.
        self._marked = {}

    def pairs(self, found):
        """Return the differences: list of (known values, found values).

        None replaces a row that did not exist, or does not exist any more.
        """
        before = [(self.rows.get(key), row)
                  for key, row in found.rows.items()]
        return [(known and known.values, row.values)
                for known, row in before
                if known is None or known.values != row.values] + [
            (self.rows[key].values, None) for key in found.gone]

    def with_found(self, rows, gone=()):
        """Return the Totals with rows, id -> Row, and without some ids."""
        totals = self.totals
        for key in (*rows, *gone):
            if key in self.rows:
                totals = totals.plus(key, self.rows[key], -1)
        for key, row in rows.items():
            totals = totals.plus(key, row)
        return totals

    def take(self, found):
        """Update the known rows with the result of a read."""
        self.totals = self.with_found(found.rows, found.gone)
        if found.gone or any(key not in self.rows for key in found.rows):
            self._keys = None
        for key in found.gone:
            del self.rows[key]
            self._marked.pop(key, None)
        self._forget_young(found.at)
        least = _LOWEST
        if found.whole:
            # All rows are new: the young ones are those of the last seconds,
            # by any clock.
            least = max((row.mark for row in found.rows.values()),
                        default=0) - SPAN
        for key, row in found.rows.items():
            known = self.rows.get(key)
            if (known is None or known.mark != row.mark) and row.mark >= least:
                self._marked.pop(key, None)
                self._marked[key] = found.at
            self.rows[key] = row
            self.newest = max(self.newest, row.mark)
        self.read_at, self.source = found.at, found.source
        if found.listed > CROWD:
            self._crowded = self.newest
        if found.whole or found.walked is not None:
            self.walked_at = found.at
        if found.walked is not None:
            self._walked = found.walked

    def is_crowded(self):
        """Return whether too many rows have a mark close to the newest."""
        return self._crowded == self.newest

    def young(self):
        """Return the ids of rows with a recently changed mark: set."""
        return set(self._marked)

    def _forget_young(self, now):
        """Forget rows that were compared after YOUNG seconds."""
        while self._marked:
            key, at = next(iter(self._marked.items()))
            if now - at <= YOUNG:
                return
            del self._marked[key]

    def in_turn(self, now):
        """Return the ids of the next part of rows to compare: list."""
        if now - self.walked_at < PART or not self.rows:
            return []
        if self._keys is None:
            self._keys = sorted(self.rows)
        count = math.ceil(len(self._keys) * (now - self.walked_at) / SPAN)
        start = bisect.bisect_right(self._keys, self._walked)
        return self._keys[start:start + count] or self._keys[:count]


class ChangedRows:
    """Statements that read the changed rows of a table.

    connection: an open connection.
    rows: SELECT of the columns and rows, without an order.
    key: the integer primary key column.
    mark, check: integer expressions, see Row; NULL counts as 0. Marks are
        time stamps, or states, which are below 1 for the usual state.
    stamp: time column, if marks are its seconds since the epoch, else None.
    compared: the columns in digests.

    The numbers in the expressions are keywords of ``read``.
    """

    def __init__(self, connection, rows, key, mark, check, stamp, compared):
        self._stamped = stamp is not None
        mark, check = (sa.func.coalesce(each, 0) for each in (mark, check))
        digest = digest_of(connection, compared)
        by_key = key.in_([sa.literal_column(statements.KEYS)])
        weight = key.op('&')(_WEIGHTS - 1) + 1
        least = mark >= statements.number('least')

        def compiled(*columns, where=None):
            statement = rows.with_only_columns(*columns)
            return statements.CompiledStatement(
                connection, statement if where is None
                else statement.where(where))

        part = statements.number('part')
        self._has_digests = digest is not _NO_DIGEST
        # Statements that are sent together have equal columns.
        self._totals = compiled(
            part, sa.func.count(), sa.func.sum(key),
            sa.func.sum(weight * mark), sa.func.sum(weight * check),
            _listing(connection, is_since(connection, stamp, 'least'), key,
                     mark, check) if self._stamped else sa.null())
        self._some_digests = compiled(
            part, key, mark, check, sa.null(), digest, where=by_key)
        self._marks = compiled(key, mark, check, where=least)
        wide = (key, mark, check, digest, *rows.selected_columns)
        self._all = compiled(*wide)
        self._some = compiled(*wide, where=by_key)
        self._all_digests = compiled(key, mark, check, digest)
        names = {column.name for column in compared}
        self._compared_at = [
            index for index, column in enumerate(rows.selected_columns)
            if column.name in names]

    def _are_alike(self, row, other):
        """Return whether rows have equal marks, checks and compared values."""
        return row[:2] == other[:2] and all(
            row.values[index] == other.values[index]
            for index in self._compared_at)


def read(connection, tables, **numbers):
    """Return the differences of each table: list of Found.

    tables: list of (ChangedRows, KnownRows).
    numbers: integers in the expressions.

    If few rows have changed, one statement suffices for all tables. All
    statements run in one transaction. If that has no single snapshot, a row
    may be newer than its mark; the next read finds the change.
    """
    readings = [_Reading(statements_, connection, known, numbers)
                for statements_, known in tables]
    parts = [part for reading in readings for part in reading.first]
    answers = [[] for _ in parts]
    # The rows come in any order.
    for number, *row in statements.all_rows(connection, [
            statement.text(keys, part=number, **numbers, **more)
            for number, (statement, keys, more) in enumerate(parts)]):
        answers[number].append(row)
    answers = iter(answers)
    return [reading.found(*(next(answers) for _ in reading.first))
            for reading in readings]


class _Reading:
    """One read of a table."""

    def __init__(self, statements_, connection, known, numbers):
        self._sql, self._connection = statements_, connection
        self._known, self._numbers = known, numbers
        self._at = time.monotonic()
        self._rows, self._gone, self._edited = {}, set(), set()
        self._listed = 0
        self._whole = (known.source is not statements_
                       or self._at - known.read_at > SPAN)
        self._turn = [] if self._whole else known.in_turn(self._at)
        self._likely = self._least_marks()
        #: The first queries: list of (statement, keys, numbers).
        self.first = [] if self._whole else self._first()

    def _first(self):
        """Return totals, and digests of the rows to compare."""
        keys = self._to_compare() if self._sql._has_digests else ()
        newest = {}
        if self._sql._stamped:
            newest = moments(least=_HIGHEST if self._known.is_crowded()
                             else self._likely.pop(0))
        return [(self._sql._totals, (), newest), *(
            (self._sql._some_digests, part, {})
            for part in statements.chunks(sorted(keys)))]

    def found(self, totals=(), *digests):
        """Return the Found, given the results of ``first`` in its order."""
        if self._whole:
            self._read_whole()
        else:
            [[*totals, newest]] = totals
            totals, newest = Totals(*map(_whole, totals)), _listed(newest)
            self._listed = len(newest)
            if totals != self._known.totals:
                self._explain(totals, newest)
            self._compare(itertools.chain.from_iterable(digests))
        return Found(self._rows, frozenset(self._gone),
                     frozenset(self._edited), self._listed,
                     self._turn[-1] if self._turn else None, self._whole,
                     self._at, self._sql)

    def _read(self, statement, **more):
        return statement.rows(self._connection, **self._numbers, **more)

    def _read_whole(self):
        """Read all rows, or all digests and the rows that differ by these."""
        known = self._known
        if known.source is self._sql and self._sql._has_digests:
            found = {key: rest for key, *rest
                     in self._read(self._sql._all_digests)}
            self._fetch({key for key, rest in found.items()
                         if self._differs(key, *rest)})
        else:
            found = self._rows = self._keyed(self._read(self._sql._all))
        self._gone = known.rows.keys() - found.keys()

    def _differs(self, key, mark, check, digest):
        row = self._known.rows.get(key)
        return (row is None or digest is None
                or row[:3] != (_whole(mark), _whole(check), digest))

    def _explain(self, totals, newest):
        """Fetch the rows with different marks.

        newest: marks listed with the totals, see ``_listed``.
        """
        self._fetch(self._unlike(newest))
        for least in self._likely:
            if self._known.with_found(self._rows, self._gone) == totals:
                return
            listed = {key: (_whole(mark), _whole(check))
                      for key, mark, check
                      in self._read(self._sql._marks, least=least)}
            self._fetch(self._unlike(listed)
                        | self._as_usual_again(listed, least))
            if least == _LOWEST:
                self._gone = self._known.rows.keys() - listed.keys()

    def _unlike(self, listed):
        """Return the ids that are not known with this mark and check: set."""
        rows = self._known.rows
        return {key for key, mark in listed.items()
                if key not in rows or rows[key][:2] != mark}

    def _least_marks(self):
        """Return the lowest marks for successive lists of rows: list."""
        if not self._sql._stamped:
            return [1, _LOWEST]
        # A host with a fast clock must not hide other hosts.
        newest = min(self._known.newest, int(time.time()))
        return [newest - YOUNG, newest - SPAN, _LOWEST]

    def _as_usual_again(self, listed, least):
        """Return the ids of rows that returned to the usual state: set."""
        if self._sql._stamped:
            return set()
        return {key for key, row in self._known.rows.items()
                if row.mark >= least and key not in listed}

    def _to_compare(self):
        """Return the ids of rows to compare by their values: set.

        They may have changed without a new mark.
        """
        return self._young() | set(self._turn)

    def _young(self):
        return self._known.young() if self._sql._stamped else set()

    def _compare(self, digests):
        """Fetch different rows of ``_to_compare`` that are not fetched yet.

        digests: rows of id, mark, check, NULL and digest.
        """
        if self._sql._has_digests:
            keys = {key for key, mark, check, _, digest in digests
                    if self._differs(key, mark, check, digest)}
            keys -= self._rows.keys() | self._gone
            self._fetch(keys)
        else:
            keys = self._fetch_unlike(
                self._to_compare() - self._rows.keys() - self._gone)
        self._edited = keys - self._young()

    def _fetch_unlike(self, keys):
        """Fetch rows, keep the different ones and return their ids: set."""
        before = dict(self._rows)
        self._fetch(keys)
        unlike = {key for key in self._rows.keys() - before.keys()
                  if not self._sql._are_alike(self._known.rows[key],
                                              self._rows[key])}
        self._rows = before | {key: self._rows[key] for key in unlike}
        return unlike

    def _fetch(self, keys):
        """Fetch rows that are not fetched yet."""
        keys = keys - self._rows.keys()
        if len(keys) > max(statements.CHUNK, len(self._known.rows) // 2):
            found = self._keyed(self._read(self._sql._all))
            self._rows |= {key: found[key] for key in keys & found.keys()}
            return
        for part in statements.chunks(sorted(keys)):
            self._rows |= self._keyed(self._read(self._sql._some, keys=part))

    @staticmethod
    def _keyed(rows):
        return {key: Row(_whole(mark), _whole(check), digest, tuple(values))
                for key, mark, check, digest, *values in rows}


def _whole(number):
    """Return a number in a result as int; a sum over no rows is NULL."""
    return int(number or 0)


def _listing(connection, least, key, mark, check):
    """Return the expression for a list of rows in one text.

    least: condition of the listed rows.
    key, mark, check: integer expressions.
    """
    if connection.dialect.name == 'sqlite':
        key, mark, check = (sa.cast(each, sa.String)
                            for each in (key, mark, check))
        return sa.func.group_concat(sa.case(
            (least, key + ':' + mark + ':' + check)))
    row = sa.case((least, sa.func.concat_ws(':', key, mark, check)))
    if connection.dialect.name == 'postgresql':
        return sa.func.string_agg(row, ',')
    # By default MySQL truncates it to 1024 octets: the 40 newest rows or so.
    return sa.func.group_concat(row.op('ORDER BY')(mark.desc()))


def _listed(text):
    """Return the rows of a ``_listing``: key -> (mark, check).

    The server may have truncated it anywhere. A misread row is only fetched
    without need.
    """
    rows = {}
    for row in (text or '').split(','):
        with contextlib.suppress(ValueError):
            key, mark, check = map(int, row.split(':'))
            rows[key] = mark, check
    return rows


_NO_DIGEST = sa.null()


def digest_of(connection, columns):
    """Return the expression for a row's digest; NULL without a hash function.

    Texts are hexadecimal, so that they cannot contain the separator and the
    mark for NULL, and so that several character sets can be concatenated.
    """
    if _is_mysql(connection):
        return _sha1(columns)
    return _NO_DIGEST


def _sha1(columns):
    return sa.func.sha1(sa.func.concat_ws(',', *(
        sa.func.coalesce(
            sa.func.hex(column) if isinstance(column.type, sa.String)
            else column, '~')
        for column in columns)))


def summand(connection, column):
    """Return the expression for a 32-bit column in sums that do not overflow.
    """
    if _is_mysql(connection):
        return column
    if connection.dialect.name == 'postgresql':
        column = sa.cast(column, sa.BigInteger)
    # A column of SQLite can hold any type.
    return column.op('&')(_LOW_BITS)


def seconds_since_epoch(connection, moment):
    """Return the expression for a time as whole seconds.

    It is NULL for an invalid time.
    """
    if _is_mysql(connection):
        return sa.func.to_seconds(moment) - 62_167_219_200
    if connection.dialect.name == 'postgresql':
        return sa.cast(sa.func.floor(sa.func.extract('epoch', moment)),
                       sa.BigInteger)
    return sa.cast(sa.func.strftime('%s', moment), sa.BigInteger)


def is_since(connection, moment, earliest):
    """Return the condition that a time is at or after a number of ``read``.

    earliest: name in ``moments``.
    """
    if _is_mysql(connection):
        # MySQL compares times with such numbers, faster than with a function.
        return moment >= statements.number(f'{earliest}_digits')
    return (seconds_since_epoch(connection, moment)
            >= statements.number(earliest))


def is_within(connection, moment, earliest, latest):
    """Return the condition that a time is between two numbers of ``read``.

    earliest, latest: names in ``moments``.
    """
    if _is_mysql(connection):
        return moment.between(statements.number(f'{earliest}_digits'),
                              statements.number(f'{latest}_digits'))
    return seconds_since_epoch(connection, moment).between(
        statements.number(earliest), statements.number(latest))


def moments(**seconds):
    """Return the numbers for ``is_since`` and ``is_within``.

    seconds: since the epoch, by name.  Values before the epoch or after the
        year 9999 are replaced by the first or last second.
    """
    numbers = {}
    for name, value in seconds.items():
        numbers[name] = value = min(max(0, value), _LAST_SECOND)
        moment = datetime.datetime.fromtimestamp(value, datetime.UTC)
        numbers[f'{name}_digits'] = f'{moment:%Y%m%d%H%M%S}'
    return numbers


def _is_mysql(connection):
    return connection.dialect.name in ('mysql', 'mariadb')
