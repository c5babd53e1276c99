"""JsonFilter: hosts that match the query in a hint.

A query is the JSON text of the hint ``query``, as in
``["and", [">=", "$free_ram_mb", 1024], ["=", "$hypervisor_type", "QEMU"]]``.

``_read`` parses the text, ``rules.queries`` evaluates it for all hosts.
"""

import collections
import functools
import json

import numpy as np

from nova_sched import exception
from nova_sched.hosts import values
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.rules import attributes
from nova_sched.rules import phrases
from nova_sched.rules import queries
from nova_sched.rules import rule_inputs
from nova_sched.scheduler import filters

#: Maximum number of variables in a reason.
_LISTED = 20


class JsonFilter(filters.ColumnFilter):
    """Hosts that match the query in the scheduler hint ``query``.

    Operators: = < > <= >= compare the first argument with all others, ``in``
    tests whether it is equal to one of them; and, or, not.  ``$name`` is an
    attribute of the host, ``$stats.name`` an item of a dict.  As in Nova,
    ``not`` returns a list of negated arguments: as the whole query, one of
    them must be true; as an argument, the list is true if it is not empty.

    Variables that a host does not have, null and empty text are removed from
    the arguments.

    Raises InvalidInput, which names the hint, if a query is not JSON, has an
    unknown operator, compares the order of a number and a text, or has a
    variable like ``$free_ram_mb.x``; and if it is longer, deeper or more work
    than ``objects.bounds`` allows.
    """

    code = 'json_query'
    # Whether a query is invalid may depend on the values of other hosts.
    inputs = (*attributes.NAMES, rule_inputs.HINTS, rule_inputs.OTHER_HOSTS)

    def inputs_for(self, spec_obj):
        text = spec_obj.get_scheduler_hint('query')
        if not text:
            return ()
        try:
            variables = _read(text).variables
        except exception.InvalidInput:
            # ``mask`` refuses it.
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
                   for name in read.variables[:_LISTED]
                   if (column := query.variable(name)) is not None]
        more = len(read.variables) - _LISTED
        if more > 0:
            offered.append(f'and {more} variables more')
        return phrases.Reason(
            f'query {read.in_short} not met',
            f"hosts have {', '.join(offered)}" if offered else '')


#: A parsed query, its shortened text, and its variables.
_Read = collections.namedtuple('_Read', 'query in_short variables')


def _read(text):
    """Return the parsed query of a text: _Read.

    Raises InvalidInput for an invalid or too large query.
    """
    if not isinstance(text, str):
        raise queries.refused(text, 'must be one query')
    fields.check_size(queries.FIELD, len(text), bounds.QUERY_TEXT,
                      'characters')
    return _parsed(text)


@functools.lru_cache(maxsize=4)
def _parsed(text):
    """Parse a text; cached for all instances of a request and the reason."""
    try:
        query = json.loads(text)
        depth = values.depth(query)
    except RecursionError:
        depth = bounds.QUERY_DEPTH + 1
    except ValueError as exc:
        # The part after a semicolon is a hint for Python programmers.
        raise queries.refused(
            text, f'must be JSON: {str(exc).partition(";")[0]}') from None
    if depth > bounds.QUERY_DEPTH:
        raise queries.refused(text, f'must be nested at most '
                              f'{bounds.QUERY_DEPTH} levels deep')
    return _Read(query, phrases.shortened(json.dumps(query), 120),
                 sorted(_variables(query)))


def _variables(query):
    """Return the variables in a query: set of texts."""
    variables, items = set(), [query]
    while items:
        item = items.pop()
        if isinstance(item, list):
            items += item[1:]
        elif isinstance(item, str) and item.startswith('$'):
            variables.add(item)
    return variables


def _range(column):
    """Return a short text with the values, or the range, of a column."""
    found = [value for value in column.in_use()
             if value is not attributes.ABSENT]
    if not found or not all(isinstance(value, (int, float))
                            for value in found):
        return phrases.listed(found)
    numbers = sorted(set(found))
    if len(numbers) > phrases.SHOWN:
        return f'{numbers[0]} to {numbers[-1]}'
    return ', '.join(map(str, numbers))
