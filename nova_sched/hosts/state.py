"""One host as plug-ins see it: a view of one row of the host table."""

import copy
import datetime
import functools
import json
import operator
import time

import numpy as np
from oslo_log import log as logging

from nova_sched import objects
from nova_sched.hardware.pci import stats as pci_stats
from nova_sched.hosts import bare
from nova_sched.hosts import columns
from nova_sched.objects import arguments

LOG = logging.getLogger(__name__)

_NOTHING = object()
#: What a state has for its own use.
_ITS_OWN = ('_snapshot', '_row', '_node', '_service', 'limits',
            'allocation_candidates')


class _shown:  # noqa: N801 - is written as property is
    """A property that plug-ins may set to another value."""

    def __init__(self, read):
        self._read, self.__doc__ = read, read.__doc__

    def __get__(self, state, owner=None):
        return self if state is None else self._read(state)


def failures_told(function):
    """Decorate a method of HostState that consumes: it raises nothing.

    As in Nova, a warning tells what went wrong: the host is chosen by then.
    """
    @functools.wraps(function)
    def consume(self, spec_obj):
        try:
            function(self, spec_obj)
        except Exception as error:
            LOG.warning('Selected host: %(host)s failed to consume from '
                        'instance. Error: %(error)s',
                        {'host': self, 'error': error})
    return consume


class HostState:
    """A host under the attribute names of Nova's own HostState.

    Reads go to the table, so a host shows what earlier instances of the same
    request have consumed.  Plug-ins may set attributes; these stay with the
    request, and built-in rules see them, too, if they are amounts, ratios,
    aggregates or the hypervisor's.  ``limits`` is a dict that filters fill
    for the compute node.

    An unknown name raises AttributeError.

    A plug-in that makes one itself, by ``HostState(host, node, cell_uuid)``,
    gets one of no table, which has what Nova's has before its first update.
    """

    def __init__(self, host, node, cell_uuid=None, compute=None):
        self.__dict__.update(bare.attributes(host, node, cell_uuid),
                             _snapshot=bare.NoTable(), _row=None)
        self.update(compute)

    @classmethod
    def of(cls, snapshot, row):
        """Return the state of a row of a HostSnapshot."""
        state = cls.__new__(cls)
        own = state.__dict__
        own['_snapshot'], own['_row'], own['limits'] = snapshot, row, {}
        return state

    def settle(self, snapshot, row):
        """Be the state of a row of a HostSnapshot, with what was set on it.

        What it has not been told is the row's.
        """
        before = vars(self).copy()
        unset = ({} if self._row is not None else bare.attributes(
            self.host, self.nodename, self.cell_uuid))
        self.__dict__.clear()
        self.__dict__.update(_snapshot=snapshot, _row=row, limits={})
        for name, value in before.items():
            if name not in _ITS_OWN and (
                    name not in unset or value != unset[name]):
                self._learn(name, value)

    def copied_to(self, snapshot):
        """Return the state of the same row of a copy of its HostSnapshot."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(vars(self), _snapshot=snapshot)
        for name in ('limits', 'allocation_candidates'):
            if name in vars(self):
                twin.__dict__[name] = copy.copy(vars(self)[name])
        return twin

    def update(self, compute=None, service=None, aggregates=None,
               inst_dict=None):
        """Set what is given, for the rest of the request.

        compute: object with columns of compute_nodes.  service: row of
        services.  aggregates: list of Aggregate.  inst_dict: uuid -> Instance.
        """
        if compute is not None:
            self.update_from_compute_node(compute)
        if service is not None:
            self.update_service(service)
        if aggregates is not None:
            self._learn('aggregates', aggregates)
        if inst_dict is not None:
            self._learn('instances', inst_dict)

    def _learn(self, name, value):
        """Set what is not so already."""
        if self._row is None or getattr(self, name, _NOTHING) != value:
            setattr(self, name, value)

    def __setattr__(self, name, value):
        if (name in columns.SETTABLE and self._row is not None
                and self._snapshot.write(name, self._row, value)):
            self.__dict__.pop(name, None)
        else:
            self.__dict__[name] = value

    def update_from_compute_node(self, compute):
        """Set what a compute node says; as ``update`` with it alone."""
        self._update_from_compute_node(compute)

    def update_service(self, service):
        """Set the row of its service; as ``update`` with it alone."""
        self._learn('service', dict(service))

    def _update_from_compute_node(self, compute):
        for name, value in bare.of_compute(compute).items():
            self._learn(name, value)

    @failures_told
    def consume_from_request(self, spec_obj):
        """Take an instance of a request out of what is free, here alone.

        Of a host of a table also its NUMA cells and PCI devices; those then
        stand in the request's NUMA topology.
        """
        self._locked_consume_from_request(spec_obj)

    def _locked_consume_from_request(self, spec_obj):
        """Do what ``consume_from_request`` does; to be overridden."""
        if self._row is None:
            bare.consume(self, spec_obj)
        else:
            self._snapshot.consume(
                self._row, spec_obj, time.time(), self._snapshot.mapping,
                self.limits)

    def consume_from_instance(self, instance):
        """As ``consume_from_request``, of a request before Mitaka.

        instance: ``request_spec['instance_properties']``, a dict, which has
        its NUMA topology, if any, as it was placed then.
        Raises InvalidInput for one without its sizes.
        """
        spec_obj = arguments.from_legacy_dicts({
            'instance_properties': instance, 'instance_type': {
                name: instance[name] for name in arguments.SIZES
                if name in instance}}, None)
        self.consume_from_request(spec_obj)
        if spec_obj.numa_topology is not None:
            instance['numa_topology'] = spec_obj.numa_topology

    def __getattr__(self, name):
        if name.startswith('_'):
            raise AttributeError(name)
        try:
            return self._snapshot.cell(name, self._row)
        except KeyError:
            raise AttributeError(
                f'a host state has no attribute {name!r}') from None

    @functools.cached_property
    def allocation_candidates(self):
        """Allocation requests of Placement that would do, best first.

        A list that filters may narrow by setting another one; empty when
        Placement was not asked, as in Nova.
        """
        return self._snapshot.offer.of(self.uuid)

    def node_object(self):
        """Return the host as a ComputeNode, as of when it was first asked for.
        """
        return self._kept('_node', lambda: objects.ComputeNode.known({
            name: read(self) for name, read in _OF_NODE.items()}))

    def service_object(self):
        """Return its compute service as a Service, likewise."""
        return self._kept('_service', lambda: objects.Service.known(
            self.service))

    def _kept(self, name, make):
        if name not in self.__dict__:
            self.__dict__[name] = make()
        return self.__dict__[name]

    def block(self):
        """Return this host alone, as the columns a built-in rule judges."""
        return self._snapshot.block(np.array([self._row]))

    @_shown
    def hypervisor_hostname(self):
        """Return the node's name, under the name of its database column."""
        return self.nodename

    @_shown
    def updated(self):
        """Return when the host was last reported or given an instance.

        An aware datetime, in UTC; None if it never reported.
        """
        seconds = self._snapshot.cell('updated', self._row)
        return (datetime.datetime.fromtimestamp(seconds, datetime.UTC)
                if seconds else None)

    @_shown
    def stats(self):
        """Return what the compute service counts: a dict, empty if unreported.
        """
        return dict(self._snapshot.cell('stats', self._row) or {})

    @_shown
    def service(self):
        """Return the row of the host's compute service: a dict, with aware
        times.
        """
        row = self._snapshot.cell('service', self._row)._asdict()
        return {name: _aware(value) for name, value in row.items()} | {
            'binary': 'nova-compute', 'topic': 'compute', 'deleted': False}

    @_shown
    def supported_instances(self):
        """List of [architecture, hypervisor type, VM mode].

        None on a host that never reported its usage.
        """
        text = self._snapshot.cell('supported_instances', self._row)
        if text:
            return json.loads(text)
        return None if self.uuid is None else []

    @_shown
    def aggregates(self):
        """Return the Aggregate objects the host is in, as a list."""
        return list(self._snapshot.cell('aggregates', self._row))

    @_shown
    def instances(self):
        """Return the instances on the host: uuid -> Instance.

        None of them on a bare-metal node, which is one or nothing.
        """
        if self.bare_metal:
            return {}
        return self._snapshot.instances.on_host(self.host)

    @_shown
    def metrics(self):
        """Return what monitors measure: MonitorMetricList."""
        return self._snapshot.cell('metrics', self._row).objects()

    @_shown
    def pci_stats(self):
        """Return the free PCI devices: DeviceStats; None if it never reported.
        """
        found = self._snapshot.cell('pci_stats', self._row)
        return None if found is None else pci_stats.DeviceStats(
            found, self._snapshot.cell('numa_topology', self._row))

    @_shown
    def numa_topology(self):
        """Return the host's NUMA cells as reported (JSON text), or None."""
        topology = self._snapshot.cell('numa_topology', self._row)
        return None if topology is None else topology.text

    def __repr__(self):
        offered = (', allocation_candidates: '
                   f'{len(self.allocation_candidates)}'
                   if self._snapshot.offer.asked else '')
        return (f'({self.host}, {self.nodename}) ram: {self.free_ram_mb}MB '
                f'disk: {self.free_disk_mb}MB io_ops: {self.num_io_ops} '
                f'instances: {self.num_instances}{offered}')


#: Fields of a ComputeNode: functions of a HostState.
_OF_NODE = {
    **{name: operator.attrgetter(name) for name in (
        'uuid', 'host', 'hypervisor_hostname', 'vcpus_used', 'free_ram_mb',
        'hypervisor_type', 'hypervisor_version', 'host_ip', 'cpu_info',
        'cpu_allocation_ratio', 'ram_allocation_ratio',
        'disk_allocation_ratio', 'stats', 'numa_topology')},
    'memory_mb': operator.attrgetter('total_usable_ram_mb'),
    'memory_mb_used': lambda state: (
        state.total_usable_ram_mb - state.free_ram_mb),
    'vcpus': operator.attrgetter('vcpus_total'),
    'local_gb': operator.attrgetter('total_usable_disk_gb'),
    'local_gb_used': lambda state: state.disk_mb_used // 1024,
    'free_disk_gb': lambda state: state.free_disk_mb // 1024,
    'running_vms': operator.attrgetter('num_instances'),
    'current_workload': operator.attrgetter('num_io_ops'),
    'updated_at': operator.attrgetter('updated'),
}


def _aware(value):
    """Return a time of the database, which has no zone, as one in UTC."""
    return (value.replace(tzinfo=datetime.UTC)
            if isinstance(value, datetime.datetime) else value)
