"""The request that a conductor derives from an instance's stored request."""

import copy

from nova_sched import exception
from nova_sched import objects

BOOT, RESIZE, LIVE_MIGRATION, EVACUATE, UNSHELVE = OPERATIONS = (
    'boot', 'resize', 'live-migration', 'evacuate', 'unshelve')

_DATA = 'nova_object.data'


def as_asked(spec, operation, instance, same_host=False):
    """Return the envelope of a RequestSpec as a conductor sends it.

    spec: envelope of the stored request.
    operation: one of OPERATIONS but BOOT.
    instance: stored_requests.StoredInstance.
    same_host: whether a resize may stay on its host, as with Nova's
        [DEFAULT] allow_resize_to_same_host.

    Ignores the instance's own host, removes forced hosts, and keeps the
    instance in its cell.
    Raises InvalidInput if the operation does not apply to the instance.
    """
    _check(operation, instance)
    request = copy.deepcopy(spec)
    data = request[_DATA]
    ignored = list(data.get('ignore_hosts') or [])
    if instance.host is not None and not (
            operation == RESIZE and same_host):
        ignored.append(instance.host)
    data |= {'instance_uuid': instance.uuid, 'ignore_hosts': ignored or None,
             'force_hosts': None, 'force_nodes': None, 'retry': None}
    if instance.cell_uuid is not None:
        cell = objects.CellMapping(uuid=instance.cell_uuid)
        if data.get('requested_destination') is None:
            data['requested_destination'] = objects.Destination(
                cell=cell).obj_to_primitive()
        else:
            data['requested_destination'][_DATA].setdefault(
                'cell', cell.obj_to_primitive())
    return request


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
