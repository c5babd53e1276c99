"""Fetching candidates from Placement, before a driver decides.

From a copy of what Placement knows (placement.mirror), where there is one
that can tell; else Placement lists them.
"""

import dataclasses

from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.hosts import decision
from nova_sched.hosts.allocation_candidates import NO_CANDIDATES
from nova_sched.hosts.allocation_candidates import NoCandidates
from nova_sched.rules import codes
from nova_sched.rules import reasons
from nova_sched.rules import refusals
from nova_sched.scheduler import request_filter
from nova_sched.scheduler import utils
from nova_sched.scheduler.client import report
from nova_sched.scheduler.offer import NO_OFFER
from nova_sched.scheduler.offer import Offer

LOG = logging.getLogger(__name__)


class CandidateSource:
    """The source of candidates for a driver.

    driver: a scheduler.driver.Scheduler.  Placement is not used for one whose
    USES_ALLOCATION_CANDIDATES is false or whose select_destinations takes no
    ``offer``, nor where it is not configured.
    client: in place of a SchedulerReportClient of its own.
    answers: of Placement that it shares, as of
        placement.mirror.upkeep.Upkeep.

    placement_client: the client, None where Placement is not used.
    """

    def __init__(self, conf, driver, client=None, answers=None):
        self.placement_client = self._mirror = None
        # Of which compute nodes the copy has all that Placement has.
        self._nodes = ()
        if (driver.USES_ALLOCATION_CANDIDATES
                and config.placement_configured(conf)):
            client = client or report.SchedulerReportClient(conf)
            client.keeps_summaries = driver.WANTS_SUMMARIES
            self.placement_client = client
            manager = driver.host_manager
            self._request_filters = request_filter.RequestFilters(
                conf, manager, client)
            if (conf.nova_sched.candidates == 'mirror'
                    and driver.LISTS_CANDIDATES_LAST
                    and not driver.WANTS_SUMMARIES):
                self._mirror = client.mirrored(
                    manager.freed_nodes, answers, manager.count_claims)
        self._max_results = conf.scheduler.max_placement_results
        self._fallback = not conf.workarounds.disable_fallback_pcpu_query
        self._driver = driver

    def start(self):
        """Begin to copy what Placement knows, if that is configured."""
        if self._mirror is not None:
            self._mirror.start()

    def stop(self):
        """Let go of what ``start`` acquired."""
        if self._mirror is not None:
            self._mirror.stop()

    @property
    def copy_age(self):
        """Seconds since the copy was compared with Placement.

        None without one, and while it is not complete or too old.
        """
        return None if self._mirror is None else self._mirror.age

    def forget_aggregates(self):
        """Note that aggregates were changed, in Placement too."""
        if self._mirror is not None:
            self._mirror.forget_aggregates()

    def fetch(self, context, spec_obj, record):
        """Return (RequestSpec, Offer).

        The RequestSpec is the given one if Placement is not used, else a copy
        that request filters have edited, and that names the one host that the
        request may go to.  record: the Decision that notes the time taken.
        Raises NoValidHost for a host that is not there and for a request
        that is offered nothing, InvalidInput for one that cannot be asked
        for, DatabaseUnavailable, PlacementUnavailable, and what
        ``RequestFilters.apply`` raises.
        """
        if self.placement_client is None or spec_obj.is_rebuild:
            return spec_obj, NO_OFFER
        with record.timed('placement'):
            spec_obj = self.edited(context, spec_obj)
            node = self._target_node(spec_obj, record)
            queries = utils.resource_requests(
                spec_obj, max_results=self._max_results, target_node=node,
                fallback_pcpu_query=self._fallback)
            # Before: what the copy learns meanwhile may be missing.
            nodes = self._nodes
            found = self.placement_client.copied_candidates(queries)
        offer = Offer(found, None, self, queries, context, spec_obj, nodes)
        if found is None:
            offer.list_candidates(record)
        else:
            offer.claims = self.placement_client.claims(found, context)
        return spec_obj, offer

    def including(self, nodes, offer):
        """Return the candidates of a copy with those of new compute nodes.

        Placement is asked about a few of them that the copy does not have.
        nodes: uuids of all, as of HostManager.refresh.  offer: Offer.
        """
        if self._mirror.learn_nodes(nodes.items()):
            self._nodes = nodes
        return (self.placement_client.copied_candidates(offer.queries)
                or offer.candidates)

    def edited(self, context, spec_obj):
        """Return a copy of a RequestSpec that request filters have edited.

        Raises as ``fetch`` does.
        """
        return self._request_filters.apply(context, spec_obj)

    def listed(self, offer, record):
        """Return what Placement lists: AllocationCandidates, and the claims.

        offer: Offer that names the queries.
        Raises NoValidHost for none, and PlacementUnavailable.
        """
        with record.timed('placement'):
            found = self.placement_client.candidates(offer.queries,
                                                     offer.context)
        if isinstance(found, NoCandidates):
            LOG.info('Got no allocation candidates from the Placement API. '
                     'This may be a temporary occurrence as compute nodes '
                     'start up and begin reporting inventory to the '
                     'Placement service.')
            record.offer, record.reason = found, found.reason
            record.spec_obj = offer.spec_obj
            if found is NO_CANDIDATES:
                refusals.note_nothing_offered(
                    record, self._hosts(record), offer.spec_obj,
                    lambda: self.placement_client.counts_room(
                        offer.queries, offer.context))
            else:
                record.refuse('placement_unavailable', codes.STATE_STALE)
            raise exception.NoValidHost(reason='', nova='')
        return found, self.placement_client.claims(found, offer.context)

    def doubt(self, providers):
        """Have the copy read providers, uuids, again."""
        self.placement_client.doubt(providers)

    def _hosts(self, record):
        """Return all hosts as they were last read: HostSnapshot, or None.

        record: Decision that notes which hosts these are.
        """
        manager = self._driver.host_manager
        if manager is None:
            return None
        view = manager.view()
        record.note_state(decision.State.of(view.table, view.in_flight,
                                            manager.now()))
        return view.table.snapshot(None)

    def _target_node(self, spec_obj, record):
        """Return the uuid of the one compute node that a request names.

        None without one, or with several.  Completes a requested destination
        by the node's host and name.
        """
        target = utils.target(spec_obj)
        manager = self._driver.host_manager
        if target is None or manager is None:
            return None
        found = manager.find_nodes(target.host, target.node, target.cell)
        if not found:
            lost = manager.lost_cells()
            record.state = dataclasses.replace(record.state, lost=lost)
            record.refuse('unknown_host', codes.STATE_STALE if lost
                          else codes.CONTRADICTION)
            text = target.unknown + reasons.lost_cells(record)
            record.reason = text
            raise exception.NoValidHost(reason=text, nova=target.unknown)
        if len(found) > 1 or found[0].uuid is None:
            return None
        [node] = found
        if spec_obj.requested_destination is not None:
            spec_obj.requested_destination.host = node.host
            spec_obj.requested_destination.node = node.nodename
        return node.uuid
