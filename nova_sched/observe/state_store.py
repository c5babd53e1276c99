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
    sa.Column('number', sa.Integer, primary_key=True),
    sa.Column('changes', sa.LargeBinary, nullable=False))

#: Made once: what a statement is compiled to is found by it.
_INSERT_BASE, _INSERT_STATE = _bases.insert(), _states.insert()

#: States behind one base, at most: each is read to explain the last one.
MOST_STATES = 5000


class StateWriter:
    """What one worker has written of states.

    Nothing but ``are_kept`` and ``write`` needs a connection: what takes long
    is done before anybody is kept from writing.
    """

    def __init__(self):
        self.forget()

    def forget(self):
        """Begin with a new base."""
        self._table = self._base_id = None
        self._room = self._number = 0
        self._new_bases, self._new_states = [], []

    def are_kept(self, connection, base_ids):
        """Return whether bases are there, or are about to be written."""
        used = base_ids - {base['id'] for base in self._new_bases}
        found = connection.execute(sa.select(_bases.c.id).where(
            _bases.c.id.in_(used))).scalars().all() if used else ()
        return used <= {*found}

    def state_of(self, table):
        """Return the id of a HostTable's base and the number of its state.

        ``write`` is to write them.
        """
        last = self._table
        if last is not None and table.columns is last.columns:
            return self._base_id, self._number
        if (last is None or not table.has_rows_of(last) or self._room < 0
                or self._number >= MOST_STATES):
            hosts = plain.pack(table)
            self._base_id, self._number = secrets.randbits(62), 0
            self._new_bases.append({'id': self._base_id, 'hosts': hosts})
            # What follows takes about as much at most.
            self._room = len(hosts)
        else:
            changes = plain.difference(last, table)
            if changes:
                packed = zlib.compress(json.dumps(changes).encode(), 1)
                self._number += 1
                self._room -= len(packed)
                self._new_states.append({
                    'base_id': self._base_id, 'number': self._number,
                    'changes': packed})
        self._table = table
        return self._base_id, self._number

    def write(self, connection):
        """Write what is new since the last time."""
        for statement, rows in ((_INSERT_BASE, self._new_bases),
                                (_INSERT_STATE, self._new_states)):
            if rows:
                connection.execute(statement, rows)
        self._new_bases, self._new_states = [], []


def read(connection, base_id, number):
    """Return the HostTable of a state; None of one that is not kept."""
    hosts = connection.execute(sa.select(_bases.c.hosts).where(
        _bases.c.id == base_id)).scalar()
    if hosts is None:
        return None
    table = plain.unpack(hosts)
    for changes in connection.execute(sa.select(_states.c.changes).where(
            _states.c.base_id == base_id, _states.c.number <= number).order_by(
                _states.c.number)).scalars():
        table = plain.applied(table, json.loads(zlib.decompress(changes)))
    return table


def forget_oldest(connection, decisions):
    """Have no decision rest on the oldest base; whether there was one.

    decisions: table with the column ``base_id``.
    """
    oldest = connection.execute(sa.select(_bases.c.id).order_by(
        _bases.c.number).limit(1)).scalar()
    if oldest is None:
        return False
    connection.execute(decisions.update().where(
        decisions.c.base_id == oldest).values(base_id=None))
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
