"""Drivers as an operator of Queens has written them, for Nova itself."""

from concurrent import futures

from nova import exception
from nova import objects
from nova import rpc
from nova.scheduler import client
from nova.scheduler import driver
from nova.scheduler import filter_scheduler
from nova.scheduler import utils


class QuietScheduler(filter_scheduler.FilterScheduler):
    """The filter scheduler, on hosts without the trait CUSTOM_LOUD."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.given = []

    def select_destinations(self, context, spec_obj, instance_uuids,
                            alloc_reqs_by_rp_uuid, provider_summaries,
                            allocation_request_version=None,
                            return_alternates=False):
        self.given.append((alloc_reqs_by_rp_uuid, provider_summaries,
                           allocation_request_version))
        if provider_summaries is not None:
            provider_summaries = {
                uuid: summary for uuid, summary in provider_summaries.items()
                if 'CUSTOM_LOUD' not in
                self.placement_client._get_provider_traits(context, uuid)}
        return super().select_destinations(
            context, spec_obj, instance_uuids, alloc_reqs_by_rp_uuid,
            provider_summaries, allocation_request_version,
            return_alternates)


class PersistentScheduler(filter_scheduler.FilterScheduler):
    """The filter scheduler; decides a second time after a refusal."""

    def select_destinations(self, *args):
        try:
            return super().select_destinations(*args)
        except exception.NoValidHost:
            return super().select_destinations(*args)


class ThreadedScheduler(filter_scheduler.FilterScheduler):
    """The filter scheduler in a thread of its own."""

    def select_destinations(self, *args):
        with futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(super().select_destinations, *args).result()


class EmptiestScheduler(driver.Scheduler):
    """Selects the least used provider of the allocation candidates."""

    def __init__(self):
        super().__init__()
        self.placement_client = client.SchedulerClient().reportclient
        self.notifier = rpc.get_notifier('scheduler')

    def select_destinations(self, context, spec_obj, uuids, requests,
                            summaries, version=None, alternates=False):
        hosts = {state.uuid: state for state in
                 self.host_manager.get_host_states_by_uuids(
                     context.elevated(), summaries.keys(), spec_obj)}
        best_first = sorted(hosts, key=lambda uuid: (
            summaries[uuid]['resources']['VCPU']['used'], uuid))
        found = []
        for instance_uuid in uuids:
            for uuid in best_first:
                if utils.claim_resources(
                        context.elevated(), self.placement_client, spec_obj,
                        instance_uuid, requests[uuid][0],
                        allocation_request_version=version):
                    break
            else:
                for claimed in uuids[:len(found)]:
                    self.placement_client.delete_allocation_for_instance(
                        context, claimed)
                raise exception.NoValidHost(reason='all are full')
            found.append([objects.Selection(
                compute_node_uuid=uuid, service_host=hosts[uuid].host,
                nodename=hosts[uuid].nodename,
                cell_uuid=hosts[uuid].cell_uuid)])
            self.notifier.info(context, 'emptiest.chosen', {
                'instance': instance_uuid, 'host': hosts[uuid].host})
        return found


class WordyScheduler(filter_scheduler.FilterScheduler):
    """The filter scheduler with a copy of Queens' _schedule."""

    def _schedule(self, context, spec_obj, instance_uuids,
                  alloc_reqs_by_rp_uuid, provider_summaries,
                  allocation_request_version=None, return_alternates=False):
        elevated = context.elevated()
        hosts = self._get_all_host_states(elevated, spec_obj,
                                          provider_summaries)
        claimed_uuids, claimed_hosts = [], []
        for num, uuid in enumerate(instance_uuids):
            hosts = self._get_sorted_hosts(spec_obj, hosts, num)
            for host in hosts:
                if utils.claim_resources(
                        elevated, self.placement_client, spec_obj, uuid,
                        alloc_reqs_by_rp_uuid[host.uuid][0],
                        allocation_request_version=allocation_request_version):
                    break
            else:
                break
            claimed_uuids.append(uuid)
            claimed_hosts.append(host)
            self._consume_selected_host(host, spec_obj)
        self._ensure_sufficient_hosts(context, claimed_hosts,
                                      len(instance_uuids), claimed_uuids)
        return self._get_alternate_hosts(
            claimed_hosts, spec_obj, hosts, num, 1, alloc_reqs_by_rp_uuid,
            allocation_request_version)


class SufficingScheduler(WordyScheduler):
    """The same; checks the number of hosts itself."""

    def _ensure_sufficient_hosts(self, context, hosts, required_count,
                                 claimed_uuids=None):
        if len(hosts) < required_count:
            self._cleanup_allocations(context, claimed_uuids)
            raise exception.NoValidHost(reason='these are too few')


class CountingScheduler(filter_scheduler.FilterScheduler):
    """The filter scheduler; checks the number of hosts itself."""

    _ensure_sufficient_hosts = SufficingScheduler._ensure_sufficient_hosts


class MisspeltScheduler(WordyScheduler):
    """The same, with a mistake after the claims."""

    def _get_alternate_hosts(self, *args):
        return self._get_alternative_hosts(*args)


class MisspeltStepsScheduler(filter_scheduler.FilterScheduler):
    """The filter scheduler, with a mistake after its _schedule."""

    def _schedule(self, *args):
        super()._schedule(*args)
        return found  # noqa: F821


class MisspeltEmptiestScheduler(EmptiestScheduler):
    """EmptiestScheduler, with a mistake after its claims."""

    def select_destinations(self, *args):
        return super().select_destinations(*args).sorted()


class LicensedScheduler(EmptiestScheduler):
    """Claims of a provider of licences first, and then makes a mistake."""

    def select_destinations(self, context, spec_obj, uuids, requests,
                            summaries, *args):
        client = self.placement_client
        for uuid in uuids:
            client.claim_resources(
                context, uuid, {'allocations': {
                    'b0000000-0000-4000-8000-00000000000b': {
                        'resources': {'CUSTOM_LICENCE': 1}}}},
                spec_obj.project_id, context.user_id)
        super().select_destinations(context, spec_obj, uuids, requests,
                                    summaries, *args)
        raise KeyError('licence')
