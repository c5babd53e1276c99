"""Requests that move instances: functions that add to a Draft.

``held`` has the allocations that a conductor makes before its call.
"""


def _somewhere(draft, *kinds):
    """The instance's host, and its allocations there."""
    host = draft.host(*(kinds or ('plain', 'large', 'ssd', 'licensed',
                                  'network', 'down')))
    return host, {host.uuid: {'VCPU': 2, 'MEMORY_MB': 2048, 'DISK_GB': 20}}


def _stays_in_cell(draft, host, **more):
    draft.destination.update(cell=host.is_.cell, **more)


def resize(draft):
    """The migration holds the source host, which is ignored."""
    host, held = _somewhere(draft)
    draft.held = {draft.uuid(): held, draft.uuids[0]: {}}
    draft.ignored = [host.name]
    _stays_in_cell(draft, host)


def resize_in_place(draft):
    """The source host is a candidate, too, if it has room for both."""
    host, held = _somewhere(draft, 'single')
    draft.ignored = []
    draft.held = {draft.uuid(): held, draft.uuids[0]: {}}
    if draft.random.random() < .5:
        draft.request['force_hosts'] = [host.name]
    draft.request['memory_mb'] = draft.random.choice([1024, host.memory_mb])
    _stays_in_cell(draft, host)


def cross_cell_resize(draft):
    """To any cell, preferably the instance's own."""
    host, held = _somewhere(draft)
    draft.held = {draft.uuid(): held, draft.uuids[0]: {}}
    draft.ignored = [host.name]
    _stays_in_cell(draft, host, allow_cross_cell_move=True)


def live_migration(draft):
    """To a host that the administrator names, or to any other host."""
    host, held = _somewhere(draft)
    draft.held = {draft.uuid(): held, draft.uuids[0]: {}}
    draft.ignored = [host.name]
    _stays_in_cell(draft, host)
    if draft.random.random() < .5:
        draft.destination['host'] = draft.host().name


def evacuation(draft):
    """The instance keeps its allocations on its host, which is down."""
    host, held = _somewhere(draft)
    draft.held = {draft.uuids[0]: held}
    draft.ignored = [host.name]
    _stays_in_cell(draft, host)


def again(draft):
    """A repeated call: the instance has a claim already."""
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
