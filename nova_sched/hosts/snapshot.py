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

    table: HostTable that it shares columns with.
    instances: hosts.instances.Instances.
    offer: Placement's candidates, a value of hosts.allocation_candidates.
    """

    #: Whether guests use the most used NUMA cells of a host first.
    pack_numa_cells = False

    #: Time for which service_up is computed, in seconds since the epoch, or
    #: None.
    moment = None

    #: Number of changes of hosts other than by consumption.
    writes = 0

    #: Request group -> provider uuids of the claim, while a host state
    #: consumes an instance; otherwise None.
    mapping = None

    def __init__(self, table, instances, offer=PLACEMENT_NOT_USED):
        self.size, self.table = table.size, table
        self.cells = table.cells
        self.instances = instances
        self.offer = offer
        self._columns = dict(table.columns)
        self._owned = set()
        self._states = {}
        #: Filters with limits that have judged hosts: id of the filter ->
        #: (filter, RequestSpec); see rules.limits.
        self.filters_with_limits = {}

    def column(self, name):
        """Return the stored column: array, ``Labels`` or list of objects."""
        return self._columns[name]

    def value(self, name, row):
        """Return one value as a plain Python object.

        Raises KeyError for an unknown column.
        """
        column = self._columns[name]
        if isinstance(column, np.ndarray):
            return column.item(row)
        if isinstance(column, labels.Labels):
            return column.values[column.codes.item(row)]
        return column[row]

    def names(self, row):
        """Return the names of a row's host and node."""
        return self.value('host', row), self.value('nodename', row)

    def state(self, row):
        """Return the HostState of a row, the same object at each call."""
        state = self._states.get(row)
        if state is None:
            state = self._states[row] = HostState.of(self, row)
        return state

    def own_limits(self, row):
        """Return the limits that plug-ins set on a row's HostState: dict."""
        state = self._states.get(row)
        return {} if state is None else state.limits

    def have(self, row, state):
        """Use a plug-in's HostState as the state of a row."""
        state.attach(self, row)
        self._states[row] = state

    def states_of(self, name=None, labels_=()):
        """Return the HostStates with one of the labels in a column: list.

        All HostStates if no column is named.
        """
        hosts = self.block()
        if name is not None:
            hosts = hosts.where(hosts.named(name, labels_))
        return hosts.states()

    def aggregates(self):
        """Return the aggregates of all hosts, ordered by id: list."""
        column = self.column('aggregates')
        by_id = {aggregate.id: aggregate
                 for code in labels.in_use(column.codes)
                 for aggregate in column.values[code]}
        return [by_id[key] for key in sorted(by_id)]

    def aggregates_of(self, host):
        """Return the aggregates of a host by its name: new list."""
        return list(self._of_host(host, 'aggregates') or ())

    def cell_of(self, host):
        """Return the cell uuid of a host by its name; None if unknown."""
        return self._of_host(host, 'cell_uuid')

    def _of_host(self, host, name):
        hosts = self.column('host')
        rows = np.flatnonzero(hosts.codes == hosts.code(host))
        return self.value(name, rows.item(0)) if len(rows) else None

    def block(self, rows=None):
        """Return a HostBlock of these rows (int array), or of all rows."""
        return block.HostBlock(self, rows)

    def write(self, name, row, value):
        """Set a value of a host, for this request.

        Returns whether the column can have the value.
        """
        column = self._columns[name]
        try:
            if isinstance(column, labels.Labels):
                self._relabel(name, row, tuple(value) if isinstance(
                    value, list) else value)
            else:
                stored = column.dtype.type(value)
                # Fractional amounts are truncated.
                if stored != value and stored != math.trunc(value):
                    return False
                self._writable(name)[row] = stored
        except (TypeError, ValueError, OverflowError):
            return False
        self.writes += 1
        return True

    def consume(self, row, spec_obj, now, mapping=None, limits=None):
        """Consume the resources of one instance on a host.

        These are RAM, disk (ephemeral, and root unless it is on a volume, but
        not swap) and CPUs of the flavor, NUMA cells and PCI devices, one
        instance and one I/O operation.  An instance takes all of a bare-metal
        node.  This changes only the snapshot and the request's NUMA topology.

        row: row of the host.  now: time in seconds since the epoch.
        mapping: request group -> provider uuids of the claim, or None.
        limits: limits that the compute node checks: dict.
        """
        if self.value('bare_metal', row):
            return self._consume_all(row, now)
        for name, change in consumed(spec_obj).items():
            self._writable(name)[row] += change
        if self.consume_hardware(row, spec_obj, now, mapping, limits):
            self._writable('num_io_ops')[row] += 1

    def consume_hardware(self, row, spec_obj, now, mapping=None, limits=None):
        """Consume an instance's NUMA cells and PCI devices on a host.

        Arguments are those of ``consume``.  If the host lacks them, logs a
        warning and returns False.
        """
        before = [self.value(name, row) for name in consumption.COLUMNS]
        hardware = consumption.Hardware(*before)
        try:
            hardware.take(spec_obj, (limits or {}).get('numa_topology'),
                          mapping, self.pack_numa_cells)
            self._writable('updated')[row] = now
        except consumption.FailedError as error:
            LOG.warning('Selected host: %(host)s failed to consume from '
                        'instance. Error: %(error)s',
                        {'host': self.state(row), 'error': error})
            return False
        finally:
            for name, old, new in zip(consumption.COLUMNS, before,
                                      hardware.columns(), strict=True):
                if new is not old:
                    self._relabel(name, row, new)
        return True

    def _relabel(self, name, row, value):
        column = self._columns[name]
        if name not in self._owned:
            column = column.private()
            self._owned.add(name)
        self._columns[name] = column.replaced({row: value})

    def _consume_all(self, row, now):
        for name, value in (('free_ram_mb', 0), ('free_disk_mb', 0),
                            ('vcpus_used', self.value('vcpus_total', row)),
                            ('updated', now)):
            self._writable(name)[row] = value

    def _writable(self, name):
        if name not in self._owned:
            self._columns[name] = self._columns[name].copy()
            self._owned.add(name)
        return self._columns[name]

    def copy(self):
        """Return an independent copy of the snapshot.

        It includes attributes that plug-ins have set on host states, but not
        ``filters_with_limits``.
        """
        twin = copy.copy(self)
        if self.instances is not None:
            twin.instances = self.instances.copy()
        twin._columns = {
            name: column.copy() if name in self._owned and isinstance(
                column, np.ndarray) else column
            for name, column in self._columns.items()}
        twin._owned, twin.filters_with_limits = set(self._owned), {}
        twin._states = {row: state.copied_to(twin)
                        for row, state in self._states.items()}
        return twin

    def as_table(self):
        """Return a HostTable with everything that was consumed."""
        self._owned.clear()
        return self.table.of(dict(self._columns))


def consumed(spec_obj):
    """Return the changes of a host's amounts by an instance: {column: int}."""
    root_gb = 0 if spec_obj.is_bfv else spec_obj.flavor.root_gb
    return {'free_ram_mb': -spec_obj.memory_mb,
            'free_disk_mb': -(root_gb + spec_obj.ephemeral_gb) * 1024,
            'vcpus_used': spec_obj.vcpus, 'num_instances': 1}
