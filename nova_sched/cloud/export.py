"""The cloud that a configuration names as one dict, the form of ``file``.

All cells are read, each at one moment.  Passwords are in no part of it: of
a cell it has the uuid, the name and whether it is disabled.
"""

import contextlib
import datetime
import json

from oslo_db import exception as db_exc
import sqlalchemy as sa

from nova_sched import exception
from nova_sched.cloud import file as cloud_file
from nova_sched.db import api_reader
from nova_sched.db import engine
from nova_sched.db import reader
from nova_sched.db import statements
from nova_sched.db import tables

#: What databases of before Ocata may lack.
_SINCE_CELLS = (tables.cell_mappings, tables.host_mappings)

#: What living rows have to themselves.
_NAMES = {tables.compute_nodes: ('host', 'hypervisor_hostname'),
          tables.services: ('host', 'binary')}


def export(conf):
    """The cloud as a dict that ``file.load`` and json.dump accept.

    Soft-deleted hosts and instances are included; rows of several cells get
    other ids.  Of one and the same row in several cells it is that of the
    last, enabled cells after disabled ones.  Raises DatabaseUnavailable,
    which names the cell, when any of it cannot be read.
    """
    cloud = {'now': cloud_file.utcnow().isoformat()}
    cloud |= {table.name: [] for table in cloud_file.CELL_TABLES}
    with contextlib.closing(reader.HostReader(conf)) as hosts:
        cells = hosts.find_cells()
        api = _read(engine.database(
            conf, 'api_database' if hosts.api_apart else 'database'), _api)
        for cell in sorted(cells, key=lambda cell: not cell.disabled):
            _add(cloud, cell, _cell_rows(cell, conf))
    if hosts.api_apart and api['cells']:
        api['host_mappings'] = cloud.pop('host_mappings')
    cloud.pop('host_mappings', None)
    return cloud | api


def _cell_rows(cell, conf):
    """One cell's rows: dict of table -> list of dicts."""
    try:
        return _read(engine.Database(
            cell.connection, engine.options_from(conf)), _cell)
    except exception.DatabaseUnavailable as error:
        raise exception.DatabaseUnavailable(
            f'Cell {cell} cannot be exported. {error}') from error


def _read(database, what):
    with (contextlib.closing(database),
          database.reading() as connection):
        return what(_Tables(connection, database))


def _add(cloud, cell, found):
    """Add a cell's rows, with ids that no other cell's rows have."""
    for table, rows in found.items():
        into = cloud[table.name]
        if table is tables.instance_system_metadata:
            into += rows
            continue
        first = max((row['id'] for row in into), default=0)
        taken = set().union(*(_names(table, row) for row in rows))
        into[:] = [row for row in into if not _names(table, row) & taken]
        into += [row | {'id': row['id'] + first,
                        'deleted': row['deleted'] and row['deleted'] + first}
                 for row in rows]
    hosts = dict.fromkeys(
        row['host'] for row in found[tables.compute_nodes]
        if row['host'] is not None and not row['deleted'])
    cloud['host_mappings'] = [
        mapping for mapping in cloud.get('host_mappings', ())
        if mapping['host'] not in hosts] + [
        {'host': host, 'cell_uuid': cell.uuid} for host in hosts]


def _names(table, row):
    """What no other row of the table may be called: a set."""
    names = {(row.get('uuid'),)}
    if table in _NAMES and not row['deleted']:
        names.add(tuple(row[name] for name in _NAMES[table]))
    return {name for name in names if None not in name}


class _Tables:
    """Reads whole tables, whichever of our columns they have."""

    def __init__(self, connection, database):
        self._connection, self._masked = connection, database.masked
        self._schema = statements.Schema(connection, database)
        self._present = set(sa.inspect(connection).get_table_names())

    def rows(self, table, alive=False, **instead):
        """All rows by id: list of dicts.

        alive: without soft-deleted rows.  instead: names of columns that
            other eras have in the place of ours.
        """
        if table in _SINCE_CELLS and table.name not in self._present:
            return []
        columns = self._schema.columns(table)
        replaced = {name: other for name, other in instead.items()
                    if name not in columns and other in columns}
        statement = self._schema.select(
            table, [c.name for c in table.c if c.name not in replaced])
        for name, other in replaced.items():
            statement = statement.add_columns(
                sa.literal_column(f'{table.name}.{other}').label(name))
        if alive:
            statement = api_reader.alive(self._schema, table, statement)
        try:
            found = self._connection.execute(statement.order_by(table.c.id))
            names = list(found.keys())
            return [{name: _plain(value) for name, value
                     in zip(names, row, strict=True)} for row in found]
        except (db_exc.DBError, sa.exc.SQLAlchemyError, ValueError,
                TypeError) as error:
            raise exception.DatabaseUnavailable(
                f'Table {table.name} of database {self._masked} cannot be '
                f'exported: {engine.reason(error)}') from error


def _plain(value):
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return value


def _cell(read):
    *whole, metadata = cloud_file.CELL_TABLES
    return {table: read.rows(table) for table in whole} | {metadata: [
        {name: row[name] for name in cloud_file.METADATA_KEYS}
        for row in read.rows(metadata) if not row['deleted']]}


def _api(read):
    cells = read.rows(tables.cell_mappings)
    uuids = {cell['id']: cell['uuid'] for cell in cells}
    return {
        'aggregates': _aggregates(read), 'instance_groups': _groups(read),
        'cells': [{'uuid': cell['uuid'], 'name': cell['name'],
                   'disabled': bool(cell['disabled'])} for cell in cells],
        'host_mappings': [
            {'host': row['host'], 'cell_uuid': uuids[row['cell_id']]}
            for row in read.rows(tables.host_mappings)]}


def _by(rows, parent):
    grouped = {}
    for row in rows:
        grouped.setdefault(row[parent], []).append(row)
    return grouped


def _aggregates(read):
    hosts = _by(read.rows(tables.aggregate_hosts, alive=True), 'aggregate_id')
    items = _by(read.rows(tables.aggregate_metadata, alive=True),
                'aggregate_id')
    return [
        {'id': row['id'], 'uuid': row['uuid'], 'name': row['name'],
         'hosts': [host['host'] for host in hosts.get(row['id'], ())],
         'metadata': {item['key']: item['value']
                      for item in items.get(row['id'], ())}}
        for row in read.rows(tables.aggregates, alive=True)]


def _groups(read):
    """Groups with both spellings of their policy, for either era's reader."""
    policies = _by(read.rows(tables.instance_group_policy, alive=True),
                   'group_id')
    members = _by(read.rows(tables.instance_group_member, alive=True,
                            instance_uuid='instance_id'), 'group_id')
    groups = []
    for row in read.rows(tables.instance_groups, alive=True):
        own = policies.get(row['id'], ())
        groups.append({
            **{name: row[name]
               for name in ('id', 'uuid', 'name', 'project_id', 'user_id')},
            'policies': [policy['policy'] for policy in own],
            'policy': own[0]['policy'] if own else None,
            'rules': _rules(row['uuid'], own[0]['rules'] if own else None),
            'members': [member['instance_uuid']
                        for member in members.get(row['id'], ())]})
    return groups


def _rules(group, text):
    """The rules of a group's policy: dict or None."""
    try:
        return json.loads(text) if text else None
    except ValueError as error:
        raise exception.NovaSchedException(
            f'Instance group {group} cannot be exported: the rules of its '
            f'policy are no JSON: {error}') from error
