"""What differs between two generations of the hosts' state."""

import numpy as np

from nova_sched.hosts import columns

#: Columns that change all the time, or that other columns stand for.
_NOT_COMPARED = {'updated', 'service', 'service_last_seen', 'service_fresh',
                 'service_up', 'stats', 'uuid', 'host', 'nodename'}
_COMPARED = tuple(name for name in columns.NAMES
                  if name not in _NOT_COMPARED)
#: Longest value in a text, in characters.
_MAX_LENGTH = 40


def row_changes(place, before, after):
    """Return the differences of a host between two HostTables: texts.

    place: (host, node); a node of None means all nodes of the host.
    """
    changes = []
    if rows_of(after, place) and not rows_of(before, place):
        changes.append(
            f'host {place[0]} was not read when it was decided here')
    for row in rows_of(before, place):
        host, node = (value(before, name, row)
                      for name in ('host', 'nodename'))
        row_after = after.row(host, node)
        if row_after is None:
            changes.append(f'host {host} is gone')
            continue
        for name in _COMPARED:
            old = value(before, name, row)
            new = value(after, name, row_after)
            if old != new:
                changes.append(f'{name} of {host}: {_shortened(old)} became '
                               f'{_shortened(new)}')
    return changes


def changed_hosts(before, after):
    """Return the hosts that differ between two HostTables: list of texts.

    One for each host that came, went, or has another value in a column that
    ``row_changes`` compares, in the order of the hosts before.
    """
    if after is before:
        return []
    keys = before.keys()
    if after.has_rows_of(before):
        places = [keys[row] for row in _differing_rows(before, after)]
    else:
        places = keys
    known = {*keys}
    return [text for place in places
            for text in row_changes(place, before, after)[:1]] + [
        f'host {place[0]} has come' for place in list(after.keys())
        if place not in known]


def _differing_rows(before, after):
    """Return the rows of two tables of the same hosts that differ: list."""
    differing = np.zeros(before.size, dtype=np.bool_)
    for name in _COMPARED:
        old, new = before.columns[name], after.columns[name]
        if old is not new:
            differing |= np.array([
                one != other for one, other in zip(
                    _items(old), _items(new), strict=True)], dtype=np.bool_)
    return np.flatnonzero(differing).tolist()


def _items(column):
    if isinstance(column, np.ndarray):
        return column.tolist()
    return column.items() if hasattr(column, 'items') else column


def rows_of(table, place):
    """Return the rows of a (host, node): list; of all nodes if it is None."""
    host, node = place
    if node is not None:
        row = table.row(host, node)
        return [] if row is None else [row]
    return [row for row, _ in table.rows_of({host})]


def value(table, name, row):
    """Return one value of a HostTable as a plain Python object."""
    column = table.columns[name]
    if hasattr(column, 'codes'):
        return column.values[column.codes.item(row)]
    if hasattr(column, 'item'):
        return column.item(row)
    return column[row]


def _shortened(value):
    text = str(value)
    return text if len(text) <= _MAX_LENGTH else 'another value'
