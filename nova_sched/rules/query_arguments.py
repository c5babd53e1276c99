"""What the operators of queries are given: constants, values of hosts, lists.

Each has, for all hosts or as an array (n,):

``truth``
    whether it is there and counts as true;
``absent``
    whether a host does not have it, so that it is left out;
``passes``
    whether a host passes if this is what the whole query comes to;
``numbers``
    the number, or None if it is none, or not exact as a float;
``values`` and ``codes_at(rows)``
    the distinct values, and which of them the hosts in these rows have.

``weight`` is how many values one of them is made of.
"""

import functools

import numpy as np

from nova_sched.hosts import labels
from nova_sched.rules import attributes

#: What of a negation stands in a matrix of them.
_LEFT_OUT = 2


class Constant:
    """One value for all hosts."""

    is_constant, absent, weight = True, False, 1
    is_private = False

    def __init__(self, value):
        self.value, self.values = value, [value]
        self.truth = self.passes = bool(value)

    @property
    def is_ordered(self):
        """Whether it is equal to itself, as NaN is not."""
        return self.value == self.value

    @functools.cached_property
    def numbers(self):
        """As an array (1,)."""
        return attributes.Column(np.zeros(1, dtype=np.int64),
                                 self.values).numbers

    def codes_at(self, rows):
        """Return the code of each row: 0, the only one there is."""
        return np.zeros(len(rows), dtype=np.int64)

    def is_among(self, constants):
        """Return whether one of the constants is equal."""
        return self.value in [constant.value for constant in constants]


class Values:
    """A variable, or what a query has made of hosts: a Column.

    spend: function of how many values are about to be looked at.
    is_private: whether nothing may be said of what some hosts have.
    """

    is_constant, weight = False, 1

    def __init__(self, column, spend, is_private=False):
        self._column, self._spend = column, spend
        self.is_private = is_private

    @property
    def values(self):
        return self._column.values

    @property
    def numbers(self):
        return self._column.numbers

    def codes_at(self, rows):
        return self._column.codes[rows]

    @functools.cached_property
    def absent(self):
        if self._is_number:
            return False
        return self._where([value is attributes.ABSENT
                            for value in self.values])

    @functools.cached_property
    def truth(self):
        if self._is_number:
            return self.numbers.astype(np.bool_, copy=False)
        return self._where([value is not attributes.ABSENT and bool(value)
                            for value in self.values])

    @property
    def passes(self):
        return self.truth

    @property
    def _is_number(self):
        return self.numbers is not None

    def _where(self, verdicts):
        self._spend(len(verdicts))
        return np.array(verdicts, dtype=np.bool_)[self._column.codes]

    def equal_to(self, constants):
        """Return where it is equal to one of the constants: bool (n,)."""
        by_value, others = self._index
        verdicts = np.zeros(len(self.values), dtype=np.bool_)
        self._spend(len(constants))
        for constant in constants:
            value = constant.value
            if not isinstance(value, dict):
                verdicts[by_value.get(value, [])] = True
                continue
            self._spend(len(others))
            for code in others:
                if self.values[code] == value:
                    verdicts[code] = True
        return verdicts[self._column.codes]

    @functools.cached_property
    def _index(self):
        """{value: its codes}, and the codes of what cannot be looked up."""
        self._spend(len(self.values))
        by_value, others = {}, []
        for code in labels.in_use(self._column.codes):
            try:
                by_value.setdefault(self.values[code], []).append(code)
            except TypeError:
                others.append(code)
        return by_value, others


class Negations:
    """What ``not`` makes: a list of the opposite of each argument.

    size: of hosts.  Lists are made only where they are compared.
    """

    is_constant, absent, numbers = False, False, None
    is_private = False

    def __init__(self, arguments, size, spend):
        self._arguments, self._size, self._spend = arguments, size, spend
        self.weight = max(1, len(arguments))

    @functools.cached_property
    def truth(self):
        """Where the list is not empty."""
        return self._any(_negated(argument) != _LEFT_OUT
                         for argument in dict.fromkeys(self._arguments))

    @functools.cached_property
    def passes(self):
        """Where one in the list is true."""
        return self._any(_negated(argument) == 1
                         for argument in dict.fromkeys(self._arguments))

    def _any(self, verdicts):
        found = np.zeros(self._size, dtype=np.bool_)
        for verdict in verdicts:
            found |= verdict
        return found

    @property
    def values(self):
        return self._lists[0]

    def codes_at(self, rows):
        return self._lists[1][rows]

    def equal_to(self, constants):
        """Return false: no constant is a list."""
        return np.zeros(self._size, dtype=np.bool_)

    @functools.cached_property
    def _lists(self):
        """The distinct lists, and codes into them (n,)."""
        self._spend(self._size * (2 + len(self._arguments) // 16))
        matrix = np.empty((self._size, len(self._arguments)), dtype=np.int8)
        for number, argument in enumerate(self._arguments):
            matrix[:, number] = _negated(argument)
        found = labels.Labels.of(row.tobytes() for row in matrix)
        self._spend(len(found.values) * self.weight)
        return [[value == 1 for value in text if value != _LEFT_OUT]
                for text in found.values], found.codes


def _negated(argument):
    """Return 0 or 1, or _LEFT_OUT: for all hosts, or an array (n,)."""
    return np.where(argument.absent, _LEFT_OUT,
                    np.logical_not(argument.truth))
