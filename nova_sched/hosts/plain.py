"""Serialization of host tables, for stored states.

``pack`` serializes a whole table, and ``differences`` the changes in later
tables of the same hosts; ``unpack`` and ``applied`` restore the tables.  The
data are numbers and JSON, so that reading untrusted data runs no code.
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

#: Number of values that are serialized at a time, so that other threads run.
_PIECE = 64

#: Columns that are computed from other columns, and not stored.
_DERIVED = frozenset(('service_up',))
_STORED = tuple(name for name in columns.NAMES if name not in _DERIVED)


def _service(service):
    return [value.isoformat() if isinstance(value, datetime.datetime)
            else value for value in service]


#: Indexes of the times in a Service.
_MOMENTS = frozenset(
    rows.Service._fields.index(name) for name
    in ('last_seen_up', 'updated_at', 'created_at'))


def _read_service(values):
    return rows.Service._make(
        datetime.datetime.fromisoformat(value)
        if place in _MOMENTS and isinstance(value, str) else value
        for place, value in enumerate(values))


#: Column -> functions that convert its values to JSON, and back.  Values of
#: other columns are JSON.
_FORMS = {
    'aggregates': (
        lambda value: [item.obj_to_primitive() for item in value],
        lambda plain: tuple(map(objects.Aggregate.from_envelope, plain))),
    'metrics': (lambda value: value.text, HostMetrics),
    'pci_stats': (lambda value: value and value.plain,
                  lambda plain: plain and Pools.of_plain(plain)),
    'numa_topology': (lambda value: value and value.text, HostTopology.of),
    'service': (lambda value: value and _service(value),
                lambda plain: plain and _read_service(plain))}


def _plain(name, value):
    return _FORMS[name][0](value) if name in _FORMS else value


def _value(name, value):
    return _FORMS[name][1](value) if name in _FORMS else value


def pack(table):
    """Return a serialized HostTable: compressed bytes."""
    numbers, texts = io.BytesIO(), zlib.compressobj(1)
    # Unused labels are left out.
    used = {name: np.unique(table.columns[name].codes, return_inverse=True)
            for name in columns.LABELS}
    np.savez(numbers, **{
        name: table.columns[name] for name in columns.DTYPES
        if name not in _DERIVED}, **{
        name: inverse.astype(np.int32)
        for name, (_, inverse) in used.items()})
    pieces = []
    for name in _STORED:
        if name in columns.DTYPES:
            continue
        column = table.columns[name]
        values = ([column.values[code] for code in used[name][0].tolist()]
                  if name in used else column)
        for start in range(0, len(values), _PIECE):
            pieces.append(texts.compress(json.dumps([name, [
                _plain(name, value) for value
                in values[start:start + _PIECE]]]).encode() + b'\n'))
    text = b''.join([*pieces, texts.flush()])
    head = len(text).to_bytes(8, 'big')
    return head + text + zlib.compress(numbers.getvalue(), 1)


def unpack(data):
    """Return the HostTable that ``pack`` has serialized."""
    size = int.from_bytes(data[:8], 'big')
    text, numbers = data[8:8 + size], data[8 + size:]
    values = {name: [] for name in _STORED if name not in columns.DTYPES}
    for line in zlib.decompress(text).splitlines():
        name, piece = json.loads(line)
        values[name] += [_value(name, value) for value in piece]
    with np.load(io.BytesIO(zlib.decompress(numbers)),
                 allow_pickle=False) as arrays:
        by_name = {name: arrays[name] for name in arrays.files}
    size = len(by_name['host'])
    table = {name: np.zeros(size, columns.DTYPES[name]) for name in _DERIVED}
    for name in _STORED:
        if name in columns.DTYPES:
            table[name] = by_name[name]
        elif name in columns.LABELS:
            table[name] = labels.Labels.of(
                values[name][code] for code in by_name[name].tolist())
        else:
            table[name] = values[name]
    return HostTable(table)


def differences(tables):
    """Return the changes between successive HostTables of the same hosts.

    Returns plain JSON: column -> [tables, rows, values], three lists of equal
    length: index of a table, row, and new value, ordered by table.
    """
    changes = {}
    for name in _STORED:
        versions = [table.columns[name] for table in tables]
        places = [place for place, (old, new) in enumerate(
            itertools.pairwise(versions), 1) if new is not old]
        if not places:
            continue
        which, rows_, values = _changes(versions, places)
        if which:
            changes[name] = [which, rows_,
                             [_plain(name, value) for value in values]]
    return changes


def _changes(versions, places):
    """Return the changes of one column, see ``differences``.

    versions: the column of each table.
    places: indexes of the tables in which it is a new object.
    """
    if isinstance(versions[0], np.ndarray):
        # One operation for all: each operation on many hosts lets other
        # threads run.
        size = len(versions[0])
        all_ = np.concatenate([versions[0], *map(versions.__getitem__,
                                                 places)])
        changed = (all_[size:] != all_[:-size]).nonzero()[0]
        return ([places[which] for which in (changed // size).tolist()],
                (changed % size).tolist(), all_[changed + size].tolist())
    which, rows_, values = [], [], []
    for place in places:
        changed = _different(versions[place - 1], versions[place])
        which += [place] * len(changed)
        rows_ += changed
        values += _at(versions[place], changed)
    return which, rows_, values


def _different(old, new):
    """Return the rows in which two columns differ: list.

    old, new: Labels, or lists of objects.
    """
    if isinstance(new, labels.Labels):
        if new.values is old.values:
            return (old.codes != new.codes).nonzero()[0].tolist()
        old, new = old.items(), new.items()
    # A fast path, because nearly all values are the same objects.
    candidates = itertools.compress(itertools.count(),
                                    map(operator.is_not, old, new))
    return [row for row in candidates if old[row] != new[row]]


def _at(column, rows_):
    if isinstance(column, labels.Labels):
        return [column.values[column.codes.item(row)] for row in rows_]
    return [column[row] for row in rows_]


def applied(table, changes, last):
    """Return a HostTable with the changes that ``differences`` returned.

    last: index of the last table to apply changes of.
    """
    for name, (places, rows_, values) in changes.items():
        count = bisect.bisect_right(places, last)
        # If a row changes several times, the last value counts.
        table = table.with_values(rows_[:count], {
            name: [_value(name, value) for value in values[:count]]})
    return table
