"""The tables of the store of decisions, and their statements."""

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from nova_sched.observe import decision_document
from nova_sched.observe import state_store

#: Decisions that are kept whatever they take: the newest ones.
NEWEST = 20
#: Values of one statement: of any SQLite.
MOST_PARAMETERS = 900

metadata = state_store.metadata

host_names = sa.Table(
    'host_names', metadata,
    # Made of the names, so that it is never that of others.
    sa.Column('id', sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column('names', sa.LargeBinary, nullable=False))

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
    # Of the base of its batch.
    sa.Column('state', sa.Integer),
    # Of the first octet of it in the batch.
    sa.Column('start', sa.Integer, nullable=False),
    # Numbers of decisions that are gone are nobody else's.
    sqlite_autoincrement=True)

# Consecutive decisions in one piece: they have nearly all in common.
batches = sa.Table(
    'batches', metadata,
    # Ids of decisions, as are all between.
    sa.Column('first', sa.Integer, primary_key=True),
    sa.Column('last', sa.Integer, nullable=False),
    sa.Column('host_names_id', sa.BigInteger, index=True),
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
#: How one row of each is inserted.
_INSERTS = {table: str(table.insert().compile(dialect=sqlite.dialect()))
            for table in (batches, decisions, instances)}
#: Another worker may have written the same ones.
INSERT_NAMES = host_names.insert().prefix_with('OR IGNORE')


def insert_all(connection, table, rows):
    """Insert rows, dicts with a value for each column, in few steps.

    In each step, other threads go on; executemany makes one a row.
    """
    names, of_one = table.columns.keys(), _INSERTS[table]
    values = of_one[of_one.rindex('('):]
    at_once = MOST_PARAMETERS // len(names)
    for start in range(0, len(rows), at_once):
        some = rows[start:start + at_once]
        connection.exec_driver_sql(
            of_one + f', {values}' * (len(some) - 1),
            tuple(row[name] for row in some for name in names))


def remove(connection, condition):
    """Remove decisions for which a condition holds; return how many."""
    connection.execute(instances.delete().where(
        instances.c.decision_id.in_(
            sa.select(decisions.c.id).where(condition))))
    return connection.execute(decisions.delete().where(condition)).rowcount


def remove_oldest(connection):
    """Remove some of the oldest decisions; return whether there were any.

    The newest ones stay, whatever they take.
    """
    least, count = connection.execute(sa.select(
        sa.func.min(decisions.c.id), sa.func.count())).one()
    if count <= NEWEST:
        return False
    remove(connection, decisions.c.id < least + max(1, min(
        count - NEWEST, count // 20)))
    remove_unused(connection)
    return True


def remove_unused(connection):
    """Remove the batches, names and states that no decision needs."""
    connection.execute(batches.delete().where(
        ~sa.exists().where(_IS_OF_BATCH)))
    names, bases = batches.c.host_names_id, batches.c.base_id
    connection.execute(host_names.delete().where(host_names.c.id.not_in(
        sa.select(names).where(names.is_not(None)))))
    state_store.remove_unused(connection, sa.select(bases).where(
        bases.is_not(None)))


def first_hosts(connection, number):
    """Return the hosts of the first instances of a decision: tuple."""
    return tuple(connection.execute(
        sa.select(instances.c.host).where(
            instances.c.decision_id == number,
            instances.c.host.is_not(None))
        .limit(decision_document.NAMED)).scalars())


def row_of(connection, number):
    """Return the row of a decision with its batch; None if there is none."""
    return connection.execute(sa.select(
        decisions.c.state, decisions.c.start, batches, host_names.c.names)
        .join(batches, _IS_OF_BATCH).outerjoin(
            host_names, host_names.c.id == batches.c.host_names_id)
        .where(decisions.c.id == number)
        .order_by(batches.c.first.desc()).limit(1)).first()
