"""Reads the flavors that Nova keeps, in its API database.

Before Newton they are instance types, in the one nova database.
"""

import contextlib
import functools

import sqlalchemy as sa

from nova_sched.db import api_reader
from nova_sched.db import engine
from nova_sched.db import statements

#: Sizes of a flavor: MB of memory and swap, GB of disks.
SIZES = ('vcpus', 'memory_mb', 'root_gb', 'ephemeral_gb', 'swap')


def _table(name, *columns):
    return sa.table(name, *map(sa.column, ('id', *columns)))


def _layout(name, specs, key):
    return (_table(name, 'name', 'flavorid', *SIZES),
            _table(specs, key, 'key', 'value'), key)


#: (flavors, their extra specs, column of those that names the flavor).
LAYOUTS = (
    _layout('flavors', 'flavor_extra_specs', 'flavor_id'),
    _layout('instance_types', 'instance_type_extra_specs',
            'instance_type_id'))


def gathered(rows):
    """Return flavors: list of dicts of name, flavorid, SIZES, extra_specs.

    rows: function of a table: its rows, a list of dicts; empty where there is
        no such table.
    """
    for flavors, specs, key in LAYOUTS:
        found = {row.pop('id'): row | {'extra_specs': {}}
                 for row in rows(flavors)}
        if found:
            for row in rows(specs):
                if row[key] in found:
                    found[row[key]]['extra_specs'][row['key']] = row['value']
            return list(found.values())
    return []


def read(conf):
    """Return the flavors of a cloud, as ``gathered`` does, and where they are.

    The second value is a text.
    Raises DatabaseUnavailable.
    """
    names = [name for name in ('api_database', 'database')
             if conf[name].connection]
    databases = [engine.database(conf, name) for name in names]
    for database in databases:
        with contextlib.closing(database), database.reading() as connection:
            found = gathered(functools.partial(
                _rows, connection, statements.Schema(connection, database)))
        if found:
            break
    else:
        found = []
    return found, ' or '.join(
        f'database {database.masked}' for database in databases)


def _rows(connection, schema, table):
    if not schema.present(table):
        return []
    statement = api_reader.not_deleted(
        schema, table, schema.select(table, list(table.c.keys())))
    return [row._asdict() for row in connection.execute(
        statement.order_by(table.c.id))]
