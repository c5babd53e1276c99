"""Queries of users at work: nested lists of an operator and arguments.

What a query costs follows from what is different in it, not from its length:

1. Equal arguments and equal queries within the query are one object, looked
   up or worked out once (``Query``).
2. A comparison with many constants is one with the few that decide it
   (``_decisive``), and equality looks values up (``arguments.Values``).
3. What is left, two values of hosts at a time, is counted, and refused when
   it is more than an instance's share of ``bounds.QUERY_WORK``.

A variable that a host does not have is left out of its arguments.
"""

import functools
import operator

import netaddr
import numpy as np

from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.rules import attributes
from nova_sched.rules import query_arguments

#: What a refusal calls the query.
FIELD = 'hint query'

_COMPARE = {'=': operator.eq, '<': operator.lt, '>': operator.gt,
            '<=': operator.le, '>=': operator.ge, 'in': operator.eq}
#: Which of many numbers, or texts, decides.
_DECIDES = {'<': min, '<=': min, '>': max, '>=': max}

#: What costs as much as so many values looked at: a step on whole columns, one
#: on distinct values of them, and a value of a host put into a column.
_STEP, _STEP_ON_VALUES, _LOOK_UP = 20, 400, 3
#: Items of a column that cost as much as one value looked at by itself.
_AT_ONCE = 64


def refused(text, must):
    """Return the InvalidInput for a query: its text, and what it must be."""
    return fields.MalformedError(text, must, FIELD).as_invalid_input()


#: What of a host belongs to other projects: a refusal that depends on it
#: would say whether an instance exists.
_PRIVATE = 'instances'


class Query:
    """A query's text, and the hosts of a HostBlock that it is put to.

    instances: how many the request is for, for each of which it is put.
    Raises InvalidInput when the query makes no sense on one of the hosts, or
    takes too much work.
    """

    def __init__(self, text, hosts, instances=1):
        self._text, self._hosts = text, hosts
        share = bounds.QUERY_WORK // max(1, instances)
        least = bounds.QUERY_HOST_WORK * len(hosts)
        self._left = max(share, least)
        # In a figure that does not tell how many hosts there are.
        self._allowed = (f'{share} values' if share >= least else
                         f'{bounds.QUERY_HOST_WORK} values of each host')
        self._attributes, self._variables = {}, {}
        self._constants, self._known = {}, {}

    def passes(self, query):
        """Return which hosts meet it, as read from JSON: bool (n,)."""
        verdict = self._evaluated(query).passes
        return np.broadcast_to(verdict, len(self._hosts)).copy()

    def variable(self, text):
        """Return what hosts have of ``$name.key.key``: Column, or None if
        unknown.

        Hosts that do not have it have ``attributes.ABSENT``.
        """
        name, *keys = text[1:].split('.')
        if name not in self._attributes:
            self._attributes[name] = self._attribute(name)
        column, private = self._attributes[name], name == _PRIVATE
        if column is None or (not keys and column.numbers is not None):
            return column
        self._spend(_LOOK_UP * len(column.codes))
        found = column.mapped(
            lambda value: self._found(value, keys, private), self._hosts)
        if keys:
            distinct = attributes.Column.of(found.values)
            found = attributes.Column(distinct.codes[found.codes],
                                      distinct.values)
        return found

    def _attribute(self, name):
        column = attributes.column(self._hosts, name)
        if name == 'host_ip':
            column = column.mapped(_address, self._hosts)
        return column

    def _found(self, value, keys, private):
        for key in keys:
            if value is None:
                break
            if not isinstance(value, dict):
                if private:
                    return attributes.ABSENT
                raise self._refused(
                    f'asks for {fields.shown(key)} of what is no mapping')
            value = value.get(key)
        return attributes.ABSENT if value is None else value

    def _refused(self, must):
        return refused(self._text, must)

    def _spend(self, work):
        """Refuse the query when this is more than it may take."""
        self._left -= work
        if self._left < 0:
            raise self._refused(
                f'takes more work than looking at {self._allowed}, which is '
                'allowed for an instance; ask for less at a time')

    def _spend_on_columns(self, count=1):
        self._spend(count * (_STEP + len(self._hosts) // _AT_ONCE))

    # What a query is made of.

    def _evaluated(self, query):
        """Return the value of a query: one of query_arguments."""
        if not query:
            return self._constant(True)
        if not isinstance(query, (list, str)):
            raise self._refused('must be a list of an operator and arguments')
        # Of text, the first character is the operator.
        name, *given = query
        if not isinstance(name, str) or name not in _OPERATORS:
            raise self._refused(f'has an unknown operator, '
                                f'{fields.shown(name)}; use one of '
                                f'{", ".join(sorted(_OPERATORS))}')
        self._spend(1)
        arguments = tuple(argument for argument in map(self._argument, given)
                          if argument is not None)
        key = name, arguments
        if key not in self._known:
            self._known[key] = _OPERATORS[name](self, arguments)
        return self._known[key]

    def _argument(self, argument):
        """Return the same object for the same argument; None if no host has
        it.
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
        """Return true or false, everywhere or for each host (bool (n,))."""
        if isinstance(verdict, np.ndarray):
            return query_arguments.Values(attributes.Numbers(verdict),
                                          self._spend)
        return self._constant(bool(verdict))

    # Operators.

    def _all(self, arguments):
        return self._joined(operator.and_, True, [
            argument.truth | argument.absent
            for argument in self._distinct(arguments)])

    def _any(self, arguments):
        return self._joined(operator.or_, False, [
            argument.truth for argument in self._distinct(arguments)])

    def _joined(self, join, start, verdicts):
        return self._verdict(functools.reduce(join, verdicts, start))

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
        """Return the first argument of each host against its others."""
        verdict, left = False, True
        for first in dict.fromkeys(arguments):
            others = arguments[arguments.index(first) + 1:]
            self._spend_on_columns()
            self._spend(len(others) // _AT_ONCE)
            rows = left & _not(first.absent)
            if others and _anywhere(rows):
                verdict = verdict | rows & self._against(
                    name, first, dict.fromkeys(others), rows)
            left = left & first.absent
            if not _anywhere(left):
                break
        return self._verdict(verdict)

    def _against(self, name, first, others, rows):
        """Return an argument against others, where hosts have it (rows)."""
        constants = [other for other in others if other.is_constant]
        columns = [other for other in others if not other.is_constant]
        if name == 'in':
            verdict = self._among(first, constants, rows)
            for column in columns:
                both = rows & _not(column.absent)
                verdict = verdict | both & self._pair(name, first, column,
                                                      both)
            return verdict
        verdict, any_other = True, bool(constants)
        for other in [*_decisive(name, constants), *columns]:
            both = rows & _not(other.absent)
            any_other = any_other | _not(other.absent)
            verdict = verdict & (_not(both) | self._pair(name, first, other,
                                                         both))
        return verdict & any_other

    def _among(self, first, constants, rows):
        """Return where an argument is equal to one of the constants."""
        if len(constants) > 1 and not first.is_constant:
            self._spend_on_columns()
            return first.equal_to(constants)
        if constants and first.is_constant:
            return first.is_among(constants)
        return functools.reduce(operator.or_, [
            self._pair('in', first, constant, rows)
            for constant in constants], False)

    def _pair(self, name, first, other, rows):
        """Return one argument against another, where hosts have both (rows).
        """
        compare = _COMPARE[name]
        if first.is_constant and other.is_constant:
            return self._asked(name, first.values, other.values)[0]
        self._spend_on_columns()
        if first.numbers is not None and other.numbers is not None:
            return compare(first.numbers, other.numbers)
        for constant, column in ((other, first), (first, other)):
            if (compare is operator.eq and constant.is_constant
                    and constant.is_ordered):
                return column.equal_to([constant])
        return self._one_by_one(name, first, other, rows)

    def _one_by_one(self, name, first, other, rows):
        """Return each distinct two values of the hosts in question: bool (n,).
        """
        at = np.flatnonzero(np.broadcast_to(rows, len(self._hosts)))
        ours, theirs = first.codes_at(at), other.codes_at(at)
        _, one_of, inverse = np.unique(
            ours * len(other.values) + theirs, return_index=True,
            return_inverse=True)
        self._spend(_STEP_ON_VALUES + len(at) // 4
                    + len(one_of) * first.weight)
        verdicts = self._asked(
            name, list(map(first.values.__getitem__, ours[one_of].tolist())),
            list(map(other.values.__getitem__, theirs[one_of].tolist())),
            at[one_of], first.is_private or other.is_private)
        found = np.zeros(len(self._hosts), dtype=np.bool_)
        found[at] = np.array(verdicts, dtype=np.bool_)[inverse]
        return found

    def _asked(self, name, firsts, others, at=None, private=False):
        """Return the verdict of each two values: list of bool.

        at: the positions of hosts that have them.  private: whether it is not
            told that they have no order; it is false then.
        """
        verdicts, compare = [], _COMPARE[name]
        if private:
            return [_private_verdict(compare, *both)
                    for both in zip(firsts, others, strict=True)]
        try:
            for first, other in zip(firsts, others, strict=True):
                verdicts.append(bool(compare(first, other)))
        except TypeError:
            first, other = firsts[len(verdicts)], others[len(verdicts)]
            refusal = self._refused(f'has no order: {name} is asked of '
                                    f'{_kind(first)} and {_kind(other)}')
        else:
            return verdicts
        if at is not None:
            self._hosts.blame(refusal, at.item(len(verdicts)))
        raise refusal


_OPERATORS = {'and': Query._all, 'or': Query._any, 'not': Query._negated} | {
    name: lambda query, arguments, name=name: query._compared(name, arguments)
    for name in _COMPARE}


def _private_verdict(compare, first, other):
    try:
        return bool(compare(first, other))
    except TypeError:
        return False


def _not(verdict):
    """Return the opposite of true or false, or of an array of them."""
    return ~verdict if isinstance(verdict, np.ndarray) else not verdict


def _anywhere(verdict):
    """Return whether it is true, or an array of them has one that is."""
    return verdict.any() if isinstance(verdict, np.ndarray) else verdict


def _decisive(name, constants):
    """Return those of the constants on which a comparison with all of them
    hangs.
    """
    if len(constants) < 2:
        return constants
    numbers, texts, rest = [], [], []
    for constant in constants:
        kind = constant.value.__class__
        (numbers if kind in (int, float, bool) and constant.is_ordered
         else texts if kind is str else rest).append(constant)
    if name == '=':
        # What is equal to two is equal to no more than one of each kind.
        return [*numbers[:2], *texts[:2], *rest]
    return [*(_DECIDES[name](found, key=lambda constant: constant.value)
              for found in (numbers, texts) if found), *rest]


def _kind(value):
    """Return what a value is, for a refusal: a host's own is not told."""
    return ('a number' if isinstance(value, (int, float))
            else 'a text' if isinstance(value, str)
            else 'a list' if isinstance(value, list)
            else 'an object')


def _address(text):
    """Return an address as Nova has it: equal to no text, and not to be
    ordered beside any.
    """
    try:
        return text and netaddr.IPAddress(text)
    except (netaddr.AddrFormatError, ValueError):
        return text
