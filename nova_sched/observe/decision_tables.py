"""The tables of the store of decisions, and their statements."""

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from nova_sched.observe import decision_document
from nova_sched.observe import state_store

#: The newest decisions that stay whatever their size.
NEWEST = 20
#: Most values in one statement, for any SQLite.
MOST_PARAMETERS = 900

metadata = state_store.metadata

decisions = sa.Table(
    'decisions', metadata,
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('request_id', sa.Text, index=True),
    sa.Column('arrived', sa.Float, nullable=False, index=True),
    sa.Column('outcome', sa.Text),
    sa.Column('instances', sa.Integer, nullable=False),
    sa.Column('reason', sa.Text),
    sa.Column('code', sa.Text),
    sa.Column('kind', sa.Text),
    sa.Column('service', sa.Text),
    # Number of the state behind the base of its batch.
    sa.Column('state', sa.Integer),
    # Offset of the decision in the pieces of its batch.
    sa.Column('start', sa.Integer, nullable=False),
    # The numbers of removed decisions are not used again.
    sqlite_autoincrement=True)

# Consecutive decisions are compressed together: they are much alike.
batches = sa.Table(
    'batches', metadata,
    # First and last id of its decisions.
    sa.Column('first', sa.Integer, primary_key=True),
    sa.Column('last', sa.Integer, nullable=False),
    sa.Column('base_id', sa.BigInteger, index=True),
    sa.Column('pieces', sa.LargeBinary, nullable=False))

instances = sa.Table(
    'instances', metadata,
    sa.Column('decision_id', sa.Integer, primary_key=True),
    sa.Column('place', sa.Integer, primary_key=True),
    sa.Column('uuid', sa.Text, index=True),
    sa.Column('host', sa.Text, index=True),
    sqlite_with_rowid=False)

_IS_OF_BATCH = decisions.c.id.between(batches.c.first, batches.c.last)
#: The statement that inserts one row.
_INSERTS = {table: str(table.insert().compile(dialect=sqlite.dialect()))
            for table in (batches, decisions, instances)}


def insert_all(connection, table, rows):
    """Insert rows, dicts with a value for each column, in few statements.

    Other threads run after each statement; executemany makes one for each row.
    """
    names, statement = table.columns.keys(), _INSERTS[table]
    values = statement[statement.rindex('('):]
    at_once = MOST_PARAMETERS // len(names)
    for start in range(0, len(rows), at_once):
        part = rows[start:start + at_once]
        connection.exec_driver_sql(
            statement + f', {values}' * (len(part) - 1),
            tuple(row[name] for row in part for name in names))


def remove(connection, condition):
    """Remove the decisions that fulfil a condition; return their number."""
    connection.execute(instances.delete().where(
        instances.c.decision_id.in_(
            sa.select(decisions.c.id).where(condition))))
    return connection.execute(decisions.delete().where(condition)).rowcount


def remove_oldest(connection):
    """Remove some of the oldest decisions; return whether there were any.

    The NEWEST ones stay, whatever their size.
    """
    oldest, count = connection.execute(sa.select(
        sa.func.min(decisions.c.id), sa.func.count())).one()
    if count <= NEWEST:
        return False
    remove(connection, decisions.c.id < oldest + max(1, min(
        count - NEWEST, count // 20)))
    remove_unused(connection)
    return True


def remove_unused(connection):
    """Remove the batches and states that no decision refers to."""
    connection.execute(batches.delete().where(
        ~sa.exists().where(_IS_OF_BATCH)))
    used = batches.c.base_id
    state_store.remove_unused(connection, sa.select(used).where(
        used.is_not(None)))


def first_hosts(connection, number):
    """Return the hosts of the first instances of a decision: tuple."""
    return tuple(connection.execute(
        sa.select(instances.c.host).where(
            instances.c.decision_id == number,
            instances.c.host.is_not(None))
        .limit(decision_document.NAMED)).scalars())


def row_of(connection, number):
    """Return the row of a decision with its batch; None if there is none."""
    bases = state_store.bases
    return connection.execute(sa.select(
        decisions.c.state, decisions.c.start, batches, bases.c.names)
        .join(batches, _IS_OF_BATCH).outerjoin(
            bases, bases.c.id == batches.c.base_id)
        .where(decisions.c.id == number)
        .order_by(batches.c.first.desc()).limit(1)).first()
