"""Host blocks: some rows of a snapshot as columns, for rules."""

import numpy as np

from nova_sched.hosts import budget
from nova_sched.hosts import columns
from nova_sched.hosts import labels

_BIGGEST = np.iinfo(np.int64).max


class HostBlock:
    """Some rows of a snapshot: the argument of filters and weighers.

    Numeric columns are attributes: ``hosts.free_ram_mb`` is an int64 array of
    length ``len(hosts)``.  Rules must not change them.
    """

    def __init__(self, snapshot, rows=None):
        self.snapshot = snapshot
        self._all = rows is None
        self.rows = np.arange(snapshot.size) if self._all else rows
        self._taken_codes, self._taken_labels = {}, {}

    def __len__(self):
        return len(self.rows)

    def __getattr__(self, name):
        if name not in columns.DTYPES:
            raise AttributeError(f'hosts have no column {name!r}')
        column = self.snapshot.column(name)
        if not self._all:
            column = column[self.rows]
        # Cached: the next access does not call this method.
        self.__dict__[name] = column
        return column

    def where(self, mask):
        """Return the rows where ``mask``, bool (n,), is true: HostBlock."""
        return self if mask.all() else HostBlock(self.snapshot,
                                                 self.rows[mask])

    def replaced(self, columns_):
        """Return the same rows with other numbers in some columns: HostBlock.

        columns_: name -> array (n,).  Host states keep their values.
        """
        block = HostBlock(self.snapshot, self.rows)
        block.__dict__ |= columns_
        return block

    def kinds(self, names):
        """Return the first position of each combination of some columns'
        values: int (k,), and the combination of each row: int (n,).
        """
        kind = np.zeros(len(self.rows), dtype=np.int64)
        for name in names:
            codes, values = self._coded(name)
            _, kind = np.unique(kind * len(values) + codes,
                                return_inverse=True)
        _, first, kind = np.unique(kind, return_index=True,
                                   return_inverse=True)
        return first, kind

    def labels(self, name):
        """Return a label column: codes, distinct codes, and values.

        Returns the rows' codes, int32 (n,), a list of the distinct codes, and
        the list of values by code.
        """
        taken = self._taken_labels.get(name)
        if taken is None:
            codes = self._codes(name)
            taken = (codes, labels.in_use(codes),
                     self.snapshot.column(name).values)
            self._taken_labels[name] = taken
        return taken

    def _codes(self, name):
        """Return the rows' codes of a label column: int32 (n,)."""
        codes = self._taken_codes.get(name)
        if codes is None:
            codes = self.snapshot.column(name).codes
            if not self._all:
                codes = codes.take(self.rows)
            self._taken_codes[name] = codes
        return codes

    def evaluate(self, name, verdict, dtype=np.bool_):
        """Return ``verdict(value)`` of a label column for each row.

        The function is called once for each distinct value.
        Returns an array (n,) of dtype.  An exception of the function gets a
        note with the first host that has the value.
        """
        codes, in_use, values = self.labels(name)
        results = np.zeros(len(values), dtype=dtype)
        for code in in_use:
            results[code] = self._result(verdict, [values[code]], codes, code)
        return results.take(codes)

    def _result(self, function, values, codes, code):
        """Return ``function(*values)``; codes: as ``code``, of each row."""
        budget.check()
        try:
            return function(*values)
        except Exception as exc:
            self.blame(exc, np.argmax(codes == code))
            raise

    def distinct(self, name, function=lambda value: value):
        """Yield ``function(value)`` of the distinct values of a column."""
        codes, in_use, values = self.labels(name)
        for code in in_use:
            yield self._result(function, [values[code]], codes, code)

    def blame(self, exc, position):
        """Add a note to an exception that names a host of the block."""
        state = self.snapshot.state(self.rows.item(position))
        exc.add_note(f'on host {state!r}')

    def derived(self, name, key, function, dtype=np.float64):
        """Return ``function(value)`` of a label column for each row: (n,).

        Unlike for ``evaluate``, results are cached for later requests, see
        Labels.derived_by_code.
        """
        codes, by_code = self.derived_by_code(name, key, function, dtype)
        # For structured arrays, take is eight times as fast as an index.
        return by_code.take(codes)

    def derived_by_code(self, name, key, function, dtype=np.float64):
        """Return the rows' codes, and the results of ``derived`` by code."""
        column, codes = self.snapshot.column(name), self._codes(name)
        return codes, column.derived_by_code(
            codes, key, lambda value: self._result(
                function, [value], codes, column.code(value)), dtype)

    def evaluate_together(self, names, verdict):
        """Return a verdict on the values of several columns for each row.

        names: names of label or numeric columns.
        verdict: function of a value of each column; called once for each
            distinct combination.
        """
        coded = [self._coded(name) for name in names]
        code, size = np.zeros(len(self.rows), dtype=np.int64), 1
        for codes, values in coded:
            if size * len(values) > _BIGGEST:
                _, code = np.unique(code, return_inverse=True)
                size = len(self.rows)
            code, size = code * len(values) + codes, size * len(values)
        distinct, first, inverse = np.unique(code, return_index=True,
                                             return_inverse=True)
        results = np.zeros(len(distinct), dtype=np.bool_)
        for i, at in enumerate(first.tolist()):
            results[i] = self._result(
                verdict, [values[codes.item(at)] for codes, values in coded],
                inverse, i)
        return results[inverse]

    def _coded(self, name):
        """Return a column as codes (n,), and the list of values by code."""
        column = self.snapshot.column(name)
        if isinstance(column, labels.Labels):
            return column.codes[self.rows], column.values
        values, codes = np.unique(column[self.rows], return_inverse=True)
        return codes, values.tolist()

    def named(self, name, labels_):
        """Return which rows have one of the labels in a column: bool (n,)."""
        column = self.snapshot.column(name)
        codes = [c for c in map(column.code, labels_) if c >= 0]
        return np.isin(column.codes[self.rows], codes)

    def looked_up(self, name, numbers):
        """Return the number for each row's label: float64 (n,).

        numbers: label -> number; the default is 0.0.
        """
        column = self.snapshot.column(name)
        by_code = np.zeros(len(column.values))
        for label, number in numbers.items():
            code = column.code(label)
            # Another thread may have added labels to the shared list.
            if 0 <= code < len(by_code):
                by_code[code] = number
        return by_code[column.codes[self.rows]]

    def objects(self, name):
        """Return a column as a list of plain Python objects, one per row."""
        column = self.snapshot.column(name)
        if isinstance(column, np.ndarray):
            return column[self.rows].tolist()
        if isinstance(column, labels.Labels):
            values = column.values
            return [values[code] for code in column.codes[self.rows].tolist()]
        return [column[row] for row in self.rows.tolist()]

    def states(self):
        """Return the rows as HostState objects: list."""
        return [self.snapshot.state(row) for row in self.rows.tolist()]

    @property
    def instances(self):
        """The Instances of the snapshot, see HostSnapshot."""
        return self.snapshot.instances
