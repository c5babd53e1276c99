"""Reads Nova's flavors from the API database.

Before Newton they are instance types in the nova database.
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


#: (table of flavors, table of extra specs, its column with the flavor's id).
LAYOUTS = (
    _layout('flavors', 'flavor_extra_specs', 'flavor_id'),
    _layout('instance_types', 'instance_type_extra_specs',
            'instance_type_id'))


def gathered(rows):
    """Return flavors: list of dicts of name, flavorid, SIZES, extra_specs.

    rows: function that returns the rows of a table, a list of dicts; empty
        if the table does not exist.
    """
    for table, specs, key in LAYOUTS:
        flavors = {row.pop('id'): row | {'extra_specs': {}}
                   for row in rows(table)}
        if flavors:
            for row in rows(specs):
                if row[key] in flavors:
                    flavors[row[key]]['extra_specs'][row['key']] = row['value']
            return list(flavors.values())
    return []


def read(conf):
    """Return the flavors of a cloud, as ``gathered`` does, and their source.

    The source is a text.
    Raises DatabaseUnavailable.
    """
    databases = [engine.database(conf, name)
                 for name in ('api_database', 'database')
                 if conf[name].connection]
    flavors = []
    for database in databases:
        with contextlib.closing(database), database.reading() as connection:
            flavors = gathered(functools.partial(
                api_reader.rows, connection,
                statements.Schema(connection, database)))
        if flavors:
            break
    return flavors, ' or '.join(
        f'database {database.masked}' for database in databases)
