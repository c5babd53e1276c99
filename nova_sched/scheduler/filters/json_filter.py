"""JsonFilter: hosts that meet a query that the user wrote.

A query is the JSON text of the hint ``query``, as in
``["and", [">=", "$free_ram_mb", 1024], ["=", "$hypervisor_type", "QEMU"]]``.

``_read`` reads the text, ``rules.queries`` answers it for all hosts.
"""

import dataclasses
import functools
import json

import numpy as np

from nova_sched import exception
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.rules import attributes
from nova_sched.rules import phrases
from nova_sched.rules import queries
from nova_sched.rules import rule_inputs
from nova_sched.scheduler import filters

#: Variables of which a reason tells what hosts have.
_TOLD = 20


class JsonFilter(filters.ColumnFilter):
    """Hosts that meet the query in the scheduler hint ``query``.

    Operators: = < > <= >= compare the first argument with every other, in
    finds it among them, and, or, not.  ``$name`` is an attribute of the host,
    ``$stats.name`` what its dict holds.  A ``not`` makes a list, one of whose
    members must be true at the top, and which counts as true below it.

    A variable that a host does not have is left out of its arguments, as are
    null and empty text.

    Raises InvalidInput, which names the hint, when a query makes no sense on
    any host: when it is not JSON, has an unknown operator, orders a number
    and a text, or asks for ``$free_ram_mb.x``; and when it is longer, deeper
    or more work than ``objects.bounds`` allows.
    """

    code = 'json_query'
    # A query may make sense on some hosts only.
    inputs = (*attributes.NAMES, rule_inputs.HINTS, rule_inputs.OTHER_HOSTS)

    def inputs_for(self, spec_obj):
        text = spec_obj.get_scheduler_hint('query')
        if not text:
            return ()
        try:
            variables = _read(text).variables
        except exception.InvalidInput:
            # Refused where its hosts are known.
            variables = ()
        return (*(name[1:].partition('.')[0] for name in variables),
                rule_inputs.HINTS, rule_inputs.OTHER_HOSTS)

    def mask(self, hosts, spec_obj):
        text = spec_obj.get_scheduler_hint('query')
        if not text or not len(hosts):
            return np.ones(len(hosts), dtype=np.bool_)
        query = queries.Query(text, hosts, spec_obj.num_instances)
        return query.passes(_read(text).query)

    def reason(self, hosts, spec_obj):
        text = spec_obj.get_scheduler_hint('query')
        read, query = _read(text), queries.Query(text, hosts)
        offered = [f'{phrases.shortened(name[1:])} {_range(column)}'
                   for name in read.variables[:_TOLD]
                   if (column := query.variable(name)) is not None]
        more = len(read.variables) - _TOLD
        if more > 0:
            offered.append(f'and {more} variables more')
        return phrases.Reason(
            f'query {read.in_short} not met',
            f"hosts have {', '.join(offered)}" if offered else '')


@dataclasses.dataclass(frozen=True)
class _Read:
    """A query as read from JSON, its text in short, and its variables."""

    query: object
    in_short: str
    variables: list


def _read(text):
    """Return the query in a text: _Read.

    Raises InvalidInput if there is none, and if it is too large.
    """
    if not isinstance(text, str):
        raise queries.refused(text, 'must be one query')
    fields.check_size(queries.FIELD, len(text), bounds.QUERY_TEXT,
                      'characters')
    return _parsed(text)


@functools.lru_cache(maxsize=4)
def _parsed(text):
    """As ``_read``; kept for the other instances of a request, and words."""
    try:
        query = json.loads(text)
        depth = _depth(query)
    except RecursionError:
        depth = bounds.QUERY_DEPTH + 1
    except ValueError as exc:
        # Behind a semicolon Python tells programmers what to do.
        raise queries.refused(
            text, f'must be JSON: {str(exc).partition(";")[0]}') from None
    if depth > bounds.QUERY_DEPTH:
        raise queries.refused(text, f'must be nested at most '
                              f'{bounds.QUERY_DEPTH} levels deep')
    return _Read(query, phrases.shortened(json.dumps(query), 120),
                 sorted(_variables(query)))


def _depth(query):
    """Return how many lists and objects are within each other."""
    depth, level = 0, [query]
    while level := [item for item in level if isinstance(item, (list, dict))]:
        depth += 1
        level = [inner for item in level for inner in (
            item.values() if isinstance(item, dict) else item)]
    return depth


def _variables(query):
    """Return the variables in a query: set of texts."""
    found, rest = set(), [query]
    while rest:
        item = rest.pop()
        if isinstance(item, list):
            rest += item[1:]
        elif isinstance(item, str) and item.startswith('$'):
            found.add(item)
    return found


def _range(column):
    """Return what hosts have, in a few words."""
    values = [value for value in column.in_use()
              if value is not attributes.ABSENT]
    if not values or not all(isinstance(value, (int, float))
                             for value in values):
        return phrases.listed(values)
    numbers = sorted(set(values))
    if len(numbers) > phrases.SHOWN:
        return f'{numbers[0]} to {numbers[-1]}'
    return ', '.join(map(str, numbers))
