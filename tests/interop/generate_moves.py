"""Requests for instances that are somewhere: functions that add to a Draft.

What a conductor does in Placement before it asks is in ``held``.
"""


def _somewhere(draft, *kinds):
    """The host that the instance is on, and what it holds of it."""
    host = draft.host(*(kinds or ('plain', 'large', 'ssd', 'licensed',
                                  'network', 'down')))
    return host, {host.uuid: {'VCPU': 2, 'MEMORY_MB': 2048, 'DISK_GB': 20}}


def _stays_in_cell(draft, host, **more):
    draft.destination.update(cell=host.is_.cell, **more)


def resize(draft):
    """The migration holds the source, which is of no use."""
    host, held = _somewhere(draft)
    draft.held = {draft.uuid(): held, draft.uuids[0]: {}}
    draft.ignored = [host.name]
    _stays_in_cell(draft, host)


def resize_in_place(draft):
    """The new flavor may go to the source too, if that has room for both."""
    host, held = _somewhere(draft, 'single')
    draft.ignored = []
    draft.held = {draft.uuid(): held, draft.uuids[0]: {}}
    if draft.random.random() < .5:
        draft.request['force_hosts'] = [host.name]
    draft.request['memory_mb'] = draft.random.choice([1024, host.memory_mb])
    _stays_in_cell(draft, host)


def cross_cell_resize(draft):
    """To whichever cell, best to that where it is."""
    host, held = _somewhere(draft)
    draft.held = {draft.uuid(): held, draft.uuids[0]: {}}
    draft.ignored = [host.name]
    _stays_in_cell(draft, host, allow_cross_cell_move=True)


def live_migration(draft):
    """To a host of the administrator's choice, or to any but its own."""
    host, held = _somewhere(draft)
    draft.held = {draft.uuid(): held, draft.uuids[0]: {}}
    draft.ignored = [host.name]
    _stays_in_cell(draft, host)
    if draft.random.random() < .5:
        draft.destination['host'] = draft.host().name


def evacuation(draft):
    """The instance keeps what it holds of its host, which is down."""
    host, held = _somewhere(draft)
    draft.held = {draft.uuids[0]: held}
    draft.ignored = [host.name]
    _stays_in_cell(draft, host)


def again(draft):
    """A call that is repeated: the instance has a claim already."""
    host, held = _somewhere(draft, 'single', 'down')
    draft.ignored = []
    draft.held = {draft.uuids[0]: held}
    if draft.random.random() < .5:
        draft.request['force_hosts'] = [host.name]


MOVES = {
    'resize': resize, 'resize in place': resize_in_place,
    'cross-cell resize': cross_cell_resize,
    'live migration': live_migration, 'evacuation': evacuation,
    'again': again,
}
