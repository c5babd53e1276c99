"""Nova's methods of a host manager, with the signatures of any release."""

import functools

from nova_sched import conf as config
from nova_sched import filters as base_filters
from nova_sched import objects
from nova_sched import weights as base_weights
from nova_sched.compat import current_hosts
from nova_sched.compat import driver_signatures
from nova_sched.compat import nova_methods
from nova_sched.compat import row_rules
from nova_sched.compat.legacy import rule_argument
from nova_sched.compat.nova import exception
from nova_sched.compat.row_api import host_states
from nova_sched.compat.row_api import request
from nova_sched.hosts import budget
from nova_sched.hosts import state as host_state
from nova_sched.plugins import loading
from nova_sched.rules import limits
from nova_sched.rules import narrowing
from nova_sched.scheduler import filters
from nova_sched.scheduler import weights

#: An override of any of these makes host states itself.
_MAKING = ('host_state_cls', '_get_computes_for_cells', '_get_host_states',
           '_get_aggregates_info')

#: Where a snapshot has its ``host_state_map``.
_STATE_MAP = '_host_state_map'


class FilterHandler(filters.HostFilterHandler):
    """Runs filters on host states: by columns where these are of a table."""

    def get_filtered_objects(self, filters, objs, spec_obj, index=0,
                             context=None):
        states = list(objs)
        hosts = host_states.block_of(states) if states else None
        if hosts is None:
            return super().get_filtered_objects(filters, states, spec_obj,
                                                index)
        current = request.current()
        left = base_filters.run(
            row_rules.adapted_filters(filters), hosts, spec_obj, index,
            current.record, rule_argument.request_of(spec_obj)).states()
        if current.hosts is None:
            # Outside of an attempt the plug-in reads the limits of the states.
            for state in left:
                state.limits.update(
                    limits.of_row(hosts.snapshot, state._row))
        return left


class WeightHandler(weights.HostWeightHandler):
    """Weighs host states: by columns where these are of a table."""

    def get_weighed_objects(self, weighers, obj_list, weighing_properties,
                            context=None):
        states = list(obj_list)
        hosts = host_states.block_of(states) if states else None
        if hosts is None:
            return super().get_weighed_objects(weighers, states,
                                               weighing_properties)
        current = request.current()
        current.weighed = weighed = base_weights.weigh(
            row_rules.adapted_weighers(weighers), hosts, weighing_properties,
            functools.partial(budget.Step, index=current.index))
        return [self.object_class(hosts.snapshot.state(row), weight)
                for row, weight in zip(weighed.rows.tolist(),
                                       weighed.weights.tolist(), strict=True)]


class NovaHostManagerMixin:
    """A mixin for classes with the methods of host_manager.HostManager.

    Names and signatures are Nova's, of all releases together.  ``conf`` is
    the configuration.
    """

    @functools.cached_property
    def filter_handler(self):
        """Runs filters on host states."""
        return FilterHandler()

    @functools.cached_property
    def weight_handler(self):
        """Weighs host states."""
        return WeightHandler()

    @functools.cached_property
    def filter_cls_map(self):
        """The filters that may be enabled: name -> class."""
        return loading.available_filters(self.conf)

    @functools.cached_property
    def filter_obj_map(self):
        """The filters that were constructed: name -> filter."""
        return {}

    @functools.cached_property
    def enabled_filters(self):
        """The filters that run, in their order: list."""
        return self._choose_host_filters(self._load_filters())

    @functools.cached_property
    def default_filters(self):
        """``enabled_filters`` by its name before Ocata."""
        return self.enabled_filters

    @functools.cached_property
    def weighers(self):
        """The weighers that run, in their order: list."""
        return loading.load_weighers(self.conf)

    #: The cells of the hosts, once ``_load_cells`` was called: list of
    #: CellMapping.
    cells = None

    @property
    def host_state_map(self):
        """The hosts of the request by name: (host, node) -> HostState.

        A dict that the manager's methods may change; each snapshot of hosts
        has its own.
        Raises NoCurrentHosts outside of a request.
        """
        snapshot = current_hosts.get('HostManager.host_state_map')
        found = vars(snapshot).get(_STATE_MAP)
        if found is None:
            hosts = narrowing.in_cells(snapshot.block(), None)
            found = vars(snapshot)[_STATE_MAP] = {
                host_states.names_of(state): state for state in hosts.states()}
        return found

    @host_state_map.setter
    def host_state_map(self, value):
        """Keep nothing: Nova's __init__ sets it empty."""

    @functools.cached_property
    def rules(self):
        """The filters and weighers that run, configured: two lists.

        A plug-in that overrides their choice may have constructed them
        without the configuration.
        """
        found = list(self.running_filters()), list(self.weighers)
        for rule in (*found[0], *found[1]):
            getattr(rule, 'configure', lambda conf: None)(self.conf)
        return found

    def _load_filters(self):
        """Return names of the filters that are to run: list."""
        return list(config.enabled_filters(self.conf))

    def _choose_host_filters(self, filter_cls_names):
        """Return the filters of these names, which are made once: list.

        filter_cls_names: list of class names, or one.
        Raises SchedulerHostFilterNotFound, which names all that are not there.
        """
        names = ([filter_cls_names] if isinstance(filter_cls_names, str)
                 else filter_cls_names)
        unknown = [name for name in names if name not in self.filter_obj_map
                   and name not in self.filter_cls_map]
        if unknown:
            raise exception.SchedulerHostFilterNotFound(
                filter_name=', '.join(unknown))
        for name in names:
            if name not in self.filter_obj_map:
                self.filter_obj_map[name] = loading.make_filter(
                    self.filter_cls_map[name], self.conf)
        return [self.filter_obj_map[name] for name in names]

    def running_filters(self):
        """Return the filters that run, by either of Nova's names for them."""
        if nova_methods.overridden(self, ('default_filters',)):
            return self.default_filters
        return self.enabled_filters

    def get_filtered_hosts(self, hosts, spec_obj, *args,
                           filter_class_names=None, index=0, context=None):
        """Return the host states that can take an instance: list.

        hosts: iterable of HostState.  spec_obj: RequestSpec, or Kilo's
            filter_properties.
        args: filter_class_names and index, or from Newton on index alone;
            a context may follow, which is ignored.
        filter_class_names: in place of the filters that run.
        index: number of the instance in the request.
        """
        for arg in args:
            if isinstance(arg, int):
                index = arg
            elif isinstance(arg, (str, list, tuple)):
                filter_class_names = arg
        states, spec = list(hosts), rule_argument.request_of(spec_obj)
        block = self._block_of(states)
        if block is not None:
            block, is_forced = narrowing.narrowed(
                block, spec, index, request.current().record)
            states = block.states()
            if is_forced:
                return states
        chosen = (self.running_filters() if filter_class_names is None
                  else self._choose_host_filters(filter_class_names))
        return self.filter_handler.get_filtered_objects(
            chosen, states, spec_obj, index)

    def _block_of(self, states):
        """Return the HostBlock of host states; None if a host is unknown.

        States that an override has made become the states of their rows.
        """
        block = host_states.block_of(states) if states else None
        if block is None and states and all(
                isinstance(state, host_state.HostState) for state in states):
            snapshot = self._hosts()
            there = host_states.by_name(snapshot)
            if all(host_states.names_of(state) in there for state in states):
                block = snapshot.block(host_states.rows_of(
                    states, snapshot, 'get_all_host_states'))
        return block

    def get_weighed_hosts(self, hosts, spec_obj, context=None):
        """Return host states with their weights, best first: list of
        WeighedHost.

        context: ignored.
        """
        return self.weight_handler.get_weighed_objects(
            self.weighers, hosts, spec_obj)

    def get_all_host_states(self, context):
        """Return the states of all hosts; see ``get_host_states_by_uuids``."""
        # An override of either method may call the other.
        return NovaHostManagerMixin.get_host_states_by_uuids(
            self, context, None, None)

    def get_host_states_by_uuids(self, context, compute_uuids, spec_obj=None):
        """Return the states of hosts as they are at this moment: iterator.

        compute_uuids: of their compute nodes; None for all.
        spec_obj: RequestSpec whose requested destination may name a cell;
            None for all cells.
        Hosts of disabled cells are left out.  The states are private to the
        caller.
        Raises DatabaseUnavailable when the hosts cannot be read.
        """
        hosts = narrowing.in_cells(
            self._hosts().block(), spec_obj and spec_obj.requested_destination)
        if not nova_methods.overridden(self, _MAKING):
            if compute_uuids is not None:
                hosts = hosts.where(hosts.named('uuid', compute_uuids))
            return iter(hosts.states())
        cells = _cells_of(hosts)
        with request.on(hosts.snapshot):
            nodes, services = host_states.call(
                self._get_computes_for_cells, context, cells, compute_uuids)
            return iter(list(host_states.call(
                self._get_host_states, context, nodes, services)))

    def _hosts(self):
        """Return the hosts of the request, or as they are now: HostSnapshot.
        """
        snapshot = request.current().hosts
        if snapshot is not None:
            return snapshot
        self.refresh()
        snapshot = self.snapshot(self.view().table, self.instances(),
                                 offer=driver_signatures.current().offer.candidates)
        current_hosts.set(snapshot)
        return snapshot

    def _get_computes_for_cells(self, context, cells, compute_uuids=None):
        """Return compute nodes and services: two dicts.

        cells: list of CellMapping.  compute_uuids: None for all.
        Returns cell uuid -> list of nodes, host -> service.
        """
        hosts = self._hosts().block()
        hosts = hosts.where(hosts.named(
            'cell_uuid', [cell.uuid for cell in cells]))
        if compute_uuids is not None:
            hosts = hosts.where(hosts.named('uuid', compute_uuids))
        nodes, services = {}, {}
        for state in hosts.states():
            nodes.setdefault(state.cell_uuid, []).append(state.node_object())
            services[state.host] = state.service_object()
        return nodes, services

    def _get_host_states(self, context, compute_nodes, services):
        """Yield the states of compute nodes: generator of HostState.

        Arguments as ``_get_computes_for_cells`` returns them.
        """
        snapshot = self._hosts()
        rows = host_states.by_name(snapshot)
        for cell_uuid, nodes in compute_nodes.items():
            for node in nodes:
                state = host_states.call(
                    self.host_state_cls, node.host, node.hypervisor_hostname,
                    cell_uuid, compute=node)
                row = rows.get(host_states.names_of(state))
                if row is None:
                    raise host_states.unknown_host(
                        '_get_computes_for_cells', state)
                snapshot.have(row, state)
                state.update(node, services.get(node.host),
                             self._get_aggregates_info(node.host), None)
                yield state

    def host_state_cls(self, host, node, cell, **kwargs):
        """Return a new HostState; a class may take the place of the method."""
        return host_state.HostState(host, node, cell)

    @nova_methods.to_call_alone
    def _load_cells(self, context):
        """Set ``cells``, without disabled cells."""
        self.cells = _cells_of(narrowing.in_cells(self._hosts().block(), None))

    @nova_methods.to_call_alone
    def _get_instance_info(self, context, compute):
        """Return the instances of a compute node's host: uuid -> Instance."""
        return self._hosts().instances.on_host(compute.host)

    @nova_methods.to_call_alone
    def _get_instances_by_host(self, context, host_name):
        """Return the instances of a host by its name: uuid -> Instance."""
        return self._hosts().instances.on_host(host_name)

    @nova_methods.to_call_alone
    def _add_instance_info(self, context, compute, host_state):
        """Set the instances of a host state; compute: its node."""
        host_state.instances = self._hosts().instances.on_host(compute.host)

    @nova_methods.to_call_alone
    def _init_instance_info(self, *args):
        """Do nothing: instances are read for each request."""

    @nova_methods.to_call_alone
    def _init_aggregates(self):
        """Do nothing: aggregates are read with the hosts."""

    def _get_aggregates_info(self, host):
        """Return the aggregates of a host by its name: list of Aggregate."""
        return self._hosts().aggregates_of(host)


def _cells_of(hosts):
    """Return the cells that hosts of a HostBlock are in: list of CellMapping.
    """
    return [objects.CellMapping(uuid=uuid) for uuid
            in dict.fromkeys(hosts.objects('cell_uuid'))]
