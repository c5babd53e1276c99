"""Getting Placement's candidates for a request, before a driver decides.

They come from the mirror (placement.mirror) if it is current and supports the
query; otherwise Placement lists them.
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
from nova_sched.scheduler import refusals
from nova_sched.scheduler import request_filter
from nova_sched.scheduler import utils
from nova_sched.scheduler.client import report
from nova_sched.scheduler.offer import NO_OFFER
from nova_sched.scheduler.offer import Offer

LOG = logging.getLogger(__name__)


class CandidateSource:
    """The source of a driver's candidates.

    driver: a scheduler.driver.Scheduler.  Placement is not used if its
        USES_ALLOCATION_CANDIDATES is false, or its select_destinations has no
        argument ``offer``, or Placement is not configured.
    client: a client to use instead of a new SchedulerReportClient.
    responses: Placement's responses that workers share, see
        placement.mirror.upkeep.Upkeep.

    placement_client: the client; None if Placement is not used.
    """

    def __init__(self, conf, driver, client=None, responses=None):
        self.placement_client = self._mirror = None
        # Compute nodes that are fully in the mirror.
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
                    and manager is not None and driver.LISTS_CANDIDATES_LAST
                    and not driver.WANTS_SUMMARIES):
                self._mirror = client.mirrored(
                    manager.freed_nodes, responses, manager.count_claims)
        self._max_results = conf.scheduler.max_placement_results
        self._fallback = not conf.workarounds.disable_fallback_pcpu_query
        self._driver = driver

    def start(self):
        """Start filling the mirror, if it is configured."""
        if self._mirror is not None:
            self._mirror.start()

    def stop(self):
        """Release the resources that ``start`` acquired."""
        if self._mirror is not None:
            self._mirror.stop()

    @property
    def mirror_age(self):
        """Seconds since the mirror was compared with Placement.

        None without a mirror, and while it is incomplete or too old.
        """
        return None if self._mirror is None else self._mirror.age

    def forget_aggregates(self):
        """Forget the members of aggregates in the mirror: they changed."""
        if self._mirror is not None:
            self._mirror.forget_aggregates()

    def fetch(self, context, spec_obj, record):
        """Return (RequestSpec, Offer).

        If Placement is not used, or for a rebuild, the RequestSpec is the
        given one.  Otherwise it is a copy that request filters have edited,
        with host and node of a requested destination completed.
        record: Decision to record the time in.
        Raises NoValidHost for an unknown host and without candidates,
        InvalidInput for a request that no query can express,
        DatabaseUnavailable, PlacementUnavailable, and the exceptions of
        ``RequestFilters.apply``.
        """
        if self.placement_client is None or spec_obj.is_rebuild:
            return spec_obj, NO_OFFER
        with record.timed('placement'):
            spec_obj, queries = self.queries(context, spec_obj, record)
            # Read first: the candidates may lack nodes that another request
            # adds to the mirror in between.
            nodes = self._nodes
            candidates = self.placement_client.mirror_candidates(queries)
        offer = Offer(candidates, None, self, queries, context, spec_obj,
                      nodes)
        if candidates is None:
            offer.list_candidates(record)
        else:
            offer.claims = self.placement_client.claims(candidates, context)
        return spec_obj, offer

    def queries(self, context, spec_obj, record):
        """Return an edited copy of a RequestSpec, and its queries: list.

        For arguments and exceptions see ``fetch``.
        """
        spec_obj = self._request_filters.apply(context, spec_obj)
        node = self._target_node(spec_obj, record)
        return spec_obj, utils.resource_requests(
            spec_obj, max_results=self._max_results, target_node=node,
            fallback_pcpu_query=self._fallback)

    def include(self, nodes, offer, record):
        """Replace the mirror's candidates, so that they include new nodes.

        The mirror reads a few missing nodes from Placement.
        nodes: uuids of all compute nodes, from HostManager.refresh.
        offer: Offer to update.  record: Decision to record the time in.
        """
        with record.timed('placement'):
            if self._mirror.read_nodes(nodes.items()):
                self._nodes = nodes
            offer.candidates = self.placement_client.mirror_candidates(
                offer.queries) or offer.candidates
        offer.nodes, record.offer = nodes, offer.candidates

    def listed(self, offer, record):
        """Return the AllocationCandidates that Placement lists, and claims.

        offer: Offer with the queries.
        Raises NoValidHost without candidates, and PlacementUnavailable.
        """
        with record.timed('placement'):
            candidates = self.placement_client.candidates(offer.queries,
                                                          offer.context)
        if isinstance(candidates, NoCandidates):
            LOG.info('Got no allocation candidates from the Placement API. '
                     'This may be a temporary occurrence as compute nodes '
                     'start up and begin reporting inventory to the '
                     'Placement service.')
            record.offer, record.reason = candidates, candidates.reason
            record.spec_obj = offer.spec_obj
            if candidates is NO_CANDIDATES:
                refusals.note_nothing_offered(
                    record, self._hosts(record), offer.spec_obj,
                    lambda: self.placement_client.counts_room(
                        offer.queries, offer.context))
            else:
                record.refuse('placement_unavailable', codes.STATE_STALE)
            raise exception.NoValidHost(reason='', nova='')
        return candidates, self.placement_client.claims(candidates,
                                                        offer.context)

    def invalidate(self, providers):
        """Make the mirror read these providers, by uuid, again."""
        self.placement_client.invalidate(providers)

    def _hosts(self, record):
        """Return all hosts, less the ledger's entries: HostSnapshot.

        None if the driver has no host manager.
        record: Decision to record the state in.
        """
        manager = self._driver.host_manager
        if manager is None:
            return None
        try:
            view = manager.view()
            record.note_state(decision.State.of(view.table, view.in_flight,
                                                manager.now()))
            return view.table.snapshot(None)
        except Exception as error:
            # The refusal stands, without the figures of the hosts.
            LOG.debug('The hosts cannot be read: %r', error)
            return None

    def _target_node(self, spec_obj, record):
        """Return the uuid of the compute node that a request is bound to.

        None if it is bound to no node or to several, if the node has no uuid,
        and if the driver has no host manager.  Sets host and node of a
        requested destination.  Raises NoValidHost for an unknown host.
        """
        target = utils.target(spec_obj)
        manager = self._driver.host_manager
        if target is None or manager is None:
            return None
        nodes = manager.find_nodes(target.host, target.node, target.cell)
        if not nodes:
            lost = manager.lost_cells()
            record.state = dataclasses.replace(record.state, lost=lost)
            record.refuse('unknown_host', codes.STATE_STALE if lost
                          else codes.CONTRADICTION)
            text = target.unknown + reasons.lost_cells(record)
            record.reason = text
            raise exception.NoValidHost(reason=text, nova=target.unknown)
        if len(nodes) > 1 or nodes[0].uuid is None:
            return None
        [node] = nodes
        if spec_obj.requested_destination is not None:
            spec_obj.requested_destination.host = node.host
            spec_obj.requested_destination.node = node.nodename
        return node.uuid
