"""The host table as plain data, and back: what is kept of a past state.

``pack`` makes octets of a whole table, and ``differences`` plain JSON of what
later ones of the same hosts have otherwise; ``unpack`` and ``applied`` undo
that.  Nothing but numbers and JSON is in it, so that it can be read whoever
has written it.
"""

import bisect
import datetime
import io
import itertools
import json
import operator
import zlib

import numpy as np

from nova_sched import objects
from nova_sched.hardware.numa.topology import HostTopology
from nova_sched.hardware.pci.pools import Pools
from nova_sched.hosts import columns
from nova_sched.hosts import labels
from nova_sched.hosts import rows
from nova_sched.hosts.metrics import HostMetrics
from nova_sched.hosts.table import HostTable

#: Values that are made JSON at a time: other threads go on in between.
_PIECE = 64

#: What no state keeps: what a snapshot works out of the others.
_DERIVED = frozenset(('service_up',))
_KEPT = tuple(name for name in columns.NAMES if name not in _DERIVED)


def _service(service):
    return [value.isoformat() if isinstance(value, datetime.datetime)
            else value for value in service]


#: Places of times in a Service.
_MOMENTS = frozenset(
    rows.Service._fields.index(name) for name
    in ('last_seen_up', 'updated_at', 'created_at'))


def _read_service(values):
    return rows.Service._make(
        datetime.datetime.fromisoformat(value)
        if place in _MOMENTS and isinstance(value, str) else value
        for place, value in enumerate(values))


def _aggregate(envelope):
    return objects.Aggregate.from_envelope(envelope)


#: Column -> functions that make its values JSON, and back; the others' are.
_FORMS = {
    'aggregates': (
        lambda found: [each.obj_to_primitive() for each in found],
        lambda found: tuple(map(_aggregate, found))),
    'metrics': (lambda found: found.text, HostMetrics),
    'pci_stats': (lambda found: found and found.plain,
                  lambda found: found and Pools.of_plain(found)),
    'numa_topology': (lambda found: found and found.text, HostTopology.of),
    'service': (lambda found: found and _service(found),
                lambda found: found and _read_service(found))}


def _plain(name, value):
    return _FORMS[name][0](value) if name in _FORMS else value


def _value(name, value):
    return _FORMS[name][1](value) if name in _FORMS else value


def pack(table):
    """Return a HostTable as octets, compressed."""
    numbers, texts = io.BytesIO(), zlib.compressobj(1)
    # Labels that no row has any more are left out.
    used = {name: np.unique(table.columns[name].codes, return_inverse=True)
            for name in columns.LABELS}
    np.savez(numbers, **{
        name: table.columns[name] for name in columns.DTYPES
        if name not in _DERIVED}, **{
        name: inverse.astype(np.int32)
        for name, (_, inverse) in used.items()})
    found = []
    for name in _KEPT:
        if name in columns.DTYPES:
            continue
        column = table.columns[name]
        values = ([column.values[code] for code in used[name][0].tolist()]
                  if name in used else column)
        for start in range(0, len(values), _PIECE):
            found.append(texts.compress(json.dumps([name, [
                _plain(name, value) for value
                in values[start:start + _PIECE]]]).encode() + b'\n'))
    text = b''.join([*found, texts.flush()])
    head = len(text).to_bytes(8, 'big')
    return head + text + zlib.compress(numbers.getvalue(), 1)


def unpack(data):
    """Return the HostTable of octets that ``pack`` has made."""
    size = int.from_bytes(data[:8], 'big')
    text, numbers = data[8:8 + size], data[8 + size:]
    values = {name: [] for name in _KEPT if name not in columns.DTYPES}
    for line in zlib.decompress(text).splitlines():
        name, piece = json.loads(line)
        values[name] += [_value(name, value) for value in piece]
    with np.load(io.BytesIO(zlib.decompress(numbers)),
                 allow_pickle=False) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    size = len(found['host'])
    made = {name: np.zeros(size, columns.DTYPES[name]) for name in _DERIVED}
    for name in _KEPT:
        if name in columns.DTYPES:
            made[name] = found[name]
        elif name in columns.LABELS:
            made[name] = labels.Labels.of(
                values[name][code] for code in found[name].tolist())
        else:
            made[name] = values[name]
    return HostTable(made)


def differences(tables):
    """Return what HostTables of the same hosts have otherwise, each than the
    one before it: dict.

    Column -> [places of tables, rows, values], plain JSON: three lists beside
    each other, by place.
    """
    found = {}
    for name in _KEPT:
        versions = [table.columns[name] for table in tables]
        places = [place for place, (old, new) in enumerate(
            itertools.pairwise(versions), 1) if new is not old]
        if not places:
            continue
        which, changed, values = _changes(versions, places)
        if which:
            found[name] = [which, changed,
                           [_plain(name, value) for value in values]]
    return found


def _changes(versions, places):
    """Return where a column has changed, as of ``differences``.

    versions: of the column.  places: of those that are other objects.
    """
    if isinstance(versions[0], np.ndarray):
        # In one piece: each step on many hosts lets other threads go on.
        size = len(versions[0])
        all_ = np.concatenate([versions[0], *map(versions.__getitem__,
                                                 places)])
        found = (all_[size:] != all_[:-size]).nonzero()[0]
        return ([places[which] for which in (found // size).tolist()],
                (found % size).tolist(), all_[found + size].tolist())
    which, changed, values = [], [], []
    for place in places:
        rows_ = _different(versions[place - 1], versions[place])
        which += [place] * len(rows_)
        changed += rows_
        values += _at(versions[place], rows_)
    return which, changed, values


def _different(old, new):
    """Return the rows in which Labels or lists of one name differ: list."""
    if isinstance(new, labels.Labels):
        if new.values is old.values:
            return (old.codes != new.codes).nonzero()[0].tolist()
        old, new = old.items(), new.items()
    # Nearly all are the same objects.
    others = itertools.compress(itertools.count(),
                                map(operator.is_not, old, new))
    return [row for row in others if old[row] != new[row]]


def _at(column, rows_):
    if isinstance(column, labels.Labels):
        return [column.values[column.codes.item(row)] for row in rows_]
    return [column[row] for row in rows_]


def applied(table, changes, last):
    """Return a HostTable with what ``differences`` has found, a dict.

    last: place of the table that is wanted.
    """
    for name, (places, changed, values) in changes.items():
        count = bisect.bisect_right(places, last)
        # Where a row changes again, the last value stays.
        table = table.with_cells(changed[:count], {
            name: [_value(name, value) for value in values[:count]]})
    return table
