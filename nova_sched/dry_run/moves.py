"""What a conductor makes of a stored request before it asks for a host."""

import copy

from nova_sched import exception
from nova_sched import objects

BOOT, RESIZE, LIVE_MIGRATION, EVACUATE, UNSHELVE = OPERATIONS = (
    'boot', 'resize', 'live-migration', 'evacuate', 'unshelve')

_DATA = 'nova_object.data'


def as_asked(spec, operation, instance, same_host=False):
    """Return the envelope of a RequestSpec as a conductor sends it.

    spec: envelope of the request that it has of the instance.
    operation: one of OPERATIONS but BOOT.
    instance: stored_requests.StoredInstance.
    same_host: whether a resize may stay where it is, as with Nova's
        [DEFAULT] allow_resize_to_same_host.

    The instance's own host is ignored, forced hosts are forgotten, and the
    instance stays in its cell.
    Raises InvalidInput for an instance that cannot be moved so.
    """
    _check(operation, instance)
    made = copy.deepcopy(spec)
    data = made[_DATA]
    ignored = list(data.get('ignore_hosts') or [])
    if instance.host is not None and not (
            operation == RESIZE and same_host):
        ignored.append(instance.host)
    data |= {'instance_uuid': instance.uuid, 'ignore_hosts': ignored or None,
             'force_hosts': None, 'force_nodes': None, 'retry': None}
    if instance.cell_uuid is not None:
        data['requested_destination'] = _in_cell(
            data.get('requested_destination'), instance.cell_uuid)
    return made


def _check(operation, instance):
    if operation == UNSHELVE and instance.host is not None:
        raise exception.InvalidInput(
            reason=f'--for unshelve: instance {instance.uuid} is on host '
                   f'{instance.host}, where it is unshelved without a '
                   'scheduler; only an offloaded one gets another host')
    if operation != UNSHELVE and instance.host is None:
        raise exception.InvalidInput(
            reason=f'--for {operation}: instance {instance.uuid} is on no '
                   f'host (its state is {instance.vm_state}); an offloaded '
                   'one gets a host with --for unshelve')


def _in_cell(destination, cell_uuid):
    """Return the envelope of a Destination, in a cell."""
    cell = objects.CellMapping(uuid=cell_uuid)
    if destination is None:
        return objects.Destination(cell=cell).obj_to_primitive()
    destination[_DATA].setdefault('cell', cell.obj_to_primitive())
    return destination
