"""What has changed of hosts between two decisions, in words."""

from nova_sched.hosts import columns

#: What changes by itself, and what is told by other columns.
_RESTLESS = {'updated', 'service', 'service_last_seen', 'service_up', 'stats',
             'uuid', 'host', 'nodename'}
_COMPARED = tuple(name for name in columns.NAMES if name not in _RESTLESS)
#: Characters of a value.
_LONGEST = 40


def rows(place, before, after):
    """What differs of a host between two HostTables: list of texts.

    place: (host, node), the node None for all of its nodes.
    """
    found = []
    if _rows(after, place) and not _rows(before, place):
        found.append(f'host {place[0]} was not read when it was decided here')
    for row in _rows(before, place):
        key = before.columns['host'], before.columns['nodename']
        names = tuple(column.values[column.codes.item(row)]
                      for column in key)
        now = after.row(*names)
        if now is None:
            found.append(f'host {names[0]} is gone')
            continue
        for name in _COMPARED:
            old, new = _cell(before, name, row), _cell(after, name, now)
            if old != new:
                found.append(f'{name} of {names[0]}: {_shown(old)} became '
                             f'{_shown(new)}')
    return found


def usages(name, before, holders, own):
    """What others have taken or left of a provider: list of texts.

    name: of the host.  before: class -> amount that was taken of it; others
        are not looked at, as older answers of Placement lack them.
    holders: consumer -> class -> amount, as it is.
    own: (the request's consumers, class -> amount that they held before).
    """
    consumers, held = own
    now = dict(held)
    for consumer, amounts in holders.items():
        if consumer in consumers:
            continue
        for resource, amount in amounts.items():
            now[resource] = now.get(resource, 0) + amount
    return [f'{resource} of {name} taken by others in Placement: '
            f'{before[resource]} became {now.get(resource, 0)}'
            for resource in sorted(before)
            if before[resource] != now.get(resource, 0)]


def provider(place, table):
    """The uuid of a host's resource provider; None if it is not known.

    table: HostTable, or None.
    """
    rows = [] if table is None else _rows(table, place)
    return _cell(table, 'uuid', rows[0]) if rows else None


def _rows(table, place):
    host, node = place
    if node is not None:
        row = table.row(host, node)
        return [] if row is None else [row]
    return [row for row, _ in table.rows_of({host})]


def _cell(table, name, row):
    column = table.columns[name]
    if hasattr(column, 'codes'):
        return column.values[column.codes.item(row)]
    if hasattr(column, 'item'):
        return column.item(row)
    return column[row]


def _shown(value):
    text = str(value)
    return text if len(text) <= _LONGEST else 'another value'
