"""One request's private copy of the host table.

It shares every column with the table until the request first writes to it.
"""

import copy
import math

import numpy as np
from oslo_log import log as logging

from nova_sched.hardware import consumption
from nova_sched.hosts import block
from nova_sched.hosts import labels
from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.hosts.state import HostState

LOG = logging.getLogger(__name__)


class HostSnapshot:
    """One request's private hosts.

    table: the generation it starts from.
    instances: an object with ``located(uuids) -> {uuid: host}`` and
        ``on_host(host) -> {uuid: instance}``; where instances run.
    offer: what Placement offers, a value of hosts.allocation_candidates.
    """

    #: Whether instances go to the NUMA cells of a host that are used most.
    pack_numa_cells = False

    #: The moment that services are up at, in seconds since the epoch, or None.
    moment = None

    #: How often a host was changed otherwise than by consumption.
    writes = 0

    #: Request group -> provider uuids, as claimed for the instance that is
    #: being consumed by its host's state; or None.
    mapping = None

    def __init__(self, table, instances, offer=PLACEMENT_NOT_USED):
        self.size, self._table = table.size, table
        self.cells = table.cells
        self.instances = instances
        self.offer = offer
        self._columns = dict(table.columns)
        self._owned = set()
        self._states = {}
        self._written = {}
        #: The filters that have judged hosts and leave limits: id of the
        #: filter -> (filter, RequestSpec); see filters.limits_of.
        self.judges = {}

    @property
    def table(self):
        """The generation of the hosts that it shares columns with."""
        return self._table

    def column(self, name):
        """Return the stored column: array, ``Labels`` or list of objects."""
        return self._columns[name]

    def cell(self, name, row):
        """Return one value as a plain Python object.

        Raises KeyError for a column that there is none of.
        """
        column = self._columns[name]
        if isinstance(column, np.ndarray):
            return column.item(row)
        if isinstance(column, labels.Labels):
            return column.values[column.codes.item(row)]
        return column[row]

    def state(self, row):
        """Return the row as a HostState; the same object all through the
        request.
        """
        state = self._states.get(row)
        if state is None:
            state = self._states[row] = HostState.of(self, row)
        return state

    def own_limits(self, row):
        """Return what plug-ins left as limits on a row's state: dict."""
        state = self._states.get(row)
        return {} if state is None else state.limits

    def have(self, row, state):
        """Make a HostState of elsewhere the row's from now on."""
        state.settle(self, row)
        self._states[row] = state

    def states_of(self, name=None, wanted=()):
        """Return the hosts that have one of these labels in a column:
        HostStates.

        All of them if no column is named.  A list, in the order of rows.
        """
        found = self.block()
        if name is not None:
            found = found.where(found.named(name, wanted))
        return [self.state(row) for row in found.rows.tolist()]

    def aggregates(self):
        """Return the aggregates that any of the hosts is in, by id: list."""
        column = self.column('aggregates')
        found = {aggregate.id: aggregate
                 for code in labels.in_use(column.codes)
                 for aggregate in column.values[code]}
        return [found[key] for key in sorted(found)]

    def aggregates_of(self, host):
        """Return the aggregates of a host by its name, a new list."""
        return list(self._of_host(host, 'aggregates') or ())

    def cell_of(self, host):
        """Return the uuid of a host's cell by its name; None for no such host.
        """
        return self._of_host(host, 'cell_uuid')

    def _of_host(self, host, name):
        hosts = self.column('host')
        rows = np.flatnonzero(hosts.codes == hosts.code(host))
        return self.cell(name, rows.item(0)) if len(rows) else None

    def block(self, rows=None):
        """Return these rows (int array), or all of them, as rules see them."""
        return block.HostBlock(self, rows)

    def go_on(self, later):
        """Have the values of a later snapshot of the same hosts.

        What plug-ins keep on states, and what filters leave as limits, stays.
        """
        self._table, self.cells = later._table, later.cells
        self._columns = dict(later._columns)
        self._owned.clear()
        for (name, row), value in self._written.items():
            self._write(name, row, value)

    def write(self, name, row, value):
        """Have a host be different in a column, for this request.

        Returns whether the column can hold the value.
        """
        try:
            self._write(name, row, value)
        except (TypeError, ValueError, OverflowError):
            return False
        self._written[name, row] = value
        self.writes += 1
        return True

    def _write(self, name, row, value):
        column = self._columns[name]
        if isinstance(column, labels.Labels):
            self._relabel(name, row, tuple(value) if isinstance(value, list)
                          else value)
        else:
            stored = column.dtype.type(value)
            # Of a share of an amount the fraction is left out.
            if stored != value and stored != math.trunc(value):
                raise ValueError(f'{name} cannot be {value!r}')
            self._writable(name)[row] = stored

    def consume(self, row, spec_obj, now, mapping=None, limits=None):
        """Take one instance of the request out of a host's free resources.

        RAM, disk (ephemeral and, unless it is on a volume, root, never swap)
        and CPUs of the flavor, its share of NUMA cells and PCI devices, one
        instance and one I/O operation.  A bare-metal node is all taken, by
        any instance.  Changes this snapshot only, and the request's NUMA
        topology.

        mapping: request group -> provider uuids, as was claimed, or None.
        limits: what the filters leave the compute node to enforce: dict.
        """
        if self.cell('bare_metal', row):
            return self._consume_all(row, now)
        root_gb = 0 if spec_obj.is_bfv else spec_obj.flavor.root_gb
        disk_mb = (root_gb + spec_obj.ephemeral_gb) * 1024
        for name, delta in (('free_ram_mb', -spec_obj.memory_mb),
                            ('free_disk_mb', -disk_mb),
                            ('vcpus_used', spec_obj.vcpus),
                            ('num_instances', 1)):
            self._writable(name)[row] += delta
        if self.consume_hardware(row, spec_obj, now, mapping, limits):
            self._writable('num_io_ops')[row] += 1

    def consume_hardware(self, row, spec_obj, now, mapping=None, limits=None):
        """Take an instance's share of NUMA cells and PCI devices of a host.

        The arguments are those of ``consume``.  Returns whether the host has
        it; logs a warning if not.
        """
        try:
            self._take_hardware(row, spec_obj, mapping, limits or {})
        except consumption.FailedError as error:
            LOG.warning('Selected host: %(host)s failed to consume from '
                        'instance. Error: %(error)s',
                        {'host': self.state(row), 'error': error})
            return False
        self._writable('updated')[row] = now
        return True

    def _take_hardware(self, row, spec_obj, mapping, limits):
        before = [self.cell(name, row) for name in consumption.COLUMNS]
        hardware = consumption.Hardware(*before)
        try:
            hardware.take(spec_obj, limits.get('numa_topology'), mapping,
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

    def copy(self):
        """Return another snapshot of the hosts as they are now.

        Neither shows what is changed in the other from then on.  What plug-ins
        have set on host states is in both; that filters have judged is not.
        """
        twin = copy.copy(self)
        if self.instances is not None:
            twin.instances = self.instances.copy()
        twin._columns = {
            name: column.copy() if name in self._owned and isinstance(
                column, np.ndarray) else column
            for name, column in self._columns.items()}
        twin._owned = set(self._owned)
        twin._written, twin.judges = dict(self._written), {}
        twin._states = {row: state.copied_to(twin)
                        for row, state in self._states.items()}
        return twin

    def as_table(self):
        """Return the snapshot with all that was consumed, as a new generation.
        """
        self._owned.clear()
        return self._table.of(dict(self._columns))
