"""The states of the hosts that decisions rest on, beside the decisions.

A state is the host table as rules saw it, with what was in flight.  A worker
keeps a whole table now and then (a *base*), and for each decision after it
only what is otherwise than for the one before, which often is nothing.  So
there is a base for every few thousand decisions, and what an explanation needs
is within one of them.
"""

import json
import secrets
import zlib

import sqlalchemy as sa

from nova_sched.hosts import plain

metadata = sa.MetaData()

_bases = sa.Table(
    'bases', metadata,
    sa.Column('number', sa.Integer, primary_key=True),
    # Workers make these up, so that none is ever another one's.
    sa.Column('id', sa.BigInteger, nullable=False, unique=True),
    sa.Column('hosts', sa.LargeBinary, nullable=False))

_states = sa.Table(
    'states', metadata,
    sa.Column('base_id', sa.BigInteger, primary_key=True),
    # Of the one that the first change is after.
    sa.Column('number', sa.Integer, primary_key=True),
    sa.Column('changes', sa.LargeBinary, nullable=False))

#: States behind one base, at most: each is read to explain the last one.
MOST_STATES = 5000
#: Rows of tables that are compared at once, of each column: 8 MB.
MOST_AT_ONCE = 1 << 20


class StateWriter:
    """What one worker has written of states.

    Nothing but ``are_kept`` and ``write`` needs a connection: what takes long
    is done before anybody is kept from writing.
    """

    def __init__(self):
        self.forget()

    def forget(self):
        """Begin with a new base."""
        self._base_id = None
        self._room = self._number = 0
        self._new_bases, self._new_states = [], []
        # The last one that is packed, and those after it.
        self._tables = []

    def are_kept(self, connection, base_ids):
        """Return whether bases are there, or are about to be written."""
        used = base_ids - {base['id'] for base in self._new_bases}
        found = connection.execute(sa.select(_bases.c.id).where(
            _bases.c.id.in_(used))).scalars().all() if used else ()
        return used <= {*found}

    def state_of(self, table):
        """Return the id of a HostTable's base and the number of its state.

        ``pack`` and ``write`` are to write them.
        """
        last = self._tables[-1] if self._tables else None
        if last is not None and table.columns is last.columns:
            return self._base_id, self._number
        if (last is None or not table.has_rows_of(last) or self._room < 0
                or self._number >= MOST_STATES):
            self.pack()
            hosts = plain.pack(table)
            self._base_id, self._number = secrets.randbits(62), 0
            self._new_bases.append({'id': self._base_id, 'hosts': hosts})
            # What follows takes about as much at most.
            self._room, self._tables = len(hosts), [table]
        else:
            self._number += 1
            self._tables.append(table)
            if len(self._tables) * table.size > MOST_AT_ONCE:
                self.pack()
        return self._base_id, self._number

    def pack(self):
        """Make rows of the states that are new since the last time."""
        changes = plain.differences(self._tables)
        if changes:
            packed = zlib.compress(json.dumps(changes).encode(), 3)
            self._room -= len(packed)
            self._new_states.append({
                'base_id': self._base_id, 'changes': packed,
                'number': self._number - len(self._tables) + 1})
        del self._tables[:-1]

    def write(self, connection):
        """Write what is packed since the last time."""
        for table, rows in ((_bases, self._new_bases),
                            (_states, self._new_states)):
            if rows:
                connection.execute(table.insert(), rows)
        self._new_bases, self._new_states = [], []


def read(connection, base_id, number):
    """Return the HostTable of a state; None of one that is not kept."""
    hosts = connection.execute(sa.select(_bases.c.hosts).where(
        _bases.c.id == base_id)).scalar()
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


def forget_oldest(connection, batches):
    """Have no decision rest on the oldest base; whether there was one.

    batches: table of decisions with the column ``base_id``.
    """
    oldest = connection.execute(sa.select(_bases.c.id).order_by(
        _bases.c.number).limit(1)).scalar()
    if oldest is None:
        return False
    connection.execute(batches.update().where(
        batches.c.base_id == oldest).values(base_id=None))
    _remove(connection, oldest)
    return True


def remove_unused(connection, used):
    """Remove the bases that no decision rests on, with their states.

    used: SELECT of the ids of bases that decisions rest on.
    """
    for base_id in connection.execute(sa.select(_bases.c.id).where(
            _bases.c.id.not_in(used))).scalars().all():
        _remove(connection, base_id)


def _remove(connection, base_id):
    connection.execute(_states.delete().where(
        _states.c.base_id == base_id))
    connection.execute(_bases.delete().where(_bases.c.id == base_id))
