"""Host states: views of one row of the host table, for plug-ins."""

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
#: Private attributes of a state.
_ITS_OWN = ('_snapshot', '_row', '_node', '_service', 'limits',
            'allocation_candidates')


class _shown:  # noqa: N801 - is written as property is
    """A property that plug-ins may replace by setting an attribute."""

    def __init__(self, read):
        self._read, self.__doc__ = read, read.__doc__

    def __get__(self, state, owner=None):
        return self if state is None else self._read(state)


def logs_failures(function):
    """Make a consuming method of HostState log its errors, not raise them.

    As in Nova, because the host is chosen already.
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
    """A host with the attributes of Nova's HostState.

    Attributes are read from the snapshot, so they include the consumption of
    earlier instances of the same request.  Plug-ins may set attributes for the
    rest of the request.  Built-in rules see these values, too, if they are
    amounts, ratios, aggregates, or attributes of the hypervisor.  ``limits``
    is a dict that filters fill for the compute node.

    Unknown attributes raise AttributeError.

    ``HostState(host, node, cell_uuid)`` of a plug-in is not a row of a table.
    It has the attributes of Nova's HostState before its first update.
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

    def attach(self, snapshot, row):
        """Become the state of a row of a HostSnapshot.

        Attributes that were set on it remain; all others are the row's.
        """
        before = vars(self).copy()
        unset = ({} if self._row is not None else bare.attributes(
            self.host, self.nodename, self.cell_uuid))
        self.__dict__.clear()
        self.__dict__.update(_snapshot=snapshot, _row=row, limits={})
        for name, value in before.items():
            if name not in _ITS_OWN and (
                    name not in unset or value != unset[name]):
                self._set_if_changed(name, value)

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
        """Set attributes from objects of Nova, for the rest of the request.

        compute: object with columns of compute_nodes.  service: row of
        services.  aggregates: list of Aggregate.  inst_dict: uuid -> Instance.
        """
        if compute is not None:
            self.update_from_compute_node(compute)
        if service is not None:
            self.update_service(service)
        if aggregates is not None:
            self._set_if_changed('aggregates', aggregates)
        if inst_dict is not None:
            self._set_if_changed('instances', inst_dict)

    def _set_if_changed(self, name, value):
        """Set an attribute if its value differs."""
        if self._row is None or getattr(self, name, _NOTHING) != value:
            setattr(self, name, value)

    def __setattr__(self, name, value):
        if (name in columns.SETTABLE and self._row is not None
                and self._snapshot.write(name, self._row, value)):
            self.__dict__.pop(name, None)
        else:
            self.__dict__[name] = value

    def update_from_compute_node(self, compute):
        """Set attributes from a compute node, see ``update``."""
        self._update_from_compute_node(compute)

    def update_service(self, service):
        """Set the row of the compute service, see ``update``."""
        self._set_if_changed('service', dict(service))

    def _update_from_compute_node(self, compute):
        for name, value in bare.of_compute(compute).items():
            self._set_if_changed(name, value)

    @logs_failures
    def consume_from_request(self, spec_obj):
        """Consume an instance's resources on this snapshot only.

        For a row of a table this includes NUMA cells and PCI devices, and the
        request's NUMA topology is set to the fitted cells.
        """
        self._locked_consume_from_request(spec_obj)

    def _locked_consume_from_request(self, spec_obj):
        """Do the work of ``consume_from_request``; plug-ins override it."""
        if self._row is None:
            bare.consume(self, spec_obj)
        else:
            self._snapshot.consume(
                self._row, spec_obj, time.time(), self._snapshot.mapping,
                self.limits)

    def consume_from_instance(self, instance):
        """Consume the resources of a request before Mitaka.

        instance: ``request_spec['instance_properties']``, a dict; its NUMA
            topology, if any, is set to the fitted cells.
        Raises InvalidInput if it lacks the sizes.
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
            return self._snapshot.value(name, self._row)
        except KeyError:
            raise AttributeError(
                f'a host state has no attribute {name!r}') from None

    @functools.cached_property
    def allocation_candidates(self):
        """Placement's allocation requests for the host, in its order: list.

        Filters remove requests by setting another list.  Empty without
        Placement, as in Nova.
        """
        return self._snapshot.offer.of(self.uuid)

    def node_object(self):
        """Return the host as a ComputeNode, as it was at the first call."""
        if '_node' not in self.__dict__:
            self.__dict__['_node'] = objects.ComputeNode.known({
                name: read(self) for name, read in _OF_NODE.items()})
        return self._node

    def service_object(self):
        """Return the compute service as a Service, as at the first call."""
        if '_service' not in self.__dict__:
            self.__dict__['_service'] = objects.Service.known(self.service)
        return self._service

    def block(self):
        """Return a HostBlock of this host only, for built-in rules."""
        return self._snapshot.block(np.array([self._row]))

    @_shown
    def hypervisor_hostname(self):
        """Return the node's name, under the name of its database column."""
        return self.nodename

    @_shown
    def updated(self):
        """Return the time of the last report or consumption.

        An aware datetime in UTC; None if the host never reported.
        """
        seconds = self._snapshot.value('updated', self._row)
        return (datetime.datetime.fromtimestamp(seconds, datetime.UTC)
                if seconds else None)

    @_shown
    def stats(self):
        """Return the statistics of the compute service: dict, may be empty."""
        return dict(self._snapshot.value('stats', self._row) or {})

    @_shown
    def service(self):
        """Return the row of the compute service: dict with aware times."""
        row = self._snapshot.value('service', self._row)._asdict()
        return {name: _aware(value) for name, value in row.items()} | {
            'binary': 'nova-compute', 'topic': 'compute', 'deleted': False}

    @_shown
    def supported_instances(self):
        """Return a list of [architecture, hypervisor type, VM mode].

        None for a host that never reported its usage.
        """
        text = self._snapshot.value('supported_instances', self._row)
        if text:
            return json.loads(text)
        return None if self.uuid is None else []

    @_shown
    def aggregates(self):
        """Return the host's aggregates: list of Aggregate."""
        return list(self._snapshot.value('aggregates', self._row))

    @_shown
    def instances(self):
        """Return the instances on the host: uuid -> Instance.

        Empty for a bare-metal node, as in Nova.
        """
        if self.bare_metal:
            return {}
        return self._snapshot.instances.on_host(self.host)

    @_shown
    def metrics(self):
        """Return the host's metrics: MonitorMetricList."""
        return self._snapshot.value('metrics', self._row).objects()

    @_shown
    def pci_stats(self):
        """Return the free PCI devices: DeviceStats; None if unreported."""
        pools = self._snapshot.value('pci_stats', self._row)
        return None if pools is None else pci_stats.DeviceStats(
            pools, self._snapshot.value('numa_topology', self._row))

    @_shown
    def numa_topology(self):
        """Return the host's NUMA cells as reported: JSON text, or None."""
        topology = self._snapshot.value('numa_topology', self._row)
        return None if topology is None else topology.text

    def __repr__(self):
        offered = (', allocation_candidates: '
                   f'{len(self.allocation_candidates)}'
                   if self._snapshot.offer.is_used else '')
        return (f'({self.host}, {self.nodename}) ram: {self.free_ram_mb}MB '
                f'disk: {self.free_disk_mb}MB io_ops: {self.num_io_ops} '
                f'instances: {self.num_instances}{offered}')


#: Field of a ComputeNode -> function of a HostState.
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
    """Return a naive time of the database as an aware time in UTC."""
    return (value.replace(tzinfo=datetime.UTC)
            if isinstance(value, datetime.datetime) else value)
