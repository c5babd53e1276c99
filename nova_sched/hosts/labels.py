"""Columns of values that repeat from host to host.

Thousands of hosts share a few distinct zones, hypervisor types or sets of
aggregates.  Such a column has one small integer for each host and one list of
distinct values.  A rule judges each distinct value once, and the verdict is
broadcast to the hosts.
"""

import numpy as np


class Labels:
    """One column of repeating values: codes into a list of distinct values.

    codes: int32 (n,), each row's index in ``values``.
    values: list of distinct hashable values, in order of first appearance.
        Columns derived from this one share the list.  It only grows, so that
        codes of older columns remain valid.
    """

    __slots__ = ('_derived', '_index', 'codes', 'values')

    def __init__(self, codes, values, index, derived=None):
        self.codes, self.values, self._index = codes, values, index
        # Cache of ``derived_by_code``: key -> two arrays with an item for each
        # value: result, and whether it is known (None if all are).  The pair
        # is replaced as a whole, because other threads read it.
        self._derived = {} if derived is None else derived

    @classmethod
    def of(cls, items):
        """Return the column of ``items``, an iterable of hashable values."""
        values, index = [], {}
        codes = np.fromiter((_code(item, values, index) for item in items),
                            dtype=np.int32)
        return cls(codes, values, index)

    def replaced(self, changes):
        """Return a column with some values replaced; itself if none differs.

        changes: row -> value.
        The result has a new list of values if most old values are unused.
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
        """Return a new column with an item inserted before each position.

        positions: ascending ints.
        """
        if self._is_worn(len(items)):
            return Labels.of(self.items()).with_added(positions, items)
        added = [_code(item, self.values, self._index) for item in items]
        return self._with(np.insert(self.codes, positions, added))

    def items(self):
        """Return the value of each row: list."""
        return list(map(self.values.__getitem__, self.codes.tolist()))

    def _is_worn(self, changes):
        return len(self.values) > 2 * len(self.codes) + changes

    def _with(self, codes):
        return Labels(codes, self.values, self._index, self._derived)

    def derived_by_code(self, codes, key, function, dtype):
        """Return ``function(value)`` of the used values: array by code.

        codes: codes in use; items for other values may be 0.
        key: key of a cache for all columns that share the values, and all
            requests, so the result must depend on the value only.
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
        """Return the union of ``function(value)`` of all values: frozenset.

        It includes values that no row has any more.
        function: returns a collection.  key: see ``derived_by_code``.
        """
        count, union = self._derived.get(key) or (0, frozenset())
        if count < len(self.values):
            values = self.values[count:]
            union = union.union(*map(function, values))
            self._derived[key] = count + len(values), union
        return union

    def private(self):
        """Return the same column with its own copy of the list of values.

        Only the thread that refreshes the table may append to the shared list.
        """
        # Before the values, so that it has no results for missing values.
        derived = dict(self._derived)
        values = list(self.values)
        return Labels(self.codes, values, {
            value: code for code, value in enumerate(values)}, derived)

    def code(self, value):
        """Return the code of ``value``; -1 if no row ever had it."""
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
    """Return the distinct codes in an array, ascending: list of int."""
    return np.flatnonzero(np.bincount(codes)).tolist() if len(codes) else []
