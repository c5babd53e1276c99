"""The arguments of query operators: constants, values of hosts, negations.

Each class has these attributes, for all hosts or as an array (n,):

``truth``
    whether the argument exists and is true;
``absent``
    whether a host does not have the argument, so that it is removed;
``passes``
    whether a host passes if the argument is the result of the whole query;
``numbers``
    the numbers; None if not all values are numbers that are exact as floats;
``values`` and ``codes_at(rows)``
    the distinct values, and the codes of the values in these rows.

``weight`` is the number of values that one value consists of.
"""

import functools

import numpy as np

from nova_sched.hosts import labels
from nova_sched.rules import attributes

#: Marks an absent argument in the matrix of a negation.
_LEFT_OUT = 2


class Constant:
    """A constant: one value for all hosts."""

    is_constant, absent, weight = True, False, 1
    is_private = False

    def __init__(self, value):
        self.value, self.values = value, [value]
        self.truth = self.passes = bool(value)

    @property
    def is_ordered(self):
        """Whether the value is not NaN, which is not equal to itself."""
        return self.value == self.value

    @functools.cached_property
    def numbers(self):
        """The number as an array (1,), or None."""
        return attributes.Column(np.zeros(1, dtype=np.int64),
                                 self.values).numbers

    def codes_at(self, rows):
        """Return the code of each row: 0, the only code."""
        return np.zeros(len(rows), dtype=np.int64)

    def is_among(self, constants):
        """Return whether one of the constants is equal."""
        return self.value in [constant.value for constant in constants]


class Values:
    """The values of hosts: a variable, or the result of a subquery.

    column: attributes.Column.
    spend: function that counts work, with the number of values to compare.
    is_private: whether refusals must not depend on the values.
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
        """Return which hosts' value is equal to a constant: bool (n,)."""
        by_value, unhashable = self._index
        verdicts = np.zeros(len(self.values), dtype=np.bool_)
        self._spend(len(constants))
        for constant in constants:
            value = constant.value
            if not isinstance(value, dict):
                verdicts[by_value.get(value, [])] = True
                continue
            self._spend(len(unhashable))
            for code in unhashable:
                if self.values[code] == value:
                    verdicts[code] = True
        return verdicts[self._column.codes]

    @functools.cached_property
    def _index(self):
        """{value: its codes}, and the codes of unhashable values."""
        self._spend(len(self.values))
        by_value, unhashable = {}, []
        for code in labels.in_use(self._column.codes):
            try:
                by_value.setdefault(self.values[code], []).append(code)
            except TypeError:
                unhashable.append(code)
        return by_value, unhashable


class Negations:
    """The result of ``not``: for each host a list of negated arguments.

    size: number of hosts.  The lists are created only for comparisons.
    """

    is_constant, absent, numbers = False, False, None
    is_private = False

    def __init__(self, arguments, size, spend):
        self._arguments, self._size, self._spend = arguments, size, spend
        self.weight = max(1, len(arguments))

    @functools.cached_property
    def truth(self):
        """Whether the list is not empty."""
        return self._any(_negated(argument) != _LEFT_OUT
                         for argument in dict.fromkeys(self._arguments))

    @functools.cached_property
    def passes(self):
        """Whether any item of the list is true."""
        return self._any(_negated(argument) == 1
                         for argument in dict.fromkeys(self._arguments))

    def _any(self, verdicts):
        result = np.zeros(self._size, dtype=np.bool_)
        for verdict in verdicts:
            result |= verdict
        return result

    @property
    def values(self):
        return self._lists[0]

    def codes_at(self, rows):
        return self._lists[1][rows]

    def equal_to(self, constants):
        """Return false for all hosts, because no constant is a list."""
        return np.zeros(self._size, dtype=np.bool_)

    @functools.cached_property
    def _lists(self):
        """The distinct lists, and the codes of the hosts' lists (n,)."""
        self._spend(self._size * (2 + len(self._arguments) // 16))
        matrix = np.empty((self._size, len(self._arguments)), dtype=np.int8)
        for number, argument in enumerate(self._arguments):
            matrix[:, number] = _negated(argument)
        rows = labels.Labels.of(row.tobytes() for row in matrix)
        self._spend(len(rows.values) * self.weight)
        return [[value == 1 for value in text if value != _LEFT_OUT]
                for text in rows.values], rows.codes


def _negated(argument):
    """Return 0, 1 or _LEFT_OUT for all hosts, or an array (n,) of them."""
    return np.where(argument.absent, _LEFT_OUT,
                    np.logical_not(argument.truth))
