"""Columns of instances that are read on demand.

The tables are Nova's. The embedded database lacks some of them, and older
releases lack columns; these details are unknown then.
"""

import sqlalchemy as sa

_ROW = ('id', 'instance_uuid', 'deleted')
_TEXTS = ('availability_zone', 'display_name', 'hostname', 'os_type')
_TIMES = ('created_at', 'launched_at', 'updated_at')

_instances = sa.table(
    'instances', *map(sa.column, ('uuid', 'host', 'deleted', 'power_state',
                                  *_TEXTS)),
    *(sa.column(name, sa.DateTime) for name in _TIMES))
_extra = sa.table('instance_extra', *map(sa.column, (
    *_ROW, 'flavor', 'numa_topology', 'pci_requests')))
_PAIRS = {name: sa.table(f'instance_{name}', *map(sa.column, (
    *_ROW, 'key', 'value'))) for name in ('metadata', 'system_metadata')}

_DEVICES = sa.table('block_device_mapping', *map(sa.column, (
    *_ROW, 'device_name', 'source_type', 'destination_type', 'guest_format',
    'boot_index', 'volume_id', 'volume_size', 'image_id',
    'delete_on_termination', 'no_device')))

#: The column that narrows a statement to hosts.
HOST = _instances.c.host


class InstanceDetails:
    """The statements that read details from one database."""

    def __init__(self):
        self._columns = {}

    def statement(self, schema, name):
        """Return a SELECT of one detail, or None if the database lacks it.

        Its columns are the uuid and the value; for metadata the uuid, key and
        value; for block devices the uuid and their columns.
        schema: statements.Schema.  name: of a column, ``metadata``,
            ``system_metadata`` or ``block_device_mapping``.
        """
        table, columns = _source(name)
        if table.name not in self._columns:
            self._columns[table.name] = schema.present(table)
        if not {column.name for column in columns} <= self._columns[
                table.name]:
            return None
        statement = sa.select(_instances.c.uuid, *columns).where(
            _instances.c.deleted == 0)
        if table is _instances:
            return statement
        return statement.where(table.c.instance_uuid == _instances.c.uuid,
                               table.c.deleted == 0).order_by(table.c.id)


def by_uuid(rows):
    """Return the rows of a statement as {uuid: value}.

    Metadata is a dict, block devices are a list of dicts.
    """
    values = {}
    for uuid, *value in rows:
        if len(value) == len(_DEVICES.c) - len(_ROW):
            values.setdefault(uuid, []).append(dict(zip(
                _DEVICES.c.keys()[len(_ROW):], value, strict=True)))
        elif len(value) == 1:
            values[uuid], = value
        else:
            key, text = value
            values.setdefault(uuid, {})[key] = text
    return values


def _source(name):
    """Return the table of a detail, and the columns to read."""
    if name in _PAIRS:
        table = _PAIRS[name]
        return table, (table.c.key, table.c.value)
    if name == _DEVICES.name:
        return _DEVICES, list(_DEVICES.c)[len(_ROW):]
    table = _extra if name in _extra.c else _instances
    return table, (table.c[name],)
