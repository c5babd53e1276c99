"""The client of Placement: queries allocation candidates, makes claims."""

from urllib import parse

from oslo_log import log as logging

from nova_sched import exception
from nova_sched import remote
from nova_sched.hosts.allocation_candidates import NO_CANDIDATES
from nova_sched.hosts.allocation_candidates import AllocationCandidates
from nova_sched.hosts.allocation_candidates import NoCandidates
from nova_sched.placement import documents
from nova_sched.placement.adapter import PlacementAdapter
from nova_sched.placement.adapter import PlacementUnreachable
from nova_sched.placement.adapter import RequestFailed
from nova_sched.placement.claim_batches import ClaimBatches
from nova_sched.placement.claims import AllocationClaims
from nova_sched.placement.claims import RequestIdentity
from nova_sched.placement.documents import Candidates
from nova_sched.placement.mirror.mirror import PlacementMirror
from nova_sched.service_adapter import FailureReason
from nova_sched.single_flight import SingleFlight
from nova_sched.single_flight import WaitedTooLong

LOG = logging.getLogger(__name__)

#: Failure reasons that are timeouts.
_TOO_LATE = (FailureReason.TOO_LATE, FailureReason.KEYSTONE_TOO_LATE)

#: Maximum number of characters of a query in an error text.
_LONGEST_QUERY = 1000


class SchedulerReportClient:
    """A client of the Placement that [placement] configures.

    conf: ConfigOpts.  adapter: a PlacementAdapter to use instead of a new one.

    It is thread-safe.  Each process opens its own connections, at its first
    request.  If Placement cannot be reached, or its response cannot be used,
    there are no candidates, and the reason is logged.
    """

    #: Whether candidates have Placement's provider summaries, which take
    #: memory and which few drivers use.
    keeps_summaries = False

    def __init__(self, conf, adapter=None):
        self._adapter = adapter or PlacementAdapter(conf)
        self._mirror, self._listings = None, SingleFlight()
        self._batches = ClaimBatches()

    @property
    def contact(self):
        """The remote.Contact with Placement."""
        return self._adapter.contact

    def mirrored(self, freed, responses=None, count_claims=None):
        """Return a new PlacementMirror for ``mirror_candidates``.

        freed, responses: see placement.mirror.upkeep.Upkeep.
        count_claims: function of a mirror's Providers that makes claims in
            progress count there.
        """
        self._mirror = PlacementMirror(self._adapter, freed, responses)
        if count_claims is not None:
            count_claims(self._mirror.providers)
        return self._mirror

    def mirror_candidates(self, queries):
        """Return the mirror's AllocationCandidates.

        None if Placement has to list them.
        queries: see ``candidates``.
        Raises PlacementUnavailable as ``candidates`` does.
        """
        if self._mirror is None:
            return None
        try:
            version = self._version(queries)
        except exception.PlacementError as exc:
            # A listing would take as long again.
            self._check_in_time(exc)
            return None
        by_provider = (self._mirror.candidates(queries) if documents.at_least(
            version, documents.CLAIMS) else None)
        if by_provider is None:
            return None
        return AllocationCandidates(
            by_provider, frozenset(by_provider), documents.CLAIMS,
            age=self._mirror.age or 0.0)

    def claims(self, candidates, context):
        """Return the AllocationClaims of one request.

        candidates: AllocationCandidates.  context: see ``candidates``.
        """
        return AllocationClaims(self._adapter, candidates.version,
                                RequestIdentity.of(context), self._batches)

    def invalidate(self, providers):
        """Make the mirror read these providers, by uuid, again."""
        if self._mirror is not None:
            self._mirror.invalidate(providers)

    def candidates(self, queries, context):
        """Return Placement's AllocationCandidates, or NoCandidates.

        queries: one or two scheduler.utils.ResourceRequest.  Candidates for
            the second query follow the candidates for the first.
        context: RequestContext of the request.  Its ids and its user are sent,
            with the token of the service.
        Raises PlacementUnavailable if Placement or Keystone does not respond
        in time.
        """
        try:
            listed, version = self._fetch_candidates(
                queries, context, private=self.keeps_summaries)
        except PlacementUnreachable as exc:
            self._check_in_time(exc)
            return self.without_answer(exc)
        except exception.PlacementError as exc:
            error = exc
        else:
            if not listed.by_provider:
                return NO_CANDIDATES
            limit = queries[0].limit
            return AllocationCandidates(
                listed.by_provider, frozenset(listed.providers), version,
                summaries=listed.summaries if self.keeps_summaries else None,
                cut_at=limit if limit and listed.longest >= limit else None)
        # Outside of the except block, where oslo.log would add the error.
        LOG.error('%s', error)
        return self.without_answer(error)

    def counts_room(self, queries, context):
        """Return whether any provider has the amounts of queries free.

        Other conditions of the queries are ignored.  None if Placement gives
        no usable response.
        queries, context: see ``candidates``.
        """
        try:
            listed, _ = self._fetch_candidates(
                [query.amounts_alone() for query in queries], context,
                private=False)
        except (exception.PlacementError,
                exception.PlacementUnavailable) as error:
            LOG.debug('Cannot query providers by amounts only: %s', error)
            return None
        return bool(listed.by_provider)

    def _check_in_time(self, error):
        """Raise PlacementUnavailable if the error is a timeout."""
        if getattr(error, 'reason', None) in _TOO_LATE:
            raise exception.PlacementUnavailable(
                str(error), 'Placement did not respond in time, within '
                f'{self._adapter.timeout:g} seconds') from error

    def without_answer(self, error):
        """Return the empty result of a failed query: NoCandidates.

        error: the PlacementError of the query.
        """
        return NoCandidates(str(error))

    def _version(self, queries):
        """Return the microversion for all of the queries.

        Raises PlacementError.
        """
        return self._adapter.microversions().for_query(max(
            (query.minimum_version() for query in queries),
            key=documents.FORMS.index))

    def _fetch_candidates(self, queries, context, private, again=True):
        """Return documents.Candidates and the microversion to claim them with.

        queries, context: see ``candidates``.
        private: whether the caller may change the result; otherwise concurrent
            requests with the same query share it.
        again: whether to repeat the query if the microversion is refused.
        Raises PlacementError.
        """
        version, merged, failed = self._version(queries), Candidates(), None
        for query in queries:
            text = query.query(version)
            try:
                # A new object as the key: not shared.
                listed = self._listings.get(
                    object() if private else (text, version),
                    lambda text=text: self._list(text, version, context),
                    remote.Deadline(self._adapter.timeout))
            except WaitedTooLong as exc:
                raise PlacementUnreachable(FailureReason.TOO_LATE, str(
                    exc)) from exc
            except RequestFailed as exc:
                failed = exc
            else:
                merged = merged.before(listed) if merged.providers else listed
                continue
            if failed.status == 406 and again:
                # Placement was replaced after it returned its microversions.
                return self._fetch_candidates(queries, context, private,
                                              again=False)
            if len(queries) == 1:
                raise failed
        if failed is not None:
            # A Placement before Train refuses the query for dedicated CPUs,
            # but not the fallback query.
            LOG.warning('%s', failed)
            if not merged.by_provider:
                raise failed
        if documents.at_least(version, documents.CLAIMS):
            version = documents.CLAIMS
        return merged, version

    def _list(self, text, version, context):
        """Send one query; return Candidates.  Raises PlacementError."""
        response = self._adapter.request(
            'GET', f'/allocation_candidates?{text}', version,
            RequestIdentity.of(context).request_id)
        return response.read(
            Candidates.of, 'Failed to retrieve allocation candidates from '
            'placement API for filters: '
            f'{parse.unquote(text)[:_LONGEST_QUERY]}.')

    def forget(self, instance_uuid):
        """Delete all allocations of an instance.  Raises PlacementError."""
        response = self._adapter.request('DELETE',
                                         f'/allocations/{instance_uuid}')
        if response.status not in (204, 404):
            raise RequestFailed(
                f'Failed to delete the allocations of instance '
                f'{instance_uuid}.', response)

    def aggregates_of(self, provider_uuid, context):
        """Return the aggregates of a resource provider: list of uuids.

        None if Placement cannot be reached, which is logged.
        Raises ResourceProviderAggregateRetrievalFailed for an error response,
        for example for an unknown provider.
        """
        try:
            response = self._adapter.request(
                'GET', f'/resource_providers/{provider_uuid}/aggregates',
                documents.AGGREGATES,
                RequestIdentity.of(context).request_id)
        except PlacementUnreachable:
            return None
        try:
            return response.read(
                lambda document: list(document['aggregates']),
                f'[{response.request_id}] Failed to retrieve aggregates from '
                'placement API for resource provider with UUID '
                f'{provider_uuid}.')
        except RequestFailed as exc:
            LOG.error('%s', exc)
        raise exception.ResourceProviderAggregateRetrievalFailed(
            uuid=provider_uuid)

