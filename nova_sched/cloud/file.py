"""Loads a cloud from one JSON file into a database.

``export`` writes such a file.  Its form is a dict of lists of rows:
compute_nodes, services, instances, instance_system_metadata (columns as in
the tables), aggregates (id, uuid, name, hosts, metadata), instance_groups
(id, uuid, name, project_id, user_id, members, and ``policies``, or ``policy``
with ``rules``), cells (uuid, name, disabled), host_mappings (host,
cell_uuid), flavors (name, flavorid, vcpus, memory_mb, root_gb, ephemeral_gb,
swap, extra_specs), which no database gets, and ``now``, the UTC time to which
the time stamps in it, ``YYYY-MM-DDTHH:MM:SS``, are relative.
"""

import datetime
import json

from oslo_db import exception as db_exc
import sqlalchemy as sa

from nova_sched import exception
from nova_sched.db import engine as db_engine
from nova_sched.db import tables

CELL_TABLES = (tables.compute_nodes, tables.services, tables.instances,
               tables.instance_system_metadata)
_API_LISTS = ('aggregates', 'instance_groups', 'cells', 'host_mappings',
              'flavors')
# Errors of the database; other errors come from the rows of the cloud.
_DATABASE_ERRORS = (
    db_exc.DBConnectionError, db_exc.DBNonExistentDatabase,
    db_exc.DBNonExistentTable, db_exc.DBDeadlock)
METADATA_KEYS = ('instance_uuid', 'key', 'value')


class NotACloud(exception.NovaSchedException):
    """A file or dict that does not hold a cloud."""


def load(engine, cloud, now=None, shift=False):
    """Replace the database's hosts, instances, aggregates, groups and cells.

    cloud: the dict that the module's docstring describes.
    now: a naive UTC datetime, by default the current time.
    shift: whether to move the cloud's time stamps by the difference between
        ``now`` and its own ``now``, so that heartbeats keep their age.
    Returns the number of compute nodes.  Raises NotACloud for an invalid
    cloud, and DatabaseUnavailable; both leave the database unchanged.
    """
    check(cloud)
    now = now or utcnow()
    delta = datetime.timedelta(0)
    if shift:
        delta = now - _time(cloud['now'], 'now')
    rows = {table: _cell_rows(table, cloud.get(table.name, ()), delta)
            for table in CELL_TABLES}
    rows.update(_api_rows(cloud, now))
    try:
        with db_engine.writing(engine) as connection:
            _replace(connection, rows)
    except _DATABASE_ERRORS as error:
        raise exception.DatabaseUnavailable(
            f'Database {db_engine.masked(engine.url)}: '
            f'{db_engine.reason(error)}') from error
    except (db_exc.DBError, sa.exc.SQLAlchemyError) as error:
        raise NotACloud(f'The cloud cannot be stored: '
                        f'{db_engine.reason(error)}') from error
    return len(rows[tables.compute_nodes])


def _replace(connection, rows):
    for table in reversed(tables.metadata.sorted_tables):
        if table in rows:
            connection.execute(table.delete())
    for table in tables.metadata.sorted_tables:
        if rows.get(table):
            connection.execute(table.insert(), rows[table])
            if connection.dialect.name == 'postgresql':
                _advance_sequence(connection, table)


def _advance_sequence(connection, table):
    """Advance PostgreSQL's sequence, which ignores explicit ids."""
    connection.execute(sa.select(sa.func.setval(
        sa.func.pg_get_serial_sequence(table.name, 'id'),
        sa.select(sa.func.max(table.c.id)).scalar_subquery())))


def utcnow():
    """Return the current time as databases keep it: naive UTC, seconds."""
    return datetime.datetime.now(datetime.UTC).replace(
        tzinfo=None, microsecond=0)


def check(cloud):
    """Raise NotACloud if an object does not have the form of a cloud."""
    if not isinstance(cloud, dict):
        raise NotACloud(f'A cloud is a JSON object with compute_nodes and '
                        f'services; this is a {type(cloud).__name__}')
    for name in ('compute_nodes', 'services', 'now'):
        if name not in cloud:
            raise NotACloud(f'This is no cloud: it has no "{name}"')
    for name in (*(table.name for table in CELL_TABLES), *_API_LISTS):
        value = cloud.get(name, [])
        if not (isinstance(value, list)
                and all(isinstance(row, dict) for row in value)):
            raise NotACloud(f'"{name}" of the cloud is not a list of objects')
    _time(cloud['now'], 'now')


def _cell_rows(table, rows, delta):
    """Return rows with every column of the table and no other column."""
    required = [c.name for c in table.c if not c.nullable and c.name != 'id']
    times = [c.name for c in table.c if isinstance(c.type, sa.DateTime)]
    made = []
    for number, row in enumerate(rows, 1):
        for name in required:
            if row.get(name) is None:
                raise NotACloud(f'{table.name} row {number} has no "{name}"')
        new = {c.name: row.get(c.name) for c in table.c}
        new['id'] = number if new['id'] is None else new['id']
        new['deleted'] = new['deleted'] or 0
        for name in times:
            if new[name] is not None:
                where = f'{table.name} row {number} {name}'
                new[name] = _time(new[name], where) + delta
        made.append(new)
    return made


def _time(value, where):
    try:
        time = datetime.datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise NotACloud(
            f'{where} = {value!r}: this is no time stamp '
            f'YYYY-MM-DDTHH:MM:SS') from error
    if time.tzinfo is not None:
        time = time.astimezone(datetime.UTC).replace(tzinfo=None)
    return time


def _api_rows(cloud, now):
    rows = {table: [] for table in (
        tables.aggregates, tables.aggregate_hosts, tables.aggregate_metadata,
        tables.instance_groups, tables.instance_group_policy,
        tables.instance_group_member, tables.cell_mappings,
        tables.host_mappings)}
    try:
        _aggregate_rows(rows, cloud.get('aggregates', ()))
        _group_rows(rows, cloud.get('instance_groups', ()))
        _mapping_rows(rows, cloud.get('cells', ()),
                      cloud.get('host_mappings', ()))
    except (KeyError, TypeError, AttributeError) as error:
        raise NotACloud(
            f'An aggregate, instance group, cell or host mapping of the '
            f'cloud lacks or mistypes {error}') from error
    for made in rows.values():
        for number, row in enumerate(made, 1):
            row.setdefault('id', number)
            row['created_at'] = now
    return rows


def _aggregate_rows(rows, aggregates):
    for entry in aggregates:
        rows[tables.aggregates].append(
            {'id': entry['id'], 'uuid': entry.get('uuid'),
             'name': entry['name']})
        rows[tables.aggregate_hosts] += [
            {'aggregate_id': entry['id'], 'host': host}
            for host in entry['hosts']]
        rows[tables.aggregate_metadata] += [
            {'aggregate_id': entry['id'], 'key': key, 'value': value}
            for key, value in entry['metadata'].items()]


def _group_rows(rows, groups):
    for entry in groups:
        rows[tables.instance_groups].append(
            {name: entry[name]
             for name in ('id', 'uuid', 'name', 'project_id', 'user_id')})
        policies = entry.get('policies')
        if policies is None:
            policies = [entry['policy']]
        rules = entry.get('rules')
        rows[tables.instance_group_policy] += [
            {'group_id': entry['id'], 'policy': policy,
             'rules': rules if rules is None else json.dumps(rules)}
            for policy in policies]
        rows[tables.instance_group_member] += [
            {'group_id': entry['id'], 'instance_uuid': member}
            for member in entry['members']]


def _mapping_rows(rows, cells, mappings):
    ids = {cell['uuid']: number for number, cell in enumerate(cells, 1)}
    rows[tables.cell_mappings] += [
        {'uuid': cell['uuid'], 'name': cell['name'],
         'disabled': bool(cell.get('disabled'))} for cell in cells]
    rows[tables.host_mappings] += [
        {'host': mapping['host'], 'cell_id': ids[mapping['cell_uuid']]}
        for mapping in mappings]
