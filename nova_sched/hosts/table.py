"""All hosts as one table: one column an attribute, row i everywhere one host.

``HostTable`` is one generation of the cloud's state and never changes;
``HostSnapshot`` is one request's private copy of it, which shares every column
until the request first writes to it; ``HostBlock`` is some rows of a snapshot,
which is what filters and weighers are given.

Units: ``*_mb`` MiB, ``*_gb`` GiB, times in seconds since the epoch (UTC).
"""

import numpy as np
from oslo_log import log as logging

from nova_sched.hardware import consumption
from nova_sched.hosts import labels
from nova_sched.hosts.state import HostState

LOG = logging.getLogger(__name__)

#: Columns by kind, and so by type.  Source of each: host_rows.py.
INTEGERS = ('total_usable_ram_mb', 'free_ram_mb', 'total_usable_disk_gb',
            'free_disk_mb', 'disk_mb_used', 'vcpus_total', 'vcpus_used',
            'num_instances', 'num_io_ops', 'failed_builds')
FLOATS = ('cpu_allocation_ratio', 'ram_allocation_ratio',
          'disk_allocation_ratio', 'updated', 'service_last_seen')
BOOLEANS = ('service_disabled', 'service_forced_down', 'service_up',
            'bare_metal')
LABELS = ('host', 'nodename', 'uuid', 'cell_uuid', 'hypervisor_type',
          'hypervisor_version', 'host_ip', 'cpu_info', 'supported_instances',
          'aggregates', 'pci_stats', 'metrics', 'numa_topology')
#: ``service`` holds named tuples: a row of Nova's table ``services``.
OBJECTS = ('stats', 'numa_topology', 'service')

DTYPES = (dict.fromkeys(INTEGERS, np.int64)
          | dict.fromkeys(FLOATS, np.float64)
          | dict.fromkeys(BOOLEANS, np.bool_))

_SMALLEST, _BIGGEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max

#: The columns that placing an instance on a host changes.
CONSUMED = ('free_ram_mb', 'free_disk_mb', 'vcpus_used', 'num_instances',
            'num_io_ops', 'updated')


class HostTable:
    """One generation of the state of all hosts; immutable.

    columns: name -> array (n,) for the names of DTYPES, ``Labels`` for those
        of LABELS, list of n objects for those of OBJECTS.
    """

    def __init__(self, columns):
        self.columns = columns
        self.size = len(columns['host'])

    @classmethod
    def from_records(cls, records, **values):
        """The table of ``records``: dicts, one a host, all with equal keys.

        values: further columns, as lists of one value a host.
        """
        if records:
            values |= {name: [record[name] for record in records]
                       for name in records[0]}
        return cls({name: make_column(name, values.get(name, []))
                    for name in (*DTYPES, *LABELS, *OBJECTS)})

    def replaced(self, changes):
        """A new table in which some rows are other records.

        changes: row -> dict with a value for some or all columns; all dicts
            have the same keys.
        """
        if not changes:
            return self
        columns = dict(self.columns)
        for name in next(iter(changes.values())):
            values = {row: record[name] for row, record in changes.items()}
            columns[name] = _replaced(columns[name], values)
        return HostTable(columns)

    def with_columns(self, **values):
        """A new table with whole columns replaced, given as lists."""
        return HostTable(self.columns | {name: make_column(name, column)
                                         for name, column in values.items()})

    def snapshot(self, instances, candidates=None):
        """One request's private HostSnapshot of this generation."""
        return HostSnapshot(self, instances, candidates)

    def _check(self):
        """Assert every invariant of a table (used by tests)."""
        assert set(self.columns) == {*DTYPES, *LABELS, *OBJECTS}
        for name, column in self.columns.items():
            assert len(column) == self.size, name
            if name in DTYPES:
                assert column.dtype == DTYPES[name], name
            elif name in LABELS:
                assert not self.size or column.codes.min() >= 0, name
                assert (not self.size
                        or column.codes.max() < len(column.values)), name
                assert len(set(column.values)) == len(column.values), name
        keys = set(zip(self.columns['host'].codes.tolist(),
                       self.columns['nodename'].codes.tolist(), strict=True))
        assert len(keys) == self.size


def check_record(record):
    """Raise OverflowError for a number that is too big for its column."""
    for name in INTEGERS:
        if not _SMALLEST <= record[name] <= _BIGGEST:
            raise OverflowError(f'{name} = {record[name]} is out of range')


def make_column(name, values):
    """A list of values in the column's stored form."""
    if name in DTYPES:
        return np.array(values, dtype=DTYPES[name])
    return labels.Labels.of(values) if name in LABELS else values


def _replaced(column, values):
    if isinstance(column, labels.Labels):
        return column.replaced(values)
    column = column.copy()
    for row, value in values.items():
        column[row] = value
    return column


class HostSnapshot:
    """One request's private hosts.

    table: the generation it starts from.
    instances: an object with ``located(uuids) -> {uuid: host}`` and
        ``on_host(host) -> {uuid: instance}``; where instances run.
    candidates: candidates.Candidates, or None if Placement was not asked.
    """

    #: Whether instances go to the NUMA cells of a host that are used most.
    pack_numa_cells = False

    def __init__(self, table, instances, candidates=None):
        self.size = table.size
        self.instances = instances
        self.candidates = candidates
        self._columns = dict(table.columns)
        self._owned = set()
        self._states = {}
        self._limiting = {}

    def column(self, name):
        """The stored column: array, ``Labels`` or list of objects."""
        return self._columns[name]

    def cell(self, name, row):
        """One value as a plain Python object.  KeyError: no such column."""
        column = self._columns[name]
        if isinstance(column, np.ndarray):
            return column.item(row)
        if isinstance(column, labels.Labels):
            return column.values[column.codes.item(row)]
        return column[row]

    def state(self, row):
        """The row as a HostState; the same object all through the request."""
        state = self._states.get(row)
        if state is None:
            state = self._states[row] = HostState(self, row)
        return state

    def block(self, rows=None):
        """These rows (int array), or all of them, as rules see them."""
        return HostBlock(self, rows)

    def note_ran(self, filter_, spec):
        """A filter has judged hosts; ``limits`` asks it from now on."""
        self._limiting[id(filter_)] = filter_, spec

    def limits(self, row):
        """What the filters that ran leave the compute node to enforce: dict.

        Nothing is left to it by filters that did not look, as on a rebuild.
        """
        found, host = {}, self.block(np.array([row]))
        for filter_, spec in self._limiting.values():
            if filter_.RUN_ON_REBUILD or not spec.is_rebuild:
                found |= filter_.limits(host, spec)
        return found | self.state(row).limits

    def consume(self, row, spec, now, mapping=None, limits=None):
        """Take one instance of the request out of a host's free resources.

        RAM, disk (root and ephemeral, never swap) and CPUs of the flavor, its
        share of NUMA cells and PCI devices, one instance and one I/O
        operation.  A bare-metal node is all taken, by any instance.  Changes
        this snapshot only, and the request's NUMA topology.

        mapping: request group -> provider uuids, as was claimed, or None.
        limits: what the filters leave the compute node to enforce: dict.
        """
        if self.cell('bare_metal', row):
            return self._consume_all(row, now)
        disk_mb = (spec.root_gb + spec.ephemeral_gb) * 1024
        for name, delta in (('free_ram_mb', -spec.memory_mb),
                            ('free_disk_mb', -disk_mb),
                            ('vcpus_used', spec.vcpus),
                            ('num_instances', 1)):
            self._writable(name)[row] += delta
        try:
            self._consume_hardware(row, spec, mapping, limits or {})
        except consumption.FailedError as error:
            LOG.warning('Selected host: %(host)s failed to consume from '
                        'instance. Error: %(error)s',
                        {'host': self.state(row), 'error': error})
        else:
            self._writable('num_io_ops')[row] += 1
            self._writable('updated')[row] = now

    def _consume_hardware(self, row, spec, mapping, limits):
        before = [self.cell(name, row) for name in consumption.COLUMNS]
        hardware = consumption.Hardware(*before)
        try:
            hardware.take(spec, limits.get('numa_topology'), mapping,
                          self.pack_numa_cells)
        finally:
            for name, old, new in zip(consumption.COLUMNS, before,
                                      hardware.columns(), strict=True):
                if new is not old:
                    self._relabel(name, row, new)

    def _relabel(self, name, row, value):
        column = self._columns[name]
        if name not in self._owned:
            column = column.private()
            self._owned.add(name)
        self._columns[name] = column.replaced({row: value})

    def _consume_all(self, row, now):
        for name, value in (('free_ram_mb', 0), ('free_disk_mb', 0),
                            ('vcpus_used', self.cell('vcpus_total', row)),
                            ('updated', now)):
            self._writable(name)[row] = value

    def _writable(self, name):
        if name not in self._owned:
            self._columns[name] = self._columns[name].copy()
            self._owned.add(name)
        return self._columns[name]

    def as_table(self):
        """The snapshot with all that was consumed, as a new generation."""
        self._owned.clear()
        return HostTable(dict(self._columns))


class HostBlock:
    """Some rows of a snapshot: what filters and weighers are given.

    Numeric columns are attributes: ``hosts.free_ram_mb`` is an int64 array of
    length ``len(hosts)``.  Rules must not write to what they are given.
    """

    def __init__(self, snapshot, rows=None):
        self.snapshot = snapshot
        self._all = rows is None
        self.rows = np.arange(snapshot.size) if self._all else rows
        self._taken = {}
        self._taken_labels = {}

    def __len__(self):
        return len(self.rows)

    def __getattr__(self, name):
        if name not in DTYPES:
            raise AttributeError(f'hosts have no column {name!r}')
        column = self._taken.get(name)
        if column is None:
            column = self.snapshot.column(name)
            if not self._all:
                column = column[self.rows]
            self._taken[name] = column
        return column

    def where(self, mask):
        """The rows for which ``mask``, bool (n,), is true."""
        return self if mask.all() else HostBlock(self.snapshot,
                                                 self.rows[mask])

    def labels(self, name):
        """A label column: the rows' codes, which are in use, and the values.

        Returns int32 (n,), a list of the distinct codes in it, and a list
        that the codes point into.
        """
        taken = self._taken_labels.get(name)
        if taken is None:
            column = self.snapshot.column(name)
            codes = column.codes if self._all else column.codes[self.rows]
            taken = codes, labels.in_use(codes), column.values
            self._taken_labels[name] = taken
        return taken

    def judge(self, name, verdict, dtype=np.bool_):
        """``verdict(value)`` for each distinct value of a label column.

        Returns an array (n,) of dtype.  What a verdict raises bears a note
        with the first host of that value.
        """
        codes, in_use, values = self.labels(name)
        results = np.zeros(len(values), dtype=dtype)
        for code in in_use:
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
        """``function(value)`` of each row of a label column: array (n,).

        As ``judge``, but kept for later requests; see Labels.derived.
        """
        column = self.snapshot.column(name)
        codes = column.codes if self._all else column.codes[self.rows]

        def blamed(value):
            try:
                return function(value)
            except Exception as exc:
                self.blame(exc, np.argmax(codes == column.code(value)))
                raise

        return column.derived(codes, key, blamed, dtype)

    def judge_together(self, names, verdict):
        """As ``judge`` for the distinct combinations of several columns.

        names: of label columns and numeric ones.
        verdict: function of as many values as there are names.
        """
        columns = [self._coded(name) for name in names]
        code, size = np.zeros(len(self.rows), dtype=np.int64), 1
        for codes, values in columns:
            if size * len(values) > _BIGGEST:
                _, code = np.unique(code, return_inverse=True)
                size = len(self.rows)
            code, size = code * len(values) + codes, size * len(values)
        distinct, first, inverse = np.unique(code, return_index=True,
                                             return_inverse=True)
        results = np.zeros(len(distinct), dtype=np.bool_)
        for i, at in enumerate(first.tolist()):
            try:
                results[i] = verdict(*(values[codes.item(at)]
                                       for codes, values in columns))
            except Exception as exc:
                self.blame(exc, at)
                raise
        return results[inverse]

    def _coded(self, name):
        """A column as codes (n,) and the values they point to."""
        column = self.snapshot.column(name)
        if isinstance(column, labels.Labels):
            return column.codes[self.rows], column.values
        values, codes = np.unique(column[self.rows], return_inverse=True)
        return codes, values.tolist()

    def named(self, name, wanted):
        """Which rows have one of the ``wanted`` labels: bool (n,)."""
        column = self.snapshot.column(name)
        codes = [c for c in map(column.code, wanted) if c >= 0]
        return np.isin(column.codes[self.rows], codes)

    def looked_up(self, name, numbers):
        """Each row's number in a dict by label, 0.0 without: float64 (n,)."""
        column = self.snapshot.column(name)
        by_code = np.zeros(len(column.values))
        for label, number in numbers.items():
            code = column.code(label)
            # The shared list of labels may have grown meanwhile.
            if 0 <= code < len(by_code):
                by_code[code] = number
        return by_code[column.codes[self.rows]]

    def objects(self, name):
        """A column as a list of plain Python objects, one a row."""
        column = self.snapshot.column(name)
        if isinstance(column, np.ndarray):
            return column[self.rows].tolist()
        if isinstance(column, labels.Labels):
            values = column.values
            return [values[code] for code in column.codes[self.rows].tolist()]
        return [column[row] for row in self.rows.tolist()]

    def states(self):
        """The rows as HostState objects."""
        return [self.snapshot.state(row) for row in self.rows.tolist()]

    @property
    def instances(self):
        """Where instances run; see HostSnapshot."""
        return self.snapshot.instances
