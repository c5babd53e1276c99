"""Differences between the hosts of two HostTables."""

from nova_sched.hosts import columns

#: Columns that change all the time, or whose content other columns repeat.
_NOT_COMPARED = {'updated', 'service', 'service_last_seen', 'service_fresh',
                 'service_up', 'stats', 'uuid', 'host', 'nodename'}
_COMPARED = tuple(name for name in columns.NAMES
                  if name not in _NOT_COMPARED)
#: Maximum length of a value in a text, in characters.
_MAX_LENGTH = 40


def row_changes(place, before, after):
    """Return the changes of a host between two HostTables: texts.

    place: (host, node); a node of None means all nodes of the host.
    """
    return _changes(place, before.snapshot(None), after.snapshot(None))


def changed_hosts(before, after):
    """Return the hosts that differ between two HostTables: list of texts.

    One text for each host that was added, was removed, or has another value
    in a compared column; the hosts of ``before`` come first.
    """
    old, new = before.snapshot(None), after.snapshot(None)
    places, places_after = before.keys(), after.keys()
    known = set(places)
    return [text for place in places
            for text in _changes(place, old, new)[:1]] + [
        f'host {place[0]} has come' for place in places_after
        if place not in known]


def _changes(place, old, new):
    """As ``row_changes``, of two HostSnapshots."""
    before, after = old.table, new.table
    rows, changes = rows_of(before, place), []
    if not rows and rows_of(after, place):
        changes.append(
            f'host {place[0]} was not read when it was decided here')
    # Tables share the columns that did not change.
    names = [name for name in _COMPARED
             if before.columns[name] is not after.columns[name]]
    for row in rows:
        host = old.value('host', row)
        row_after = after.row(host, old.value('nodename', row))
        if row_after is None:
            changes.append(f'host {host} is gone')
            continue
        for name in names:
            was, became = old.value(name, row), new.value(name, row_after)
            if was != became:
                changes.append(f'{name} of {host}: {_shortened(was)} became '
                               f'{_shortened(became)}')
    return changes


def rows_of(table, place):
    """Return the rows of a (host, node): list; of all nodes if it is None."""
    host, node = place
    if node is None:
        return [row for row, _ in table.rows_of({host})]
    row = table.row(host, node)
    return [] if row is None else [row]


def _shortened(value):
    text = str(value)
    return text if len(text) <= _MAX_LENGTH else 'another value'
