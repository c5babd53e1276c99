"""Attributes of hosts that requests may name, for queries and extra specs.

Names are the attributes of Nova's host states.  ``column`` returns an
attribute as distinct values, so that a rule judges each value once.
"""

import functools
import math

import numpy as np

from nova_sched.hosts import budget
from nova_sched.hosts import columns
from nova_sched.hosts import labels
from nova_sched.rules import limits

_SHOWN = [column for column in columns.COLUMNS if not column.ours]
_NUMBERS = frozenset(
    column.name for column in _SHOWN
    if column.kind in (columns.INTEGER, columns.FLOAT))
_LABELS = frozenset(
    column.name for column in _SHOWN
    if column.kind == columns.LABEL and not column.viewed)

#: Attributes that are read from each host state.
_OBJECTS = {'instances', 'allocation_candidates'} | {
    column.name for column in _SHOWN if column.viewed}

#: All attributes except ``limits``, which filters set.
NAMES = _NUMBERS | _LABELS | _OBJECTS | {'stats'}

#: The value of a host without the attribute, where None is a value.
ABSENT = object()

#: Types of values that are judged once if they are equal.
_SIMPLE = (str, int, float)

#: Largest integer up to which all integers are exact as floats.
_EXACT = 2 ** 53


class Column:
    """One value for each host, as codes into a list of values.

    codes: int (n,).  values: list of plain Python objects; they may repeat,
    and some may be unused.
    """

    def __init__(self, codes, values):
        self.codes, self.values = codes, values

    @classmethod
    def of(cls, values):
        """Return the column of a list with one value for each host."""
        codes, distinct, known = [], [], {}
        for value in values:
            # 1, 1.0 and True are equal, but differ as text.
            key = (value.__class__, value if isinstance(value, _SIMPLE)
                   else id(value))
            if key not in known:
                known[key] = len(distinct)
                distinct.append(value)
            codes.append(known[key])
        return cls(np.array(codes, dtype=np.int64), distinct)

    def in_use(self):
        """Return the values that hosts have: list."""
        return [self.values[code] for code in labels.in_use(self.codes)]

    def mapped(self, function, hosts):
        """Return the column of ``function(value)``, called once for a value.

        hosts: the HostBlock of the column.  An exception of the function gets
        a note with the first host that has the value.
        """
        values = [None] * len(self.values)
        for code in budget.checked(labels.in_use(self.codes)):
            try:
                values[code] = function(self.values[code])
            except Exception as exc:
                hosts.blame(exc, np.argmax(self.codes == code))
                raise
        return Column(self.codes, values)

    def evaluate(self, verdict, hosts):
        """Return where ``verdict(value)`` is true: bool (n,); see ``mapped``.
        """
        verdicts = self.mapped(verdict, hosts).values
        return np.array(verdicts, dtype=np.bool_)[self.codes]

    @functools.cached_property
    def numbers(self):
        """The numbers of all hosts: (n,); None unless exact as floats."""
        numbers = np.zeros(len(self.values))
        for code in labels.in_use(self.codes):
            value = self.values[code]
            if not isinstance(value, (int, float)) or (
                    _EXACT < abs(value) < math.inf):
                return None
            numbers[code] = value
        return numbers[self.codes]


class Numbers(Column):
    """A column of numbers or truth values, given as an array (n,)."""

    def __init__(self, array):
        self.array = array

    @functools.cached_property
    def _coded(self):
        if self.array.dtype == np.bool_:
            return [False, True], self.array.astype(np.int64)
        values, codes = np.unique(self.array, return_inverse=True)
        return values.tolist(), codes

    @property
    def codes(self):
        return self._coded[1]

    @property
    def values(self):
        return self._coded[0]

    @functools.cached_property
    def numbers(self):
        array = self.array
        if array.dtype == np.bool_:
            return array
        return array if (np.abs(array, dtype=np.float64) <= _EXACT
                         ).all() else None


def column(hosts, name):
    """Return an attribute of the hosts of a HostBlock: Column.

    None for an unknown name.  Objects such as ``stats`` and ``service`` are
    dicts and lists; JSON columns are text.
    """
    name = 'nodename' if name == 'hypervisor_hostname' else name
    if name in _NUMBERS:
        return Numbers(getattr(hosts, name))
    if name in _LABELS:
        codes, _in_use, values = hosts.labels(name)
        return Column(codes, values)
    if name == 'stats':
        values = hosts.objects(name)
    elif name == 'limits':
        values = [limits.of_row(hosts.snapshot, row)
                  for row in hosts.rows.tolist()]
    elif name in _OBJECTS:
        values = [getattr(state, name) for state in hosts.states()]
    else:
        return None
    return Column(np.arange(len(hosts)), values)
