"""Exports the cloud of a configuration as one dict, in the form of ``file``.

Every cell is read in one transaction.  The dict holds no passwords: of a cell
it has the uuid, the name and whether it is disabled.
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
from nova_sched.db import stored_flavors
from nova_sched.db import tables

#: Tables that databases from before Ocata may lack, or ours.
_MAY_LACK = (tables.cell_mappings, tables.host_mappings,
             *(table for *both, _key in stored_flavors.LAYOUTS
               for table in both))

#: Columns that are unique together among rows that are not deleted.
_UNIQUE = {tables.compute_nodes: ('host', 'hypervisor_hostname'),
           tables.services: ('host', 'binary')}


def export(conf):
    """Return the cloud as a dict that ``file.load`` and json.dump accept.

    Soft-deleted hosts and instances are included.  With several cells, rows
    get new ids, and the last cell's copy of a row that several cells have is
    used; enabled cells come after disabled cells.
    Raises DatabaseUnavailable, naming the cell, if a part cannot be read.
    """
    cloud = {'now': cloud_file.utcnow().isoformat()}
    cloud |= {table.name: [] for table in cloud_file.CELL_TABLES}
    cell_of = {}
    with contextlib.closing(reader.HostReader(conf)) as hosts:
        cells = hosts.find_cells()
        api = _read(engine.database(conf, (
            'api_database' if hosts.has_api_database else 'database')),
            _api_tables)
        for cell in sorted(cells, key=lambda cell: not cell.disabled):
            cell_rows = _cell_rows(cell, conf)
            _add(cloud, cell_rows)
            cell_of |= {row['host']: cell.uuid
                        for row in cell_rows[tables.compute_nodes]
                        if row['host'] is not None and not row['deleted']}
    if hosts.has_api_database and api['cells']:
        api['host_mappings'] = [{'host': host, 'cell_uuid': uuid}
                                for host, uuid in cell_of.items()]
    return cloud | api


def _cell_rows(cell, conf):
    """Return one cell's rows: table -> list of dicts."""
    try:
        return _read(engine.Database(
            cell.connection, engine.options_from(conf)), _cell_tables)
    except exception.DatabaseUnavailable as error:
        raise exception.DatabaseUnavailable(
            f'Cell {cell} cannot be exported. {error}') from error


def _read(database, read_tables):
    """Call a function with the _TableReader of a database, then close it."""
    database.timeout = None    # an export may take long
    with (contextlib.closing(database),
          database.reading() as connection):
        return read_tables(_TableReader(connection, database))


def _add(cloud, cell_rows):
    """Add a cell's rows, with ids that no other cell's rows have."""
    for table, rows in cell_rows.items():
        into = cloud[table.name]
        if table is tables.instance_system_metadata:
            into += rows
            continue
        first = max((row['id'] for row in into), default=0)
        keys = set().union(*(_unique_keys(table, row) for row in rows))
        into[:] = [row for row in into
                   if not _unique_keys(table, row) & keys]
        into += [row | {'id': row['id'] + first,
                        'deleted': row['deleted'] and row['deleted'] + first}
                 for row in rows]


def _unique_keys(table, row):
    """Return the unique values of a row: set."""
    keys = {(row.get('uuid'),)}
    if table in _UNIQUE and not row['deleted']:
        keys.add(tuple(row[name] for name in _UNIQUE[table]))
    return {key for key in keys if None not in key}


class _TableReader:
    """A reader of tables, with the columns that a database has."""

    def __init__(self, connection, database):
        self._connection, self._masked = connection, database.masked
        self._schema = statements.Schema(connection, database)
        self._present = set(sa.inspect(connection).get_table_names())

    def rows(self, table, deleted=True, **instead):
        """Return the rows of a table, ordered by id: list of dicts.

        instead: names of columns that other releases have instead, by name.
        """
        if table in _MAY_LACK and table.name not in self._present:
            return []
        columns = self._schema.columns(table)
        replaced = {name: other for name, other in instead.items()
                    if name not in columns and other in columns}
        statement = self._schema.select(
            table, [c.name for c in table.c if c.name not in replaced])
        for name, other in replaced.items():
            statement = statement.add_columns(
                sa.literal_column(f'{table.name}.{other}').label(name))
        if not deleted:
            statement = api_reader.not_deleted(self._schema, table, statement)
        try:
            result = self._connection.execute(statement.order_by(table.c.id))
            names = list(result.keys())
            return [{name: _plain(value) for name, value
                     in zip(names, row, strict=True)} for row in result]
        except (db_exc.DBError, sa.exc.SQLAlchemyError, ValueError,
                TypeError) as error:
            raise exception.DatabaseUnavailable(
                f'Table {table.name} of database {self._masked} cannot be '
                f'exported: {engine.reason(error)}') from error


def _plain(value):
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return value


def _cell_tables(source):
    *whole, metadata = cloud_file.CELL_TABLES
    return {table: source.rows(table) for table in whole} | {metadata: [
        {name: row[name] for name in cloud_file.METADATA_KEYS}
        for row in source.rows(metadata) if not row['deleted']]}


def _api_tables(source):
    cells = source.rows(tables.cell_mappings)
    uuids = {cell['id']: cell['uuid'] for cell in cells}
    return {
        'aggregates': _aggregates(source),
        'instance_groups': _groups(source),
        'cells': [{'uuid': cell['uuid'], 'name': cell['name'],
                   'disabled': bool(cell['disabled'])} for cell in cells],
        'host_mappings': [
            {'host': row['host'], 'cell_uuid': uuids[row['cell_id']]}
            for row in source.rows(tables.host_mappings)],
        'flavors': stored_flavors.gathered(
            lambda table: source.rows(table, deleted=False))}


def _group_by(rows, parent):
    grouped = {}
    for row in rows:
        grouped.setdefault(row[parent], []).append(row)
    return grouped


def _aggregates(source):
    hosts = _group_by(
        source.rows(tables.aggregate_hosts, deleted=False), 'aggregate_id')
    items = _group_by(
        source.rows(tables.aggregate_metadata, deleted=False), 'aggregate_id')
    return [
        {'id': row['id'], 'uuid': row['uuid'], 'name': row['name'],
         'hosts': [host['host'] for host in hosts.get(row['id'], ())],
         'metadata': {item['key']: item['value']
                      for item in items.get(row['id'], ())}}
        for row in source.rows(tables.aggregates, deleted=False)]


def _groups(source):
    """Return groups with both spellings of their policy, old and new."""
    policies = _group_by(
        source.rows(tables.instance_group_policy, deleted=False), 'group_id')
    members = _group_by(source.rows(
        tables.instance_group_member, deleted=False,
        instance_uuid='instance_id'), 'group_id')
    groups = []
    for row in source.rows(tables.instance_groups, deleted=False):
        of_group = policies.get(row['id'], ())
        groups.append({
            **{name: row[name]
               for name in ('id', 'uuid', 'name', 'project_id', 'user_id')},
            'policies': [policy['policy'] for policy in of_group],
            'policy': of_group[0]['policy'] if of_group else None,
            'rules': _rules(row['uuid'],
                            of_group[0]['rules'] if of_group else None),
            'members': [member['instance_uuid']
                        for member in members.get(row['id'], ())]})
    return groups


def _rules(group, text):
    """Return the rules of a group's policy: dict or None."""
    try:
        return json.loads(text) if text else None
    except ValueError as error:
        raise exception.NovaSchedException(
            f'Instance group {group} cannot be exported: the rules of its '
            f'policy are no JSON: {error}') from error
