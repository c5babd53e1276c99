"""The host states that decisions are based on, stored with the decisions.

A state is the host table as rules saw it, assumed instances included.  Now
and then a worker stores a whole table, a *base*; for each decision after it
only the changes since the decision before, often none.  A base serves a few
thousand decisions, and an explanation reads one base and its changes.
"""

import json
import secrets
import zlib

import sqlalchemy as sa

from nova_sched.hosts import plain

metadata = sa.MetaData()

bases = sa.Table(
    'bases', metadata,
    sa.Column('number', sa.Integer, primary_key=True),
    # Random, so the bases of two workers never share an id.
    sa.Column('id', sa.BigInteger, nullable=False, unique=True),
    # The (host, node) of each row: compressed JSON.
    sa.Column('names', sa.LargeBinary, nullable=False),
    # NULL after they were removed to make room.
    sa.Column('hosts', sa.LargeBinary))

_states = sa.Table(
    'states', metadata,
    sa.Column('base_id', sa.BigInteger, primary_key=True),
    # Number of the state that the first change applies to.
    sa.Column('number', sa.Integer, primary_key=True),
    sa.Column('changes', sa.LargeBinary, nullable=False))

#: Most states after one base: reading the last one reads all of them.
MOST_STATES = 5000
#: Most rows of tables that are compared at once, for each column: 8 MB.
MOST_AT_ONCE = 1 << 20


class StateWriter:
    """The states that one worker writes.

    Only ``are_stored`` and ``write`` need a connection: the expensive work is
    done before the transaction, which blocks other writers.
    """

    def __init__(self):
        self.forget()

    def forget(self):
        """Start with a new base."""
        self._base_id = None
        self._room = self._number = 0
        self._new_bases, self._new_states = [], []
        # The last packed table, and the tables after it.
        self._tables = []

    def are_stored(self, connection, base_ids):
        """Return whether bases are stored, or about to be written."""
        used = base_ids - {base['id'] for base in self._new_bases}
        stored = connection.execute(sa.select(bases.c.id).where(
            bases.c.id.in_(used), bases.c.hosts.is_not(None))
        ).scalars().all() if used else ()
        return used <= {*stored}

    def state_of(self, table):
        """Return the id of a HostTable's base and the number of its state.

        They are stored by ``pack`` and ``write``.
        """
        last = self._tables[-1] if self._tables else None
        if last is not None and table.columns is last.columns:
            return self._base_id, self._number
        if (last is None or not table.has_rows_of(last) or self._room < 0
                or self._number >= MOST_STATES):
            self.pack()
            hosts = plain.pack(table)
            self._base_id, self._number = secrets.randbits(62), 0
            self._new_bases.append({
                'id': self._base_id, 'hosts': hosts, 'names': compressed(
                    [*zip(*(table.columns[name].items()
                            for name in ('host', 'nodename')), strict=True)])})
            # The changes may take as much room as the base.
            self._room, self._tables = len(hosts), [table]
        else:
            self._number += 1
            self._tables.append(table)
            if len(self._tables) * table.size > MOST_AT_ONCE:
                self.pack()
        return self._base_id, self._number

    def pack(self):
        """Turn the states since the last call into rows."""
        changes = plain.differences(self._tables)
        if changes:
            packed = compressed(changes)
            self._room -= len(packed)
            self._new_states.append({
                'base_id': self._base_id, 'changes': packed,
                'number': self._number - len(self._tables) + 1})
        del self._tables[:-1]

    def write(self, connection):
        """Write the rows that were packed since the last call."""
        for table, rows in ((bases, self._new_bases),
                            (_states, self._new_states)):
            if rows:
                connection.execute(table.insert(), rows)
        self._new_bases, self._new_states = [], []


def compressed(value):
    """Return plain JSON as compressed bytes."""
    # Level 3 compresses it as fast as level 1.
    return zlib.compress(json.dumps(value).encode(), 3)


def read(connection, base_id, number):
    """Return the HostTable of a state; None if it is not stored."""
    hosts = connection.execute(sa.select(bases.c.hosts).where(
        bases.c.id == base_id)).scalar()
    if hosts is None:
        return None
    table = plain.unpack(hosts)
    for first, changes in connection.execute(sa.select(
            _states.c.number, _states.c.changes).where(
                _states.c.base_id == base_id, _states.c.number < number)
            .order_by(_states.c.number)):
        table = plain.applied(table, json.loads(zlib.decompress(changes)),
                              number - first)
    return table


def forget_oldest(connection):
    """Remove the hosts of the oldest base; return whether there were any.

    Its decisions stay, with the names of the hosts only.
    """
    oldest = connection.execute(sa.select(bases.c.id).where(
        bases.c.hosts.is_not(None)).order_by(bases.c.number).limit(1)).scalar()
    if oldest is None:
        return False
    connection.execute(bases.update().where(
        bases.c.id == oldest).values(hosts=None))
    connection.execute(_states.delete().where(_states.c.base_id == oldest))
    return True


def remove_unused(connection, used):
    """Remove the bases that no decision refers to, with their states.

    used: SELECT of the ids of bases that decisions refer to.
    """
    unused = bases.c.id.not_in(used)
    connection.execute(_states.delete().where(
        _states.c.base_id.in_(sa.select(bases.c.id).where(unused))))
    connection.execute(bases.delete().where(unused))
