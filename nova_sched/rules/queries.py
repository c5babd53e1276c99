"""Evaluates queries of JsonFilter: nested lists of operator and arguments.

The cost of a query depends on its distinct parts, not on its length:

1. Equal arguments and equal subqueries are evaluated once (``Query``).
2. A comparison with many constants uses only the constants that decide it
   (``_decisive``), and equality uses an index (``query_arguments.Values``).
3. Comparisons of two values of hosts are counted.  A query that needs more
   than an instance's share of ``bounds.QUERY_WORK`` is refused.

A variable that a host does not have is removed from its arguments.
"""

import functools
import operator

import netaddr
import numpy as np

from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.rules import attributes
from nova_sched.rules import query_arguments

#: Name of the query in refusals.
FIELD = 'hint query'

_COMPARE = {'=': operator.eq, '<': operator.lt, '>': operator.gt,
            '<=': operator.le, '>=': operator.ge, 'in': operator.eq}
#: Function that returns the number, or text, which decides a comparison.
_DECIDES = {'<': min, '<=': min, '>': max, '>=': max}

#: Costs, in comparisons of single values: of an operation on whole columns, of
#: an operation on their distinct values, and of reading a value of a host.
_STEP, _STEP_ON_VALUES, _LOOK_UP = 20, 400, 3
#: Number of items of a column that cost as much as one single value.
_AT_ONCE = 64


def refused(text, must):
    """Return the InvalidInput for a query's text.

    must: requirement that it does not meet, such as 'must be JSON'.
    """
    return fields.MalformedError(text, must, FIELD).as_invalid_input()


#: Attribute with data of other projects.  A refusal must not depend on it,
#: because it would reveal whether an instance exists.
_PRIVATE = 'instances'


class Query:
    """Evaluates a query for the hosts of a HostBlock.

    text: the query's text.
    instances: number of instances of the request; the query is evaluated for
        each.
    Methods raise InvalidInput if the query is invalid for one of the hosts, or
    needs too much work.
    """

    def __init__(self, text, hosts, instances=1):
        self._text, self._hosts = text, hosts
        share = bounds.QUERY_WORK // max(1, instances)
        least = bounds.QUERY_HOST_WORK * len(hosts)
        self._work_left = max(share, least)
        # A text that does not reveal the number of hosts.
        self._allowed = (f'{share} values' if share >= least else
                         f'{bounds.QUERY_HOST_WORK} values of each host')
        self._attributes, self._variables = {}, {}
        self._constants, self._known = {}, {}

    def passes(self, query):
        """Return which hosts match a query, as read from JSON: bool (n,)."""
        verdict = self._evaluated(query).passes
        return np.broadcast_to(verdict, len(self._hosts)).copy()

    def variable(self, text):
        """Return the hosts' values of a variable ``$name.key.key``: Column.

        None for an unknown name.  Hosts without the variable have
        ``attributes.ABSENT``.
        """
        name, *keys = text[1:].split('.')
        if name not in self._attributes:
            column = attributes.column(self._hosts, name)
            if name == 'host_ip':
                column = column.mapped(_address, self._hosts)
            self._attributes[name] = column
        column, private = self._attributes[name], name == _PRIVATE
        if column is None or (not keys and column.numbers is not None):
            return column
        self._spend(_LOOK_UP * len(column.codes))
        mapped = column.mapped(
            lambda value: self._value_at(value, keys, private), self._hosts)
        if keys:
            distinct = attributes.Column.of(mapped.values)
            mapped = attributes.Column(distinct.codes[mapped.codes],
                                       distinct.values)
        return mapped

    def _value_at(self, value, keys, private):
        for key in keys:
            if value is None:
                break
            if not isinstance(value, dict):
                if private:
                    return attributes.ABSENT
                raise self._refused(f'reads {fields.shown(key)} of a value '
                                    'that is not a mapping')
            value = value.get(key)
        return attributes.ABSENT if value is None else value

    def _refused(self, must):
        return refused(self._text, must)

    def _spend(self, work):
        """Count work.  Raises InvalidInput if it exceeds the limit."""
        self._work_left -= work
        if self._work_left < 0:
            raise self._refused(
                f'takes more work than looking at {self._allowed}, which is '
                'allowed for an instance; request less at a time')

    def _spend_on_columns(self, count=1):
        self._spend(count * (_STEP + len(self._hosts) // _AT_ONCE))

    # Parts of a query.

    def _evaluated(self, query):
        """Return the value of a query: an object of query_arguments."""
        if not query:
            return self._constant(True)
        if not isinstance(query, (list, str)):
            raise self._refused('must be a list of an operator and arguments')
        # As in Nova, the first character of a text is the operator.
        name, *items = query
        if not isinstance(name, str) or name not in _OPERATORS:
            raise self._refused(f'has an unknown operator, '
                                f'{fields.shown(name)}; use one of '
                                f'{", ".join(sorted(_OPERATORS))}')
        self._spend(1)
        arguments = tuple(argument for argument in map(self._argument, items)
                          if argument is not None)
        key = name, arguments
        if key not in self._known:
            self._known[key] = _OPERATORS[name](self, arguments)
        return self._known[key]

    def _argument(self, argument):
        """Return the object of an argument; None if no host has it.

        Equal arguments have the same object.
        """
        if isinstance(argument, list):
            return self._evaluated(argument)
        if argument is None or argument == '':
            return None
        if isinstance(argument, str) and argument.startswith('$'):
            if argument not in self._variables:
                column = self.variable(argument)
                self._variables[argument] = (
                    None if column is None
                    else query_arguments.Values(
                        column, self._spend,
                        argument.startswith(f'${_PRIVATE}.')))
            return self._variables[argument]
        return self._constant(argument)

    def _constant(self, value):
        key = value if not isinstance(value, dict) else (dict, repr(value))
        if key not in self._constants:
            self._constants[key] = query_arguments.Constant(value)
        return self._constants[key]

    def _verdict(self, verdict):
        """Return the object of a bool for all hosts, or of bool (n,)."""
        if isinstance(verdict, np.ndarray):
            return query_arguments.Values(attributes.Numbers(verdict),
                                          self._spend)
        return self._constant(bool(verdict))

    # Operators.

    def _all(self, arguments):
        return self._verdict(functools.reduce(operator.and_, (
            argument.truth | argument.absent
            for argument in self._distinct(arguments)), True))

    def _any(self, arguments):
        return self._verdict(functools.reduce(operator.or_, (
            argument.truth for argument in self._distinct(arguments)), False))

    def _distinct(self, arguments):
        distinct = dict.fromkeys(arguments)
        self._spend_on_columns(sum(
            not argument.is_constant for argument in distinct))
        return distinct

    def _negated(self, arguments):
        self._distinct(arguments)
        return query_arguments.Negations(arguments, len(self._hosts),
                                         self._spend)

    def _compared(self, name, arguments):
        """Compare the first argument that a host has with all later arguments.
        """
        verdict, undecided = False, True
        for first in dict.fromkeys(arguments):
            operands = arguments[arguments.index(first) + 1:]
            self._spend_on_columns()
            self._spend(len(operands) // _AT_ONCE)
            rows = undecided & _not(first.absent)
            if operands and _anywhere(rows):
                verdict = verdict | rows & self._against(
                    name, first, dict.fromkeys(operands), rows)
            undecided = undecided & first.absent
            if not _anywhere(undecided):
                break
        return self._verdict(verdict)

    def _against(self, name, first, operands, rows):
        """Compare an argument with operands, on hosts that have it (rows)."""
        constants = [operand for operand in operands if operand.is_constant]
        columns = [operand for operand in operands if not operand.is_constant]
        if name == 'in':
            verdict = self._among(first, constants, rows)
            for column in columns:
                both = rows & _not(column.absent)
                verdict = verdict | both & self._pair(name, first, column,
                                                      both)
            return verdict
        verdict, has_operand = True, bool(constants)
        for operand in [*_decisive(name, constants), *columns]:
            both = rows & _not(operand.absent)
            has_operand = has_operand | _not(operand.absent)
            verdict = verdict & (_not(both) | self._pair(name, first, operand,
                                                         both))
        return verdict & has_operand

    def _among(self, first, constants, rows):
        """Return on which hosts an argument is equal to a constant."""
        if len(constants) > 1 and not first.is_constant:
            self._spend_on_columns()
            return first.equal_to(constants)
        if constants and first.is_constant:
            return first.is_among(constants)
        return functools.reduce(operator.or_, [
            self._pair('in', first, constant, rows)
            for constant in constants], False)

    def _pair(self, name, left, right, rows):
        """Compare two arguments, on hosts that have both (rows)."""
        compare = _COMPARE[name]
        if left.is_constant and right.is_constant:
            return self._verdicts(name, left.values, right.values)[0]
        self._spend_on_columns()
        if left.numbers is not None and right.numbers is not None:
            return compare(left.numbers, right.numbers)
        for constant, column in ((right, left), (left, right)):
            if (compare is operator.eq and constant.is_constant
                    and constant.is_ordered):
                return column.equal_to([constant])
        return self._one_by_one(name, left, right, rows)

    def _one_by_one(self, name, left, right, rows):
        """Compare each distinct pair of values on these hosts: bool (n,)."""
        at = np.flatnonzero(np.broadcast_to(rows, len(self._hosts)))
        left_codes, right_codes = left.codes_at(at), right.codes_at(at)
        _, one_of, inverse = np.unique(
            left_codes * len(right.values) + right_codes, return_index=True,
            return_inverse=True)
        self._spend(_STEP_ON_VALUES + len(at) // 4
                    + len(one_of) * left.weight)
        verdicts = self._verdicts(
            name,
            list(map(left.values.__getitem__, left_codes[one_of].tolist())),
            list(map(right.values.__getitem__, right_codes[one_of].tolist())),
            at[one_of], left.is_private or right.is_private)
        passes = np.zeros(len(self._hosts), dtype=np.bool_)
        passes[at] = np.array(verdicts, dtype=np.bool_)[inverse]
        return passes

    def _verdicts(self, name, lefts, rights, at=None, private=False):
        """Compare pairs of values: list of bool.

        at: positions of hosts that have the values.
        private: whether values without an order compare as false; otherwise
            they are refused.
        """
        verdicts, compare = [], _COMPARE[name]
        for left, right in zip(lefts, rights, strict=True):
            try:
                verdicts.append(bool(compare(left, right)))
            except TypeError:
                if not private:
                    refusal = self._refused(
                        f'compares values without an order: '
                        f'{_kind(left)} {name} {_kind(right)}')
                    if at is not None:
                        self._hosts.blame(refusal, at.item(len(verdicts)))
                    raise refusal from None
                verdicts.append(False)
        return verdicts


_OPERATORS = {'and': Query._all, 'or': Query._any, 'not': Query._negated} | {
    name: lambda query, arguments, name=name: query._compared(name, arguments)
    for name in _COMPARE}


def _not(verdict):
    """Return the negation of a bool, or of an array of bool."""
    return ~verdict if isinstance(verdict, np.ndarray) else not verdict


def _anywhere(verdict):
    """Return whether a bool, or any item of an array of bool, is true."""
    return verdict.any() if isinstance(verdict, np.ndarray) else verdict


def _decisive(name, constants):
    """Return the constants that decide a comparison with all of them: list."""
    if len(constants) < 2:
        return constants
    numbers, texts, rest = [], [], []
    for constant in constants:
        kind = constant.value.__class__
        (numbers if kind in (int, float, bool) and constant.is_ordered
         else texts if kind is str else rest).append(constant)
    if name == '=':
        # Two different constants suffice: no value is equal to both.
        return [*numbers[:2], *texts[:2], *rest]
    return [*(_DECIDES[name](same_kind, key=lambda constant: constant.value)
              for same_kind in (numbers, texts) if same_kind), *rest]


def _kind(value):
    """Return the kind of a value, because a refusal must not reveal values."""
    return ('a number' if isinstance(value, (int, float))
            else 'a text' if isinstance(value, str)
            else 'a list' if isinstance(value, list)
            else 'an object')


def _address(text):
    """Return an IP address object, which as in Nova is equal to no text."""
    try:
        return text and netaddr.IPAddress(text)
    except (netaddr.AddrFormatError, ValueError):
        return text
