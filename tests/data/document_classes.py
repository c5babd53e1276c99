"""Drivers and host managers that make the calls which articles show.

Each method makes the calls of Nova's method, in its order and with its
arguments, by Nova's names.
"""

import collections
import random

from nova import exception
from nova import rpc
from nova import servicegroup
from nova.scheduler import caching_scheduler
from nova.scheduler import chance
from nova.scheduler import client
from nova.scheduler import driver
from nova.scheduler import filter_scheduler
from nova.scheduler import filters
from nova.scheduler import host_manager
from nova.scheduler import ironic_host_manager
from nova.scheduler import rpcapi  # noqa: F401
from nova.scheduler import scheduler_options
from nova.scheduler import utils
from nova.scheduler import weights
from oslo_config import cfg
from oslo_log import log as logging
from oslo_utils import importutils

CONF = cfg.CONF
LOG = logging.getLogger(__name__)

START = 'scheduler.select_destinations.start'
END = 'scheduler.select_destinations.end'


class KiloScheduler(driver.Scheduler):
    """Kilo's loop, in a driver that derives from the base class alone."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.options = scheduler_options.SchedulerOptions()
        self.notifier = rpc.get_notifier('scheduler')

    def select_destinations(self, context, request_spec, filter_properties):
        self.notifier.info(context, START, {'request_spec': request_spec})
        wanted = request_spec['num_instances']
        chosen = self._schedule(context, request_spec, filter_properties)
        if len(chosen) < wanted:
            raise exception.NoValidHost(reason='too few')
        found = [{'host': each.obj.host, 'nodename': each.obj.nodename,
                  'limits': each.obj.limits} for each in chosen]
        self.notifier.info(context, END, {'request_spec': request_spec})
        return found

    def _schedule(self, context, request_spec, filter_properties):
        elevated = context.elevated()
        properties = request_spec['instance_properties']
        filter_properties.update({
            'context': context, 'request_spec': request_spec,
            'config_options': self.options.get_configuration(),
            'instance_type': request_spec.get('instance_type', None)})
        hosts = self.host_manager.get_all_host_states(elevated)
        chosen = []
        for index in range(request_spec.get('num_instances', 1)):
            hosts = self.host_manager.get_filtered_hosts(
                hosts, filter_properties, index=index, context=context)
            if not hosts:
                break
            weighed = self.host_manager.get_weighed_hosts(
                hosts, filter_properties, context=context)
            subset = max(1, min(CONF.scheduler_host_subset_size,
                                len(weighed)))
            one = random.choice(weighed[:subset])
            LOG.debug('Selected host: %(host)s', {'host': one})
            chosen.append(one)
            one.obj.consume_from_instance(properties)
        return chosen


class KiloHostManager(host_manager.HostManager):
    """Chooses and runs filters as Kilo does."""

    def __init__(self):
        self.host_state_map = {}
        self.filter_handler = filters.HostFilterHandler()
        self.filter_cls_map = {
            cls.__name__: cls for cls
            in self.filter_handler.get_matching_classes(
                CONF.scheduler_available_filters)}
        self.filter_obj_map = {}
        self.default_filters = self._choose_host_filters(
            self._load_filters())
        self.weight_handler = weights.HostWeightHandler()
        self.weighers = [cls() for cls
                         in self.weight_handler.get_matching_classes(
                             CONF.scheduler_weight_classes)]
        self.aggs_by_id = {}
        self.host_aggregates_map = collections.defaultdict(set)
        self._init_aggregates()
        self.tracks_instance_changes = CONF.scheduler_tracks_instance_changes
        self._instance_info = {}
        if self.tracks_instance_changes:
            self._init_instance_info()

    def _load_filters(self):
        return CONF.scheduler_default_filters

    def get_filtered_hosts(self, hosts, filter_properties,
                           filter_class_names=None, index=0, context=None):
        if filter_class_names is None:
            chosen = self.default_filters
        else:
            chosen = self._choose_host_filters(filter_class_names)
        return self.filter_handler.get_filtered_objects(
            chosen, hosts, filter_properties, index, context=context)

    def get_weighed_hosts(self, hosts, weight_properties, context=None):
        return self.weight_handler.get_weighed_objects(
            self.weighers, hosts, weight_properties)


class MappingHostManager(KiloHostManager):
    """Returns the states of its map, as Kilo does."""

    def get_all_host_states(self, context):
        seen = {('a', 'a')}
        for state in super().get_all_host_states(context):
            assert self.host_state_map.get((state.host, state.nodename)) in (
                state, None)
            if state.host == 'b':
                self.host_state_map['b', 'b'] = state
                seen.add(('b', 'b'))
        for key in set(self.host_state_map) - seen:
            del self.host_state_map[key]
        return self.host_state_map.values()


class MakingScheduler(KiloScheduler):
    """Makes its host manager itself, as Kilo's base class does."""

    def __init__(self, *args, **kwargs):
        self.host_manager = importutils.import_object(
            CONF.scheduler_host_manager)
        self.servicegroup_api = servicegroup.API()
        self.options = scheduler_options.SchedulerOptions()
        self.notifier = rpc.get_notifier('scheduler')


class QueensScheduler(filter_scheduler.FilterScheduler):
    """Sends the notifications of its requests itself, as Queens does."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.notifier = rpc.get_notifier('scheduler')
        self.placement_client = client.SchedulerClient().reportclient

    def select_destinations(self, context, spec_obj, instance_uuids,
                            alloc_reqs_by_rp_uuid, provider_summaries,
                            allocation_request_version=None,
                            return_alternates=False):
        self.notifier.info(context, START, {
            'request_spec': spec_obj.to_legacy_request_spec_dict()})
        found = self._schedule(
            context, spec_obj, instance_uuids, alloc_reqs_by_rp_uuid,
            provider_summaries, allocation_request_version,
            return_alternates)
        self.notifier.info(context, END, {
            'request_spec': spec_obj.to_legacy_request_spec_dict()})
        return found


class QueensLoop(QueensScheduler):
    """The same, with Queens' own loop."""

    def _schedule(self, context, spec_obj, instance_uuids,
                  alloc_reqs_by_rp_uuid, provider_summaries,
                  allocation_request_version=None, return_alternates=False):
        elevated = context.elevated()
        hosts = self._get_all_host_states(elevated, spec_obj,
                                          provider_summaries)
        count = len(instance_uuids or ()) or spec_obj.num_instances
        alternates = (CONF.scheduler.max_attempts - 1
                      if return_alternates else 0)
        if (instance_uuids is None or not self.USES_ALLOCATION_CANDIDATES
                or alloc_reqs_by_rp_uuid is None):
            return self._legacy_find_hosts(context, count, spec_obj, hosts,
                                           alternates)
        uuids, claimed = [], []
        for index in range(count):
            hosts = self._get_sorted_hosts(spec_obj, hosts, index)
            if not hosts:
                break
            uuid = instance_uuids[index]
            for host in hosts:
                if host.uuid not in alloc_reqs_by_rp_uuid:
                    continue
                if utils.claim_resources(
                        elevated, self.placement_client, spec_obj, uuid,
                        alloc_reqs_by_rp_uuid[host.uuid][0],
                        allocation_request_version=(
                            allocation_request_version)):
                    break
            else:
                break
            uuids.append(uuid)
            claimed.append(host)
            self._consume_selected_host(host, spec_obj)
        self._ensure_sufficient_hosts(context, claimed, count, uuids)
        return self._get_alternate_hosts(
            claimed, spec_obj, hosts, index, alternates,
            alloc_reqs_by_rp_uuid, allocation_request_version)

    def _get_all_host_states(self, context, spec_obj, provider_summaries):
        uuids = (None if provider_summaries is None
                 else list(provider_summaries))
        return self.host_manager.get_host_states_by_uuids(context, uuids,
                                                          spec_obj)


class QueensCaching(caching_scheduler.CachingScheduler):
    """Passes its arguments on."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            *placement):
        return super().select_destinations(context, spec_obj, instance_uuids,
                                           *placement)


class MitakaChance(chance.ChanceScheduler):
    """Answers with dicts."""

    def select_destinations(self, context, spec_obj):
        return super().select_destinations(context, spec_obj)


class KiloChance(chance.ChanceScheduler):
    """The same, of a request in two dicts."""

    def select_destinations(self, context, request_spec, filter_properties):
        return super().select_destinations(context, request_spec,
                                           filter_properties)


class IronManager(ironic_host_manager.IronicHostManager):
    """Passes its arguments on."""

    def get_all_host_states(self, context):
        return super().get_all_host_states(context)


class QueensHostManager(host_manager.HostManager):
    """Reads the hosts of cells as Queens does."""

    def get_host_states_by_uuids(self, context, compute_uuids, spec_obj):
        self._load_cells(context)
        if (spec_obj and 'requested_destination' in spec_obj
                and spec_obj.requested_destination
                and 'cell' in spec_obj.requested_destination):
            only = spec_obj.requested_destination.cell
        else:
            only = None
        cells = [only] if only else self.cells
        compute_nodes, services = self._get_computes_for_cells(
            context, cells, compute_uuids=compute_uuids)
        return self._get_host_states(context, compute_nodes, services)

    def _get_host_states(self, context, compute_nodes, services):
        states, seen = {}, set()
        for cell_uuid, computes in compute_nodes.items():
            for compute in computes:
                service = services.get(compute.host)
                if not service:
                    continue
                host, node = compute.host, compute.hypervisor_hostname
                key = host, node
                state = states.get(key)
                if not state:
                    state = self.host_state_cls(host, node, cell_uuid,
                                                compute=compute)
                    states[key] = state
                state.update(compute, dict(service),
                             self._get_aggregates_info(host),
                             self._get_instance_info(context, compute))
                seen.add(key)
        return (states[key] for key in seen)
