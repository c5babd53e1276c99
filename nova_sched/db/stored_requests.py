"""Reads the stored request of an instance, its server group and its host.

Requests and server groups are in the API database, instances in their cells.
"""

import dataclasses
import functools
import json

import sqlalchemy as sa

from nova_sched import exception
from nova_sched.db import api_reader
from nova_sched.db import cells
from nova_sched.db import engine
from nova_sched.db import reader
from nova_sched.db import statements
from nova_sched.db import tables

_request_specs = sa.table('request_specs', sa.column('instance_uuid'),
                          sa.column('spec'))
_DATA = 'nova_object.data'


@dataclasses.dataclass(frozen=True)
class StoredInstance:
    """An instance's row and cell.

    host: None if it is on no host.
    cell_uuid: None in a database without cells.
    """

    uuid: str
    host: str | None
    vm_state: str | None
    cell_uuid: str | None


class StoredRequests:
    """A reader of the databases of a ConfigOpts."""

    def __init__(self, conf):
        self._api = engine.database(
            conf, 'api_database' if conf.api_database.connection
            else 'database')
        self._hosts = reader.HostReader(conf, compute_node_columns=(
            'uuid', 'host', 'hypervisor_hostname'))

    def close(self):
        """Close idle connections."""
        self._api.close()
        self._hosts.close()

    def spec(self, uuid):
        """Return the stored RequestSpec of an instance: an envelope, a dict.

        It has the current server group, without the hosts of its members.
        Raises InvalidInput if there is no request or it is no JSON, and
        DatabaseUnavailable.
        """
        with self._api.reading() as connection:
            schema = statements.Schema(connection, self._api)
            if not schema.present(_request_specs):
                raise exception.InvalidInput(
                    reason=f'--instance: database {self._api.masked} has no '
                           'table request_specs, as an API database of Nova '
                           'has; give the request by options or --spec')
            text = connection.execute(
                sa.select(_request_specs.c.spec)
                .where(_request_specs.c.instance_uuid == uuid)).scalar()
            try:
                spec = json.loads(text or 'null')
                data = spec[_DATA]
            except (ValueError, TypeError, KeyError):
                raise exception.InvalidInput(
                    reason=f'--instance {uuid}: database '
                           f'{self._api.masked} has '
                           + ('a request of it that cannot be read'
                              if text else 'no request of it')) from None
            data['instance_group'] = _group(
                functools.partial(api_reader.rows, connection, schema), data)
        return spec

    def instance(self, uuid):
        """Return the StoredInstance of a uuid.

        Raises InvalidInput if there is none, and DatabaseUnavailable if a
        cell that may have it cannot be read.
        """
        rows = self._hosts.for_each_cell(_read_instance, uuid)
        for cell, row in rows.items():
            if row is not None:
                return StoredInstance(uuid, *row, self._cell_of(cell, row[0]))
        if self._hosts.unavailable_cells() or not rows:
            raise self._hosts.none_answers()
        raise exception.InvalidInput(
            reason=f'there is no instance {uuid} in any cell')

    def _cell_of(self, cell, host):
        if cell.uuid != cells.SINGLE_CELL_UUID:
            return cell.uuid
        return self._hosts.host_cells().get(host)


def _group(rows, data):
    """Return the envelope of a request's current server group, or None.

    rows: ``api_reader.rows`` of the API database.
    data: of the request's envelope; the hint of a deleted group is removed
        from it.
    """
    stored = data.get('instance_group')
    hints = data.get('scheduler_hints') or {}
    uuid = ((stored or {}).get(_DATA, {}).get('uuid')
            or next(iter(hints.get('group') or ()), None))
    if stored is None or uuid is None:
        return None
    groups = rows(tables.instance_groups, ('id',), uuid=uuid)
    if not groups:
        hints.pop('group', None)
        return None
    of_group = {'group_id': groups[0]['id']}
    [stored_policy, *_] = rows(
        tables.instance_group_policy, ('policy', 'rules'), **of_group) or [{}]
    policy = stored_policy.get('policy')
    current = {'uuid': uuid, 'hosts': None, 'members': [
        row['instance_uuid'] for row in rows(
            tables.instance_group_member, ('instance_uuid',), **of_group)],
        'policies': [policy] if policy else []}
    if 'policy' in stored[_DATA]:
        current |= {'policy': policy, '_rules': json.loads(
            stored_policy.get('rules') or '{}')}
    return {**stored, _DATA: {**stored[_DATA], **current}}


def _read_instance(cell, uuid):
    """Return (host, vm_state) of an instance in a cell, or None.

    cell: cell_reader.CellReader.
    """
    c = tables.instances.c
    with cell.required(), cell.db.reading() as connection:
        row = connection.execute(sa.select(c.host, c.vm_state).where(
            c.uuid == uuid, c.deleted == 0)).first()
    return None if row is None else tuple(row)


