"""Columns of values that repeat from host to host.

A zone, a hypervisor type or a set of aggregates stands on thousands of hosts
but has a handful of distinct values.  Such a column holds one small integer a
host and one list of distinct values, so that a rule judges each distinct value
once and broadcasts the verdict.
"""

import numpy as np


class Labels:
    """One column of repeating values: codes into a list of distinct values.

    codes: int32 (n,), row i's position in ``values``.
    values: list of distinct hashable values, in order of first appearance.
        The list is shared by the columns made from this one and only grows,
        so codes of an older column stay right.
    """

    __slots__ = ('_derived', '_index', 'codes', 'values')

    def __init__(self, codes, values, index, derived=None):
        self.codes, self.values, self._index = codes, values, index
        # key -> (result, whether it is known) of each value, as arrays, the
        # latter None if all are; the pair is replaced as a whole, for threads
        # that read it.
        self._derived = {} if derived is None else derived

    @classmethod
    def of(cls, items):
        """Return the column of ``items``, an iterable of hashable values."""
        values, index = [], {}
        codes = np.fromiter((_code(item, values, index) for item in items),
                            dtype=np.int32)
        return cls(codes, values, index)

    def replaced(self, changes):
        """Return the column in which rows have the values of changes (row ->
        value): this one if they have them already.

        Its list of values is a new one when most of the old is out of use.
        """
        if self._is_worn(len(changes)):
            return Labels.of(self.items()).replaced(changes)
        codes = self.codes.copy()
        for row, value in changes.items():
            codes[row] = _code(value, self.values, self._index)
        return self if np.array_equal(codes, self.codes) else self._with(codes)

    def without(self, rows):
        """Return a new column without these rows, a list of ints."""
        return self._with(np.delete(self.codes, rows))

    def with_added(self, positions, items):
        """Return a new column with a row before each position, ascending ints.
        """
        if self._is_worn(len(items)):
            return Labels.of(self.items()).with_added(positions, items)
        added = [_code(item, self.values, self._index) for item in items]
        return self._with(np.insert(self.codes, positions, added))

    def items(self):
        """Return the value of each row, as a list."""
        return list(map(self.values.__getitem__, self.codes.tolist()))

    def _is_worn(self, changes):
        return len(self.values) > 2 * len(self.codes) + changes

    def _with(self, codes):
        return Labels(codes, self.values, self._index, self._derived)

    def derived(self, codes, key, function, dtype):
        """Return ``function(value)`` for these codes, each worked out only
        once.

        Returns an array of dtype, one item a code.
        """
        # Of pairs, take is eight times as fast as an index.
        return self.derived_by_code(codes, key, function, dtype).take(codes)

    def derived_by_code(self, codes, key, function, dtype):
        """Return ``function(value)`` by code: an array of dtype, one item a
        value.

        It is 0 for values that no column with these codes has yet. Kept with
        the values under ``key``, for other columns and requests too: the
        function must depend on nothing but the value.
        """
        results, known = self._derived.get(key) or (np.zeros(0, dtype), None)
        more = len(self.values) - len(results)
        if known is None and more <= 0:
            return results
        if known is None:
            known = np.ones(len(results), np.bool_)
        if more > 0:
            results = np.concatenate([results, np.zeros(more, dtype)])
            known = np.concatenate([known, np.zeros(more, np.bool_)])
        if not known.take(codes).all():
            results, known = results.copy(), known.copy()
            for code in in_use(codes[~known[codes]]):
                results[code] = function(self.values[code])
                known[code] = True
            self._derived[key] = results, None if known.all() else known
        return results

    def united(self, key, function):
        """Return what ``function(value)`` says of all values: a frozenset.

        function: returns a collection; otherwise as of ``derived_by_code``.
            What it says of values that no row has any more is part of it.
        """
        count, found = self._derived.get(key) or (0, frozenset())
        if count < len(self.values):
            values = self.values[count:]
            found = found.union(*map(function, values))
            self._derived[key] = count + len(values), found
        return found

    def private(self):
        """Return the same column with a list of values of its own.

        The shared one must only be added to by whoever refreshes the table.
        """
        # Before the values: it must not know of more of them than there are.
        derived = dict(self._derived)
        values = list(self.values)
        return Labels(self.codes, values, {
            value: code for code, value in enumerate(values)}, derived)

    def code(self, value):
        """Return the code of ``value``; -1 when no row ever had it."""
        return self._index.get(value, -1)

    def __len__(self):
        return len(self.codes)

    def _check(self):
        """Assert every invariant of a column (used by tests)."""
        assert self.codes.dtype == np.int32
        assert all(0 <= code < len(self.values) for code in self.codes)
        assert self._index == {value: code for code, value
                               in enumerate(self.values)}


def _code(value, values, index):
    code = index.get(value)
    if code is None:
        code = index[value] = len(values)
        values.append(value)
    return code


def in_use(codes):
    """Return the distinct codes in an array of them, ascending: list of ints.
    """
    return np.flatnonzero(np.bincount(codes)).tolist() if len(codes) else []
