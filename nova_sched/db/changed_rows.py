"""Reads of a table what has changed since it was read before.

Of thousands of hosts a few report a change a second.  So a read asks for
*totals* first: one row, from which it shows whether the *mark* of any row has
changed, its time stamp or its state.  If so, the read lists marks, likely rows
first, until those that differ explain the totals, and fetches their rows.  No
index helps to list them: the newest time stamps come beside the totals.

Stamps have whole seconds: what is written in the same second as a row that was
read is no news by its mark.  So rows with a new mark are compared by digests
for some seconds.  And all rows are compared by digests within a minute, some
with each read: what somebody edits by hand has no new stamp.
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

#: Seconds within which all rows are compared.  Rows that were not read for so
#: long are compared at once.
SPAN = 60
#: Seconds between two parts of that.
PART = 0.5
#: Seconds that a row with a new stamp is compared with each read, and by which
#: the stamps of two hosts usually differ at most.
YOUNG = 3
#: Keys in one statement, at most.
_MOST_KEYS = 500
#: Less than any mark, and more than any.
_LOWEST, _HIGHEST = -(1 << 60), 1 << 60
#: Rows that come with the totals, at most, while nothing else is newer: of a
#: cloud that was loaded at once they are all.
CROWD = 500
#: Rows weigh differently in totals, so that one change does not make up for
#: another; sums stay within 64 bits.
_WEIGHTS = 1024
_LOW_BITS = (1 << 24) - 1
#: The last second that databases have a time for, since the epoch.
_LAST_SECOND = 253_402_300_799


class Row(typing.NamedTuple):
    """One row.

    mark: a number that changes with the row.  check: a second one, for
    changes that leave the mark as it is.
    digest: of the values that matter; None where the database makes none.
    values: of the columns.
    """

    mark: int
    check: int
    digest: str | None
    values: tuple


class Totals(typing.NamedTuple):
    """What tells whether the mark of any row has changed."""

    count: int = 0
    keys: int = 0
    marks: int = 0
    checks: int = 0

    def plus(self, key, row, sign=1):
        """Return the totals with a Row more; with sign = -1 without it."""
        weight = (key & _WEIGHTS - 1) + 1
        return Totals(self.count + sign, self.keys + sign * key,
                      self.marks + sign * weight * row.mark,
                      self.checks + sign * weight * row.check)


@dataclasses.dataclass(frozen=True)
class Found:
    """What a read has found.

    rows: id -> Row, of those that were fetched: new or, perhaps, changed.
    gone: ids of rows that are not there any more.
    edited: ids of rows that changed, and kept their mark.
    listed: how many rows came with the totals.
    walked: last of the ids that were compared in turn; None for none.
    whole: whether all rows were compared.
    at: seconds of time.monotonic().
    source: the ChangedRows that has read.
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
    """The rows of a table as they were taken last: ``rows``, id -> Row."""

    def __init__(self):
        self.rows, self.totals, self.source = {}, Totals(), None
        self.newest = _LOWEST
        self.read_at = self.walked_at = -math.inf
        self._walked, self._keys = _LOWEST, None
        # The newest mark when too many came with the totals.
        self._crowded = None
        # id -> when its mark was seen first, the oldest first.
        self._marked = {}

    def pairs(self, found):
        """Return what differs: list of (values as known, values as found).

        None in the place of a row that was not there, or is not any more.
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
        """Know what a read has found."""
        self.totals = self.with_found(found.rows, found.gone)
        if found.gone or any(key not in self.rows for key in found.rows):
            self._keys = None
        for key in found.gone:
            del self.rows[key]
            self._marked.pop(key, None)
        self._forget_young(found.at)
        least = self._least_young(found)
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
        """Return whether too many marks are next to the newest one."""
        return self._crowded == self.newest

    @staticmethod
    def _least_young(found):
        """Return the least mark of a row that may change and keep it."""
        if not found.whole:
            return _LOWEST
        # Of all rows at once: those of the last seconds, by any clock.
        return max((row.mark for row in found.rows.values()),
                   default=0) - SPAN

    def young(self):
        """Return the ids of rows whose mark was new at the last reads: set."""
        return set(self._marked)

    def _forget_young(self, now):
        """Forget those that were compared once more after YOUNG seconds."""
        while self._marked:
            key, at = next(iter(self._marked.items()))
            if now - at <= YOUNG:
                return
            del self._marked[key]

    def in_turn(self, now):
        """Return the ids of those rows whose turn it is to be compared: list.
        """
        if now - self.walked_at < PART or not self.rows:
            return []
        if self._keys is None:
            self._keys = sorted(self.rows)
        count = math.ceil(len(self._keys) * (now - self.walked_at) / SPAN)
        start = bisect.bisect_right(self._keys, self._walked)
        return self._keys[start:start + count] or self._keys[:count]


class ChangedRows:
    """Statements that read what has changed of a table.

    connection: an open one.
    rows: SELECT of the wanted columns and rows, in no order.
    key: the integer primary key column.
    mark, check: integer expressions, as of Row, of which NULL counts as 0;
        marks of rows that are as usual are less than 1, unless they are time
        stamps.
    stamp: the time of which marks are the seconds since the epoch; None where
        they are none.
    compared: the columns that digests are of.

    The numbers that the expressions name are keywords of ``read``.
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
        # What is asked together has equal columns.
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
        """Return whether rows have equal marks and compared values."""
        return row[:2] == other[:2] and all(
            row.values[index] == other.values[index]
            for index in self._compared_at)


def read(connection, tables, **numbers):
    """Return what differs of each table: list of Found.

    tables: list of (ChangedRows, KnownRows).
    numbers: integers that the expressions name.

    What suffices where little has changed is asked in one statement.  All
    statements are of one transaction.  In one that does not keep to one moment
    a row may be newer than its mark; the next read finds it.
    """
    readings = [_Reading(statements_, connection, known, numbers)
                for statements_, known in tables]
    parts = [part for reading in readings for part in reading.first]
    answers = [[] for _ in parts]
    # Their order is anybody's.
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
        #: What to ask first: (statement, keys, numbers), a list.
        self.first = [] if self._whole else self._first()

    def _first(self):
        """Return totals, and digests of the rows to compare."""
        keys = self._to_compare() if self._sql._has_digests else ()
        newest = (moments(least=self._least_listed()) if self._sql._stamped
                  else {})
        return [(self._sql._totals, (), newest), *(
            (self._sql._some_digests, part, {}) for part in _parts(keys))]

    def _least_listed(self):
        """Return the least mark of which rows come with the totals."""
        if self._known.is_crowded():
            return _HIGHEST
        return self._likely.pop(0)

    def found(self, totals=(), *digests):
        """Return the Found, with the answers to ``first``, in its order."""
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
        """Read all rows, or all digests and what differs by these."""
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
        """Fetch the rows whose marks differ.

        newest: marks that came with the totals, as of ``_listed``.
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
        """Return which rows are not known with these marks and checks: set.
        """
        rows = self._known.rows
        return {key for key, mark in listed.items()
                if key not in rows or rows[key][:2] != mark}

    def _least_marks(self):
        """Return the least marks of which rows are listed, one after another.
        """
        if not self._sql._stamped:
            return [1, _LOWEST]
        # A host whose clock is ahead does not hide the others.
        newest = min(self._known.newest, int(time.time()))
        return [newest - YOUNG, newest - SPAN, _LOWEST]

    def _as_usual_again(self, listed, least):
        """Return the ids of rows that had such a mark, if that is a state."""
        if self._sql._stamped:
            return set()
        return {key for key, row in self._known.rows.items()
                if row.mark >= least and key not in listed}

    def _to_compare(self):
        """Return the ids of rows that may have kept their mark: set."""
        return self._young() | set(self._turn)

    def _young(self):
        return self._known.young() if self._sql._stamped else set()

    def _compare(self, digests):
        """Fetch those of ``_to_compare`` that differ, and were not fetched.

        digests: rows of id, mark, check, nothing and digest.
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
        """Fetch rows; keep, and return the ids of, those that differ."""
        before = dict(self._rows)
        self._fetch(keys)
        unlike = {key for key in self._rows.keys() - before.keys()
                  if not self._sql._are_alike(self._known.rows[key],
                                              self._rows[key])}
        self._rows = before | {key: self._rows[key] for key in unlike}
        return unlike

    def _fetch(self, keys):
        """Fetch rows that were not fetched yet."""
        keys = keys - self._rows.keys()
        if len(keys) > max(_MOST_KEYS, len(self._known.rows) // 2):
            found = self._keyed(self._read(self._sql._all))
            self._rows |= {key: found[key] for key in keys & found.keys()}
            return
        for part in _parts(keys):
            self._rows |= self._keyed(self._read(self._sql._some, keys=part))

    @staticmethod
    def _keyed(rows):
        return {key: Row(_whole(mark), _whole(check), digest, tuple(values))
                for key, mark, check, digest, *values in rows}


def _whole(number):
    """Return a number of a statement as int; a sum of no rows is NULL."""
    return int(number or 0)


def _listing(connection, least, key, mark, check):
    """Return the expression for rows as one text.

    least: condition for those that are listed.
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
    # By default MySQL keeps 1024 octets of it, some 40 rows: the newest.
    return sa.func.group_concat(row.op('ORDER BY')(mark.desc()))


def _listed(text):
    """Return the rows of a ``_listing``: key -> (mark, check).

    The server may have cut it anywhere.  What is misread for that is fetched,
    and no harm.
    """
    rows = {}
    for row in (text or '').split(','):
        with contextlib.suppress(ValueError):
            key, mark, check = map(int, row.split(':'))
            rows[key] = mark, check
    return rows


def _parts(keys):
    keys = sorted(keys)
    return [keys[start:start + _MOST_KEYS]
            for start in range(0, len(keys), _MOST_KEYS)]


_NO_DIGEST = sa.null()


def digest_of(connection, columns):
    """Return the expression for a row's digest; NULL without such a function.

    Texts are hexadecimal, so that a comma separates columns and a tilde marks
    NULL whatever they hold, and so that columns of several character sets can
    be concatenated.
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
    """Return the expression for a column of 32 bits in sums that fit.
    """
    if _is_mysql(connection):
        return column
    if connection.dialect.name == 'postgresql':
        column = sa.cast(column, sa.BigInteger)
    # A column of SQLite holds anything.
    return column.op('&')(_LOW_BITS)


def seconds_since_epoch(connection, moment):
    """Return the expression for a time as whole seconds; NULL for what is
    none.
    """
    if _is_mysql(connection):
        return sa.func.to_seconds(moment) - 62_167_219_200
    if connection.dialect.name == 'postgresql':
        return sa.cast(sa.func.floor(sa.func.extract('epoch', moment)),
                       sa.BigInteger)
    return sa.cast(sa.func.strftime('%s', moment), sa.BigInteger)


def is_since(connection, moment, earliest):
    """Return the condition that a time is not before a number of ``read``.

    earliest: name of one of ``moments``.
    """
    if _is_mysql(connection):
        # Numbers of this form are times there, and quicker than a function.
        return moment >= statements.number(f'{earliest}_digits')
    return (seconds_since_epoch(connection, moment)
            >= statements.number(earliest))


def is_within(connection, moment, earliest, latest):
    """Return the condition that a time is between two numbers of ``read``.

    earliest, latest: names of ``moments``.
    """
    if _is_mysql(connection):
        return moment.between(statements.number(f'{earliest}_digits'),
                              statements.number(f'{latest}_digits'))
    seconds = seconds_since_epoch(connection, moment)
    return sa.and_(seconds >= statements.number(earliest),
                   seconds <= statements.number(latest))


def moments(**seconds):
    """Return the numbers for ``is_since`` and ``is_within``.

    seconds: since the epoch, by name.  Those before it, and after the year
        9999, become its first and last ones.
    """
    numbers = {}
    for name, value in seconds.items():
        numbers[name] = value = min(max(0, value), _LAST_SECOND)
        moment = datetime.datetime.fromtimestamp(value, datetime.UTC)
        numbers[f'{name}_digits'] = f'{moment:%Y%m%d%H%M%S}'
    return numbers


def _is_mysql(connection):
    return connection.dialect.name in ('mysql', 'mariadb')
