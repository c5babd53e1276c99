"""JsonFilter: hosts that meet a query that the user wrote.

A query is the JSON text of the hint ``query``, as in
``["and", [">=", "$free_ram_mb", 1024], ["=", "$hypervisor_type", "QEMU"]]``.

1. ``_read`` reads the text.
2. ``_evaluated`` turns a query into one value a host: comparisons of numbers
   are made on whole columns, all else once for each distinct combination of
   values (``_combined``).
3. A variable that a host does not have is left out of its arguments
   (``_ABSENT``), as are null and empty text.
"""

import functools
import json
import operator

import netaddr
import numpy as np

from nova_sched.rules import attributes
from nova_sched.rules import phrases
from nova_sched.scheduler import filters

#: Lists within lists that a query may have.
MAX_DEPTH = 100

_ABSENT = object()

_COMPARE = {'=': operator.eq, '<': operator.lt, '>': operator.gt,
            '<=': operator.le, '>=': operator.ge, 'in': operator.eq}


class JsonFilter(filters.ColumnFilter):
    """Hosts that meet the query in the scheduler hint ``query``.

    Operators: = < > <= >= compare the first argument with every other, in
    finds it among them, and, or, not.  ``$name`` is an attribute of the host,
    ``$stats.name`` what its dict holds.  A ``not`` makes a list, one of whose
    members must be true at the top, and which counts as true below it.

    Raises what Python raises when a query makes no sense on any host:
    KeyError for an unknown operator, TypeError when a number is compared
    with text, AttributeError for ``$free_ram_mb.x``; ValueError when it is
    not JSON, or nested too deep.
    """

    def mask(self, hosts, spec_obj):
        text = spec_obj.get_scheduler_hint('query')
        if not text or not len(hosts):
            return np.ones(len(hosts), dtype=np.bool_)
        return _evaluated(_read(text), hosts).judge(_passes, hosts)

    def reason(self, hosts, spec_obj):
        query = _read(spec_obj.get_scheduler_hint('query'))
        offered = ', '.join(
            f'{name[1:]} {_range(column)}'
            for name in sorted(_variables(query))
            if (column := _variable(name, hosts)) is not None)
        return (f'query {phrases.shortened(json.dumps(query), 120)} not met'
                + (f', hosts have {offered}' if offered else ''))


def _read(text):
    """The query in a text; ValueError or TypeError if there is none."""
    try:
        query = json.loads(text)
    except RecursionError:
        query, depth = None, MAX_DEPTH + 1
    else:
        depth = _depth(query)
    if depth > MAX_DEPTH:
        raise ValueError(
            f'the query is nested more than {MAX_DEPTH} levels deep')
    return query


def _depth(query):
    """How many lists and objects are within each other."""
    depth, level = 0, [query]
    while level := [item for item in level if isinstance(item, (list, dict))]:
        depth += 1
        level = [inner for item in level for inner in (
            item.values() if isinstance(item, dict) else item)]
    return depth


def _evaluated(query, hosts):
    """The value of a query: Column."""
    if not query:
        return _constant(True, hosts)
    if isinstance(query, dict):
        raise KeyError('a query must be a list, not an object')
    # Of text, the first character is the operator.
    name, *given = query
    if name not in _OPERATORS:
        raise KeyError(f'unknown operator {name!r} in the query')
    arguments = [_argument(argument, hosts) for argument in given]
    return _OPERATORS[name](
        [column for column in arguments if column is not None], hosts)


def _argument(argument, hosts):
    """An argument as Column; None if no host has it."""
    if isinstance(argument, list):
        return _evaluated(argument, hosts)
    if argument is None or argument == '':
        return None
    if isinstance(argument, str) and argument.startswith('$'):
        return _variable(argument, hosts)
    return _constant(argument, hosts)


def _constant(value, hosts):
    return attributes.Column(np.zeros(len(hosts), dtype=np.int64), [value])


def _variable(text, hosts):
    """``$name.key.key``: Column; None if hosts have no such attribute."""
    name, *keys = text[1:].split('.')
    column = attributes.column(hosts, name)
    if name == 'host_ip':
        column = column.mapped(_address, hosts)
    if column is None or (not keys and column.numbers is not None):
        return column
    found = column.mapped(lambda value: _found(value, keys), hosts)
    if keys:
        distinct = attributes.Column.of(found.values)
        found = attributes.Column(distinct.codes[found.codes],
                                  distinct.values)
    return found


def _address(text):
    """An address as Nova has it: equal to no text, and not to be ordered
    beside any.
    """
    try:
        return text and netaddr.IPAddress(text)
    except netaddr.AddrFormatError:
        return text


def _found(value, keys):
    for key in keys:
        if value is None:
            break
        if not isinstance(value, dict):
            raise AttributeError(
                f'the query looks for {key!r} in what is no mapping')
        value = value.get(key)
    return _ABSENT if value is None else value


def _compared(name, arguments, hosts):
    compare = _COMPARE[name]
    numbers = [column.numbers for column in arguments]
    if len(numbers) < 2 or any(array is None for array in numbers):
        return _combined(functools.partial(_compare_values, name), arguments,
                         hosts)
    first, *others = numbers
    join = np.logical_or if name == 'in' else np.logical_and
    return attributes.Numbers(functools.reduce(
        join, [compare(first, other) for other in others]))


def _compare_values(name, values):
    if len(values) < 2:
        return False
    first, *others = values
    if name == 'in':
        return first in others
    # All are compared before the verdict, for any may raise.
    verdicts = [_COMPARE[name](first, other) for other in others]
    return all(verdicts)


def _all(arguments, hosts):
    found = np.ones(len(hosts), dtype=np.bool_)
    for column in arguments:
        found &= column.judge(
            lambda value: value is _ABSENT or bool(value), hosts)
    return attributes.Numbers(found)


def _any(arguments, hosts):
    found = np.zeros(len(hosts), dtype=np.bool_)
    for column in arguments:
        found |= column.judge(
            lambda value: value is not _ABSENT and bool(value), hosts)
    return attributes.Numbers(found)


def _negated(arguments, hosts):
    return _combined(lambda values: [not value for value in values],
                     arguments, hosts)


_OPERATORS = {'and': _all, 'or': _any, 'not': _negated} | {
    name: functools.partial(_compared, name) for name in _COMPARE}


def _combined(function, columns, hosts):
    """``function`` of the list of values each host has: Column.

    It is asked once for each distinct combination of them.
    """
    combination = np.zeros(len(hosts), dtype=np.int64)
    first = np.zeros(1, dtype=np.int64)
    for column in columns:
        _, first, combination = np.unique(
            combination * len(column.values) + column.codes,
            return_index=True, return_inverse=True)
    combined = []
    for at in first.tolist():
        values = [column.values[column.codes.item(at)] for column in columns]
        try:
            combined.append(function([
                value for value in values if value is not _ABSENT]))
        except Exception as exc:
            hosts.blame(exc, at)
            raise
    return attributes.Column(combination, combined)


def _passes(value):
    return any(value) if isinstance(value, list) else bool(value)


def _variables(query):
    """The variables in a query: set of texts."""
    found, rest = set(), [query]
    while rest:
        item = rest.pop()
        if isinstance(item, list):
            rest += item[1:]
        elif isinstance(item, str) and item.startswith('$'):
            found.add(item)
    return found


def _range(column):
    """What hosts have, in a few words."""
    values = [value for value in column.in_use() if value is not _ABSENT]
    if not values or not all(isinstance(value, (int, float))
                             for value in values):
        return phrases.listed(values)
    numbers = sorted(set(values))
    if len(numbers) > phrases.SHOWN:
        return f'{numbers[0]} to {numbers[-1]}'
    return ', '.join(map(str, numbers))
