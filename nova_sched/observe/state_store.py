"""The states of the hosts that decisions rest on, beside the decisions.

A state is the host table as rules saw it, with what was in flight.  A worker
keeps a whole table now and then (a *base*), and for each decision after it
only what is otherwise than for the one before, which often is nothing.  So
there is a base for every few thousand decisions, and what an explanation needs
is within one of them.
"""

import json
import zlib

import sqlalchemy as sa

from nova_sched.hosts import plain

metadata = sa.MetaData()

_bases = sa.Table(
    'bases', metadata,
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('hosts', sa.LargeBinary, nullable=False),
    sqlite_autoincrement=True)

_states = sa.Table(
    'states', metadata,
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('base_id', sa.Integer, nullable=False, index=True),
    sa.Column('changes', sa.LargeBinary, nullable=False),
    sqlite_autoincrement=True)

#: Made once: what a statement is compiled to is found by it.
_INSERT = _states.insert()

#: States behind one base, at most: each is read to explain the last one.
MOST_STATES = 5000


class StateWriter:
    """What one worker has written of states.

    It knows what is written; ``forget`` where a transaction has failed.
    """

    def __init__(self):
        self.forget()

    def forget(self):
        """Begin with a new base."""
        self._table = self._base_id = self._state_id = None
        self._room = self._count = self._next_id = 0
        self._waiting = []

    def is_kept(self, connection):
        """Return whether the base that the next state is to build on is there.
        """
        return self._base_id is None or connection.execute(
            sa.select(_bases.c.id).where(_bases.c.id == self._base_id)
        ).scalar() is not None

    def state_of(self, connection, table):
        """Return the id of a HostTable's state, which is kept then."""
        last = self._table
        if last is not None and table.columns is last.columns:
            return self._state_id
        if (last is None or not table.has_rows_of(last) or self._room < 0
                or self._count >= MOST_STATES):
            self._begin(connection, table)
            changes = {}
        else:
            changes = plain.difference(last, table)
        if changes or self._state_id is None:
            packed = zlib.compress(json.dumps(changes).encode(), 1)
            if not self._waiting:
                self._next_id = next_id(connection, _states)
            self._state_id = self._next_id + len(self._waiting)
            self._waiting.append({'id': self._state_id, 'changes': packed,
                                  'base_id': self._base_id})
            self._room -= len(packed)
            self._count += 1
        self._table = table
        return self._state_id

    def flush(self, connection):
        """Write the states that were kept since the last time."""
        if self._waiting:
            connection.execute(_INSERT, self._waiting)
            self._waiting = []

    def _begin(self, connection, table):
        hosts = plain.pack(table)
        self._base_id = connection.execute(_bases.insert().values(
            hosts=hosts)).inserted_primary_key[0]
        # What follows takes about as much at most.
        self._state_id, self._room, self._count = None, len(hosts), 0


def next_id(connection, table):
    """Return the id that the next row of a table is to get.

    In a transaction that writes; it was nobody's before.
    """
    last = connection.exec_driver_sql(
        'SELECT seq FROM sqlite_sequence WHERE name = ?',
        (table.name,)).scalar()
    return (last or 0) + 1


def read(connection, state_id):
    """Return the HostTable of a state; None of one that is not kept."""
    base = connection.execute(sa.select(
        _bases.c.id, _bases.c.hosts).join_from(
            _states, _bases, _states.c.base_id == _bases.c.id).where(
                _states.c.id == state_id)).first()
    if base is None:
        return None
    table = plain.unpack(base.hosts)
    for changes in connection.execute(sa.select(_states.c.changes).where(
            _states.c.base_id == base.id, _states.c.id <= state_id).order_by(
                _states.c.id)).scalars():
        table = plain.applied(table, json.loads(zlib.decompress(changes)))
    return table


def forget_oldest(connection, decisions):
    """Have no decision rest on the oldest base: how many did.

    decisions: table with the column ``state_id``.
    The newest base stays, for workers build on it.
    """
    least, count = connection.execute(sa.select(
        sa.func.min(_bases.c.id), sa.func.count())).one()
    if count < 2:
        return 0
    connection.execute(decisions.update().where(
        decisions.c.state_id.in_(sa.select(_states.c.id).where(
            _states.c.base_id == least))).values(state_id=None))
    connection.execute(_states.delete().where(_states.c.base_id == least))
    return connection.execute(_bases.delete().where(
        _bases.c.id == least)).rowcount


def remove_unused(connection, used):
    """Remove the bases that no decision rests on, with their states.

    used: SELECT of the ids of states that decisions rest on.
    """
    rested_on = sa.select(_states.c.base_id).where(_states.c.id.in_(used))
    connection.execute(_states.delete().where(
        _states.c.base_id.not_in(rested_on)))
    connection.execute(_bases.delete().where(
        _bases.c.id.not_in(sa.select(_states.c.base_id))))
