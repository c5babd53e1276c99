"""Nova's steps of a request, with the signatures of any release."""

import types

import numpy as np
from oslo_log import log as logging

from nova_sched import exception
from nova_sched.compat import nova_methods
from nova_sched.compat.row_api import host_states as rows
from nova_sched.compat.row_api import request
from nova_sched.placement import driver_claims
from nova_sched.placement import releases
from nova_sched.rules import limits
from nova_sched.scheduler import attempt
from nova_sched.scheduler import claims
from nova_sched.scheduler import ranking
from nova_sched.scheduler import selections

LOG = logging.getLogger(__name__)


class NovaSchedulerMixin:
    """A mixin for drivers whose ``host_manager`` is a NovaHostManagerMixin.

    ``conf`` is the configuration.
    """

    def _get_all_host_states(self, context, spec_obj=None,
                             provider_summaries=None):
        """Return the host states that a request begins with: iterable.

        provider_summaries: a dict with the uuids of the candidates; None for
            all hosts.
        """
        manager = self.host_manager
        if (nova_methods.overridden(manager, ('get_all_host_states',))
                and not nova_methods.overridden(
                    manager, ('get_host_states_by_uuids',))):
            return manager.get_all_host_states(context)
        return rows.call(
            manager.get_host_states_by_uuids, context,
            None if provider_summaries is None else list(provider_summaries),
            spec_obj)

    def _get_sorted_hosts(self, spec_obj, host_states, index):
        """Return the host states that can take an instance: list.

        The drawn host comes first, the others follow by weight.

        index: number of the instance in the request.
        """
        manager, current = self.host_manager, request.current()
        context = spec_obj._context
        # Before Newton the names of filters come before the index.
        found = list(rows.call(
            manager.get_filtered_hosts, host_states, spec_obj, index,
            context=context, filter_class_names=None, index=index) or ())
        ranking.log_filtered(found, len(found))
        if not found:
            return []
        weighed = list(rows.call(
            manager.get_weighed_hosts, found, spec_obj, context=context))
        ranking.log_weighed(weighed, len(weighed))
        states = [each.obj for each in weighed]
        weights = [each.weight for each in weighed]
        current.weights = dict(zip(map(rows.names_of, states), weights,
                                 strict=True))
        order = attempt.HostSelector.of(self.conf).select(
            np.array(weights), current.draw)
        return states if order is None else [states[i] for i in order]

    @staticmethod
    def _consume_selected_host(selected_host, spec_obj, instance_uuid=None):
        """Consume an instance on a host, and add it to the server group.
        """
        if request.current().refuse is None:
            # In a loop of the plug-in; a SchedulingAttempt logs it itself.
            LOG.debug('Selected host: %(host)s', {'host': selected_host})
        theirs = nova_methods.overridden(selected_host, (
            'consume_from_instance', 'consume_from_request'))
        if theirs == ['consume_from_instance']:  # as before Mitaka
            selected_host.consume_from_instance(
                spec_obj['request_spec']['instance_properties'])
        else:
            selected_host.consume_from_request(spec_obj)
        if selected_host._row is not None:
            attempt.join_group(spec_obj, instance_uuid,
                               selected_host._snapshot, selected_host.host)

    def _ensure_sufficient_hosts(self, context, hosts, required_count,
                                 claimed_uuids=None):
        """Raise NoValidHost for fewer hosts than instances.

        hosts: list of HostState.  claimed_uuids: of the instances with a
            claim, which is released.
        """
        if len(hosts) >= required_count:
            return
        refuse = request.current().refuse
        if refuse is not None:
            refuse()
        self._cleanup_allocations(context, claimed_uuids)
        raise exception.NoValidHost(reason=(
            f'{exception.NoValidHost.nova} {len(hosts)} of {required_count} '
            'instances could be placed'))

    @nova_methods.to_call_alone
    def _legacy_find_hosts(self, context, num_instances, spec_obj, hosts,
                           num_alts, instance_uuids=None):
        """Choose hosts without claims; return as ``_get_alternate_hosts``.

        hosts: HostStates that may be chosen.  num_alts: alternates for each.
        instance_uuids: of the instances, if known.
        Raises NoValidHost.
        """
        selected, index = [], 0
        for index in range(num_instances):
            hosts = self._get_sorted_hosts(spec_obj, hosts, index)
            if not hosts:
                break
            selected.append(hosts[0])
            self._consume_selected_host(
                hosts[0], spec_obj,
                instance_uuids[index] if instance_uuids else None)
        self._ensure_sufficient_hosts(context, selected, num_instances)
        return self._get_alternate_hosts(selected, spec_obj, hosts, index,
                                         num_alts)

    @nova_methods.to_call_alone
    def _cleanup_allocations(self, *args):
        """Remove the allocations of instances.

        args: list of their uuids, or None, after a context from Queens on.
        Nothing happens where the service has claimed: it releases the claims
        of a failed request itself.
        """
        uuids = args[-1]
        if uuids and request.current().refuse is None:
            LOG.debug('Cleaning up allocations for %s', uuids)
            own = driver_claims.current()
            claimed = {*own.held()}
            releases.release_claims(
                own, [uuid for uuid in uuids if uuid in claimed])
            # Allocations that were not made by a claim of this driver.
            releases.release_claims(types.SimpleNamespace(
                release=self.placement_client.forget,
                release_all=lambda uuids: ()), [
                    uuid for uuid in uuids if uuid not in claimed])

    def _get_alternate_hosts(self, selected_hosts, spec_obj, hosts, index,
                             num_alts, alloc_reqs_by_rp_uuid=None,
                             allocation_request_version=None,
                             selected_alloc_reqs=None):
        """Return a list of Selection per selected host, with its alternates.

        hosts: HostStates, best first.  index: of the last instance.
        num_alts: maximum number of alternates of an instance.
        selected_alloc_reqs: claimed allocation requests, in the order of
            ``selected_hosts``; None in releases without it.
        """
        if not selected_hosts:
            return []
        claimed = request.current().claimed
        if len(claimed) == len(selected_hosts):
            selected_alloc_reqs = selected_alloc_reqs or claimed
        if num_alts > 0 and len(selected_hosts) > 1:
            hosts = self._get_sorted_hosts(spec_obj, hosts, index)
        snapshot = selected_hosts[0]._snapshot
        picks = rows.rows_of(selected_hosts, snapshot,
                             'selected_hosts').tolist()
        first_of = (claims.first_request if alloc_reqs_by_rp_uuid
                    else lambda snapshot, row: claims.ClaimedHost(row))
        taken = [claims.ClaimedHost(row, claimed) for row, claimed in zip(
            picks, selected_alloc_reqs, strict=True)
        ] if selected_alloc_reqs else [
            first_of(snapshot, row) or claims.ClaimedHost(row)
            for row in picks]
        chosen = [selections.Chosen(snapshot, each, limits.of_row(
            snapshot, each.row)) for each in taken]
        others = selections.alternates(
            snapshot, chosen, rows.rows_of(hosts, snapshot, 'hosts').tolist(),
            max(0, num_alts), first_of)
        return selections.of(
            chosen, others, self.conf.default_availability_zone,
            allocation_request_version)
