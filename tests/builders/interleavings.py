"""Writes of compute services and operators to a cell between reads.

Time stamps are in whole seconds of the writers' clocks, which differ; a write
may be committed later than other writes that came after it.
"""

import datetime
import random
import types

import sqlalchemy as sa

from nova_sched.db import cell_reader
from nova_sched.db import changed_rows
from nova_sched.db import reader
from nova_sched.db import tables
from nova_sched.db.changed_rows import KnownRows
from nova_sched.hosts import columns
from tests.builders.cloud_database import all_rows

HOSTS = 6
#: Seconds: greatest difference of clocks, greatest delay of a commit, and time
#: without a heartbeat after which a service is down.
SKEW, LATE, DOWN = 25, 30, 60
_START = 1_800_000_000
_NODES, _SERVICES = tables.compute_nodes, tables.services
_HEARTBEAT = [columns.SERVICE_COLUMNS.index(name)
              for name in ('last_seen_up', 'updated_at', 'report_count')]


class Clock(types.SimpleNamespace):
    """Replaces the module time; changed_rows uses two of its clocks."""

    def __init__(self):
        super().__init__(now=float(_START))

    def time(self):
        return self.now

    def monotonic(self):
        return self.now


class Interleaving:
    """A random course of writes and reads of a cell.

    cell: CellReader of a cell with HOSTS hosts, ids from 1.  writer:
    Connection to its database.  clock: Clock.
    """

    def __init__(self, cell, writer, clock, seed):
        self._reader, self._writer, self._clock = cell, writer, clock
        self._draw = random.Random(seed)
        self._skew = {host: self._draw.randint(-SKEW, SKEW)
                      for host in range(1, HOSTS + 1)}
        # (time, statement) of writes that are not committed yet.
        self._open, self._unstamped = [], set()
        self._nodes, self._services = KnownRows(), KnownRows()

    def run(self, steps):
        """Write and read; raise AssertionError if a read misses a change."""
        self._reset()
        for _ in range(steps):
            self._clock.now += self._draw.choice((0, 0.1, 0.4, 1, 3, 20))
            self._commit()
            self._draw.choice((
                self._report, self._report, self._claim, self._claim_late,
                self._beat, self._beat_all, self._switch, self._remove,
                self._restore, self._remove_service, self._upgrade,
                self._unstamp))()
            if self._draw.random() < 0.6:
                self.read_and_check()

    def _stamp(self, host):
        return datetime.datetime.fromtimestamp(
            int(self._clock.now) + self._skew[host],
            datetime.UTC).replace(tzinfo=None)

    def _host(self):
        return self._draw.randint(1, HOSTS)

    def _write(self, *statements):
        for statement in statements:
            self._writer.execute(statement)
        self._writer.commit()

    def _reset(self):
        self._write(*(
            sa.update(_NODES).where(_NODES.c.id == host).values(
                deleted=0, updated_at=self._stamp(host), vcpus_used=0,
                stats='{}')
            for host in self._skew), *(
            sa.update(_SERVICES).where(_SERVICES.c.id == host).values(
                deleted=0, disabled=False, forced_down=False, version=1,
                last_seen_up=self._stamp(host), report_count=0)
            for host in self._skew))

    def _node(self, host, **values):
        return sa.update(_NODES).where(_NODES.c.id == host).values(
            updated_at=self._stamp(host), **values)

    def _report(self):
        """Change a text only."""
        host = self._host()
        self._write(self._node(
            host, stats=f'{{"io_workload": {self._draw.randint(0, 99)}}}'))

    def _claim(self):
        host = self._host()
        self._write(self._node(host, vcpus_used=self._draw.randint(0, 99)))

    def _unstamp(self):
        """Remove all time stamps of a host, as only an operator does.

        At most once for a host: without time stamps a changed text column
        keeps its mark, and may be read up to a minute later.
        """
        host = self._host()
        if host not in self._unstamped:
            self._unstamped.add(host)
            self._write(sa.update(_NODES).where(_NODES.c.id == host).values(
                created_at=None, updated_at=None))

    def _claim_late(self):
        host = self._host()
        self._open.append((
            self._clock.now + self._draw.uniform(0, LATE),
            self._node(host, vcpus_used=self._draw.randint(0, 99))))

    def _commit(self):
        due = [each for each in self._open if each[0] <= self._clock.now]
        self._open = [each for each in self._open if each not in due]
        self._write(*(statement for _, statement in sorted(
            due, key=lambda each: each[0])))

    def _beat(self):
        self._write(self._heartbeat(self._host()))

    def _beat_all(self):
        self._write(*map(self._heartbeat, self._skew))

    def _heartbeat(self, host):
        stamp = self._stamp(host)
        return sa.update(_SERVICES).where(_SERVICES.c.id == host).values(
            last_seen_up=stamp, updated_at=stamp,
            report_count=_SERVICES.c.report_count + 1)

    def _switch(self):
        name = self._draw.choice(('disabled', 'forced_down'))
        self._write(sa.update(_SERVICES).where(
            _SERVICES.c.id == self._host()).values(
                {name: self._draw.random() < 0.5,
                 'updated_at': self._stamp(1)}))

    def _upgrade(self):
        self._write(sa.update(_SERVICES).where(
            _SERVICES.c.id == self._host()).values(
                version=self._draw.randint(1, 99)))

    def _delete(self, table, deleted):
        host = self._host()
        self._write(sa.update(table).where(table.c.id == host).values(
            deleted=host if deleted else 0))

    def _remove(self):
        self._delete(_NODES, True)

    def _restore(self):
        self._delete(_NODES, False)
        self._delete(_SERVICES, False)

    def _remove_service(self):
        self._delete(_SERVICES, True)

    def read_and_check(self):
        """Read changes, and compare all known rows with all rows.

        Returns the Found of both tables.
        """
        now = self._clock.now
        with self._reader.db.reading() as connection:
            found = self._reader.changes(
                connection, self._nodes, self._services, now)
            rows = all_rows(self._reader, connection)
        self._nodes.take(found[0])
        self._services.take(found[1])
        assert known(self._nodes) == rows.compute_nodes
        services = known(self._services)
        for row in services:
            fresh, seen = row[-1], row[_HEARTBEAT[0]]
            [read] = [each for each in rows.services if each[0] == row[0]]
            if fresh:
                assert not self._is_silent(read, now), read
            else:
                assert seen == read[_HEARTBEAT[0]]
        assert [_state(row[:-1]) for row in services] == [
            _state(row) for row in rows.services]
        self._check_totals(self._nodes)
        self._check_totals(self._services)
        return found

    @staticmethod
    def _is_silent(row, now):
        seen = row[_HEARTBEAT[0]].replace(tzinfo=datetime.UTC).timestamp()
        return abs(now - seen) > DOWN

    @staticmethod
    def _check_totals(known_rows):
        totals = changed_rows.Totals()
        for key, row in known_rows.rows.items():
            totals = totals.plus(key, row)
        assert known_rows.totals == totals


def cell_of(conf):
    """A CellReader of a configuration's database, without heartbeats.

    Returns (CellReader, HostReader to close).
    """
    hosts = reader.HostReader(conf)
    hosts.skip_heartbeats()
    [cell] = hosts.for_each_cell(lambda cell: cell).values()
    return cell, hosts


def run(cell, monkeypatch, count, steps=12):
    """Run ``count`` courses; raise AssertionError with the seed of a failure.

    In every other course the tables are read on two connections.
    """
    with cell.db.engine.connect() as writer:
        for seed in range(count):
            clock = Clock()
            monkeypatch.setattr(changed_rows, 'time', clock)
            monkeypatch.setattr(cell_reader, 'MANY', seed % 2 * (HOSTS + 1))
            try:
                Interleaving(cell, writer, clock, seed).run(steps)
            except AssertionError as error:
                raise AssertionError(f'seed {seed}') from error


def known(rows):
    """The values of KnownRows, by id: list."""
    return [rows.rows[key].values for key in sorted(rows.rows)]


def _state(row):
    return [value for index, value in enumerate(row)
            if index not in _HEARTBEAT]
