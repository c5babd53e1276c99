"""Some rows of a snapshot, judged column by column or value by value."""

import numpy as np

from nova_sched.hosts import budget
from nova_sched.hosts import columns
from nova_sched.hosts import labels

_BIGGEST = np.iinfo(np.int64).max


class HostBlock:
    """Some rows of a snapshot: what filters and weighers are given.

    Numeric columns are attributes: ``hosts.free_ram_mb`` is an int64 array of
    length ``len(hosts)``.  Rules must not write to what they are given.
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
        # Next time it is there.
        self.__dict__[name] = column
        return column

    def where(self, mask):
        """Return the rows for which ``mask``, bool (n,), is true."""
        return self if mask.all() else HostBlock(self.snapshot,
                                                 self.rows[mask])

    def labels(self, name):
        """Return a label column: the rows' codes, which are in use, and the
        values.

        Returns int32 (n,), a list of the distinct codes in it, and a list
        that the codes point into.
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

    def judge(self, name, verdict, dtype=np.bool_):
        """Return ``verdict(value)`` for each distinct value of a label column.

        Returns an array (n,) of dtype.  What a verdict raises bears a note
        with the first host of that value.
        """
        codes, in_use, values = self.labels(name)
        results = np.zeros(len(values), dtype=dtype)
        for code in in_use:
            budget.check()
            try:
                results[code] = verdict(values[code])
            except Exception as exc:
                self.blame(exc, np.argmax(codes == code))
                raise
        return results.take(codes)

    def blame(self, exc, position):
        """Note on an exception at which host of the block it was raised."""
        state = self.snapshot.state(self.rows.item(position))
        exc.add_note(f'on host {state!r}')

    def derived(self, name, key, function, dtype=np.float64):
        """Return ``function(value)`` of each row of a label column: array
        (n,).

        As ``judge``, but kept for later requests; see Labels.derived.
        """
        codes, by_code = self.derived_by_code(name, key, function, dtype)
        return by_code.take(codes)

    def derived_by_code(self, name, key, function, dtype=np.float64):
        """As ``derived``: the rows' codes, and the results by code."""
        column, codes = self.snapshot.column(name), self._codes(name)

        def blamed(value):
            budget.check()
            try:
                return function(value)
            except Exception as exc:
                self.blame(exc, np.argmax(codes == column.code(value)))
                raise

        return codes, column.derived_by_code(codes, key, blamed, dtype)

    def judge_together(self, names, verdict):
        """As ``judge`` for the distinct combinations of several columns.

        names: of label columns and numeric ones.
        verdict: function of as many values as there are names.
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
            budget.check()
            try:
                results[i] = verdict(*(values[codes.item(at)]
                                       for codes, values in coded))
            except Exception as exc:
                self.blame(exc, at)
                raise
        return results[inverse]

    def _coded(self, name):
        """Return a column as codes (n,) and the values they point to."""
        column = self.snapshot.column(name)
        if isinstance(column, labels.Labels):
            return column.codes[self.rows], column.values
        values, codes = np.unique(column[self.rows], return_inverse=True)
        return codes, values.tolist()

    def named(self, name, wanted):
        """Return which rows have one of the ``wanted`` labels: bool (n,)."""
        column = self.snapshot.column(name)
        codes = [c for c in map(column.code, wanted) if c >= 0]
        return np.isin(column.codes[self.rows], codes)

    def looked_up(self, name, numbers):
        """Return each row's number in a dict by label, 0.0 without: float64
        (n,).
        """
        column = self.snapshot.column(name)
        by_code = np.zeros(len(column.values))
        for label, number in numbers.items():
            code = column.code(label)
            # The shared list of labels may have grown meanwhile.
            if 0 <= code < len(by_code):
                by_code[code] = number
        return by_code[column.codes[self.rows]]

    def objects(self, name):
        """Return a column as a list of plain Python objects, one a row."""
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
        """Where instances run; see HostSnapshot."""
        return self.snapshot.instances
