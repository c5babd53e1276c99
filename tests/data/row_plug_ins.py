"""Drivers and host managers that override Nova's steps, of several releases.

``CALLS`` has the name of each override that was called, in order.
"""

import functools

from nova import exception
from nova import objects
from nova.scheduler import driver
from nova.scheduler import filter_scheduler
from nova.scheduler import filters
from nova.scheduler import host_manager
from nova.scheduler import weights

CALLS = []


def noted(method):
    """Return a method that records its name when it is called."""
    @functools.wraps(method)
    def noting(*args, **kwargs):
        CALLS.append(method.__name__)
        return method(*args, **kwargs)
    return noting


class KiloManager(host_manager.HostManager):
    """Kilo: without the host b, as administrator."""

    @noted
    def get_all_host_states(self, context):
        assert context.is_admin
        return (state for state in super().get_all_host_states(context)
                if state.host != 'b')

    @noted
    def get_filtered_hosts(self, hosts, filter_properties,
                           filter_class_names=None, index=0):
        hosts = [host for host in hosts
                 if filter_properties['request_spec']['num_instances']]
        return super().get_filtered_hosts(hosts, filter_properties,
                                          filter_class_names, index)

    @noted
    def get_weighed_hosts(self, hosts, weight_properties):
        """Return hosts in reverse order of their names."""
        return [weights.WeighedHost(host, float(ord(host.host))) for host
                in sorted(hosts, key=lambda host: host.host, reverse=True)]


class DocumentedManager(host_manager.HostManager):
    """With the signatures of a document on Kilo."""

    @noted
    def get_filtered_hosts(self, hosts, filter_properties,
                           filter_class_names, index, context):
        assert context.request_id
        return super().get_filtered_hosts(
            hosts, filter_properties, filter_class_names, index, context)

    @noted
    def get_weighed_hosts(self, hosts, filter_properties, context):
        assert context.request_id
        return super().get_weighed_hosts(hosts, filter_properties, context)


class OcataManager(host_manager.HostManager):
    """Ocata: fewer arguments; without the host c."""

    @noted
    def get_host_states_by_uuids(self, context, compute_uuids):
        for state in super().get_host_states_by_uuids(context, compute_uuids,
                                                      None):
            if state.host != 'c':
                yield state


class RackState(host_manager.HostState):
    """Has a rack, and half of the memory."""

    @noted
    def _update_from_compute_node(self, compute):
        super()._update_from_compute_node(compute)
        self.rack = compute.host.upper()
        self.free_ram_mb = compute.free_ram_mb // 2

    @noted
    def consume_from_request(self, spec_obj):
        super().consume_from_request(spec_obj)
        self.taken = getattr(self, 'taken', 0) + 1


class RackManager(host_manager.HostManager):
    """Queens: with its own class of host states."""

    host_state_cls = RackState

    @noted
    def get_filtered_hosts(self, hosts, spec_obj, index=0):
        found = super().get_filtered_hosts(hosts, spec_obj, index)
        self.seen = [(host.rack, host.free_ram_mb) for host in found]
        return found


class HalvingFilter(filters.BaseHostFilter):
    """Halves the free memory."""

    def host_passes(self, host_state, spec_obj):
        host_state.free_ram_mb //= 2
        return True


class MethodicalManager(host_manager.HostManager):
    """Queens: the same by a method; overrides the steps of reading hosts."""

    @noted
    def host_state_cls(self, host, node, cell, **kwargs):
        assert kwargs['compute'].vcpus
        return RackState(host, node, cell)

    @noted
    def _get_computes_for_cells(self, context, cells, compute_uuids=None):
        nodes, services = super()._get_computes_for_cells(
            context, cells, compute_uuids)
        return {cell: [node for node in found if node.host != 'a']
                for cell, found in nodes.items()}, services

    @noted
    def _get_host_states(self, context, compute_nodes, services):
        for state in super()._get_host_states(context, compute_nodes,
                                              services):
            assert state.service['host'] == state.host
            yield state

    @noted
    def _get_aggregates_info(self, host):
        found = super()._get_aggregates_info(host)
        return found if host == 'b' else []


class ChoosyManager(host_manager.HostManager):
    """Runs other filters than the enabled filters."""

    @noted
    def _load_filters(self):
        return [*super()._load_filters(), 'AllHostsFilter']

    @noted
    def _choose_host_filters(self, filter_cls_names):
        return super()._choose_host_filters(
            [name for name in filter_cls_names if name != 'RamFilter'])


class SetManager(host_manager.HostManager):
    """Sets filters and weighers by the names before Ocata."""

    def __init__(self):
        super().__init__()
        self.default_filters = self._choose_host_filters(['DiskFilter'])
        self.weighers = []


class KiloBornManager(host_manager.HostManager):
    """Makes handlers and rules itself, as in Kilo."""

    def __init__(self):
        super().__init__()
        self.filter_handler = filters.HostFilterHandler()
        found = self.filter_handler.get_matching_classes(
            ['nova.scheduler.filters.all_filters'])
        self.filter_cls_map = {cls.__name__: cls for cls in found}
        self.filter_obj_map = {}
        self.default_filters = self._choose_host_filters(self._load_filters())
        self.weight_handler = weights.HostWeightHandler()
        self.weighers = [cls() for cls in
                         self.weight_handler.get_matching_classes(
                             ['nova.scheduler.weights.all_weighers'])]


class UnmadeManager(host_manager.HostManager):
    """Does not call its base class's constructor."""

    def __init__(self):
        self.racks = 3


class HandlingManager(host_manager.HostManager):
    """Is its own handler of filters and weighers."""

    def __init__(self):
        super().__init__()
        self.filter_handler = self.weight_handler = self

    @noted
    def get_filtered_objects(self, filters, objs, spec_obj, index=0):
        return [obj for obj in objs if obj.host != 'a']

    @noted
    def get_weighed_objects(self, weighers, obj_list, weighing_properties):
        return [weights.WeighedHost(obj, 1.0) for obj in obj_list]


class KeepingManager(host_manager.HostManager):
    """Keeps its host states between requests, as before Pike."""

    kept = None

    @noted
    def get_all_host_states(self, context):
        if self.kept is None:
            self.kept = list(super().get_all_host_states(context))
            self.kept[0].hits = 0
        self.kept[0].hits += 1
        return self.kept


class AddingManager(host_manager.HostManager):
    """Returns an unknown host."""

    def get_all_host_states(self, context):
        return [host_manager.HostState('z', 'z', 'cell')]


class NaughtyManager(host_manager.HostManager):
    """Returns a name in place of a host state."""

    def get_all_host_states(self, context):
        return ['a']


class BreakingManager(host_manager.HostManager):
    """Fails."""

    def get_filtered_hosts(self, hosts, spec_obj, index=0):
        raise RuntimeError('no such rack')


class LateManager(host_manager.HostManager):
    """Sets a method that is never called."""

    def __init__(self):
        super().__init__()
        self._add_instance_info = lambda context, compute, state: None


class ListingManager(host_manager.HostManager):
    """Looks up all objects before and after it reads the hosts."""

    @noted
    def get_all_host_states(self, context):
        self.seen = [self.look(context)]
        states = list(super().get_all_host_states(context))
        self.seen.append(self.look(context))
        return states

    @staticmethod
    def look(context):
        return [
            sorted(node.host for node
                   in objects.ComputeNodeList.get_all(context)),
            sorted(service.host for service
                   in objects.ServiceList.get_by_binary(
                       context, 'nova-compute')),
            objects.InstanceList.get_uuids_by_host(context, 'a'),
            [aggregate.name for aggregate
             in objects.AggregateList.get_all(context)],
            [aggregate.name for aggregate
             in objects.AggregateList.get_by_host(context, 'a')]]


class OwnScheduler(driver.Scheduler):
    """Chooses the first host of its host manager."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            alloc_reqs_by_rp_uuid, provider_summaries,
                            allocation_request_version=None,
                            return_alternates=False):
        state, *_ = self.host_manager.get_all_host_states(context)
        return [[objects.Selection.from_host_state(state)]]


class StepsScheduler(filter_scheduler.FilterScheduler):
    """Queens: overrides every step."""

    @noted
    def _get_all_host_states(self, context, spec_obj, provider_summaries):
        self.summaries = provider_summaries
        return super()._get_all_host_states(context, spec_obj,
                                            provider_summaries)

    @noted
    def _get_sorted_hosts(self, spec_obj, host_states, index):
        found = super()._get_sorted_hosts(spec_obj, host_states, index)
        return sorted(found, key=lambda state: state.host, reverse=True)

    @staticmethod
    @noted
    def _consume_selected_host(selected_host, spec_obj):
        selected_host.vcpus_used += 7
        filter_scheduler.FilterScheduler._consume_selected_host(
            selected_host, spec_obj)

    @noted
    def _ensure_sufficient_hosts(self, context, hosts, required_count,
                                 claimed_uuids=None):
        self.sufficient = ([host.host for host in hosts], required_count,
                           claimed_uuids)
        super()._ensure_sufficient_hosts(context, hosts, required_count,
                                         claimed_uuids)

    @noted
    def _get_alternate_hosts(self, selected_hosts, spec_obj, hosts, index,
                             num_alts, alloc_reqs_by_rp_uuid=None,
                             allocation_request_version=None):
        return super()._get_alternate_hosts(
            selected_hosts, spec_obj, hosts, index, min(1, num_alts),
            alloc_reqs_by_rp_uuid, allocation_request_version)


class StrictScheduler(filter_scheduler.FilterScheduler):
    """Refuses two instances of a request on one host."""

    def _ensure_sufficient_hosts(self, context, hosts, required_count,
                                 claimed_uuids=None):
        if len({host.host for host in hosts}) < required_count:
            raise exception.NoValidHost(reason='not apart')


class LenientScheduler(filter_scheduler.FilterScheduler):
    """Accepts too few hosts."""

    def _ensure_sufficient_hosts(self, *args, **kwargs):
        pass


class OptionsScheduler(filter_scheduler.FilterScheduler):
    """Has its own options for filters."""

    def _get_configuration_options(self):
        return {'racks': 3}


class KiloScheduler(filter_scheduler.FilterScheduler):
    """Kilo: with a _schedule of its own."""

    def _schedule(self, context, request_spec, filter_properties):
        elevated = context.elevated()
        instance = request_spec['instance_properties']
        filter_properties.update({
            'context': context, 'request_spec': request_spec,
            'config_options': self._get_configuration_options(),
            'instance_type': request_spec['instance_type']})
        self.populate_filter_properties(request_spec, filter_properties)
        hosts, selected = self._get_all_host_states(elevated), []
        for num in range(request_spec.get('num_instances', 1)):
            hosts = self.host_manager.get_filtered_hosts(
                hosts, filter_properties, index=num)
            if not hosts:
                break
            weighed = self.host_manager.get_weighed_hosts(
                hosts, filter_properties)
            selected.append(weighed[0])
            weighed[0].obj.consume_from_instance(instance)
        return selected


class QueensScheduler(filter_scheduler.FilterScheduler):
    """Queens: the same, in Queens' steps."""

    def _schedule(self, context, spec_obj, instance_uuids,
                  alloc_reqs_by_rp_uuid, provider_summaries,
                  allocation_request_version=None, return_alternates=False):
        hosts = self._get_all_host_states(context.elevated(), spec_obj,
                                          provider_summaries)
        selected = []
        for num in range(spec_obj.num_instances):
            hosts = self._get_sorted_hosts(spec_obj, hosts, num)
            if not hosts:
                break
            selected.append(hosts[0])
            self._consume_selected_host(hosts[0], spec_obj,
                                        instance_uuids[num])
        self._ensure_sufficient_hosts(context, selected,
                                      spec_obj.num_instances)
        return self._get_alternate_hosts(selected, spec_obj, hosts, num, 2)


class AskingScheduler(driver.Scheduler):
    """Calls a method that does not exist."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            alloc_reqs_by_rp_uuid, provider_summaries,
                            allocation_request_version=None,
                            return_alternates=False):
        self.host_manager.sync_instance_info(context, 'a', [])
