"""The client of Placement: allocation candidates, and claiming them."""

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

#: Why there is no answer where there might have been one later.
_TOO_LATE = (FailureReason.TOO_LATE, FailureReason.KEYSTONE_TOO_LATE)

#: Characters of a query that a log line shows.
_LONGEST_QUERY = 1000


class SchedulerReportClient:
    """A client of the Placement that [placement] leads to.

    conf: ConfigOpts. Nothing is opened before the first request, and each
    process opens its own; safe for any number of threads.
    adapter: in place of a PlacementAdapter of its own.

    A Placement that cannot be reached, or whose answer cannot be used, is no
    exception: nothing is offered then, for a reason that is logged.
    """

    #: Whether offers have Placement's summaries of providers, which a driver
    #: that does not look at them should not have to keep in memory.
    keeps_summaries = False

    def __init__(self, conf, adapter=None):
        self._adapter = adapter or PlacementAdapter(conf)
        self._mirror, self._listings = None, SingleFlight()
        self._batches = ClaimBatches()

    @property
    def contact(self):
        """The remote.Contact with Placement."""
        return self._adapter.contact

    def mirrored(self, freed, answers=None, count_claims=None):
        """Return a new PlacementMirror, which ``copied_candidates`` asks.

        freed, answers: as of placement.mirror.upkeep.Upkeep.
        count_claims: function that has claims under way count in Providers.
        """
        self._mirror = PlacementMirror(self._adapter, freed, answers)
        if count_claims is not None:
            count_claims(self._mirror.providers)
        return self._mirror

    def copied_candidates(self, queries):
        """Return AllocationCandidates from the copy.

        None if Placement is to be asked.
        queries: as of ``candidates``.
        Raises PlacementUnavailable as ``candidates`` does.
        """
        if self._mirror is None:
            return None
        try:
            version = self._version(queries)
        except exception.PlacementError as exc:
            # To ask once more would take as long.
            self._check_in_time(exc)
            return None
        found = (self._mirror.candidates(queries) if documents.at_least(
            version, documents.CLAIMS) else None)
        if found is None:
            return None
        return AllocationCandidates(
            found, frozenset(found), documents.CLAIMS,
            age=self._mirror.age or 0.0)

    def claims(self, candidates, context):
        """Return the AllocationClaims of one request.

        candidates: AllocationCandidates.  context: as of ``candidates``.
        """
        return AllocationClaims(self._adapter, candidates.version,
                                RequestIdentity.of(context), self._batches)

    def doubt(self, providers):
        """Have the copy read providers, uuids, again."""
        if self._mirror is not None:
            self._mirror.doubt(providers)

    def candidates(self, queries, context):
        """Return what Placement offers: AllocationCandidates, NoCandidates.

        queries: one or two objects with ``minimum_version()``, one of
            documents.FORMS, ``query(version)``, a query string, and the
            ``limit`` that it has. What the second finds comes behind what the
            first finds.
        context: of the request; its ids and its user are used, but the token
            is that of the service.
        Raises PlacementUnavailable if there is no answer in time, of
            Placement or of Keystone.
        """
        try:
            found, version = self._fetch_candidates(
                queries, context, private=self.keeps_summaries)
        except PlacementUnreachable as exc:
            self._check_in_time(exc)
            return self.without_answer(exc)
        except exception.PlacementError as exc:
            error = exc
        else:
            return (self._listed(found, version, queries[0].limit)
                    if found.by_provider else NO_CANDIDATES)
        LOG.error('%s', error)
        return self.without_answer(error)

    def counts_room(self, queries, context):
        """Return whether any provider has room for the amounts of queries,
        whatever else they ask for: bool; None where Placement does not tell.

        queries, context: as of ``candidates``.
        """
        try:
            found, _ = self._fetch_candidates(
                [query.amounts_alone() for query in queries], context,
                private=False)
        except (exception.PlacementError,
                exception.PlacementUnavailable) as error:
            LOG.debug('Placement does not tell what it counts: %s', error)
            return None
        return bool(found.by_provider)

    def _check_in_time(self, error):
        """Raise PlacementUnavailable for an answer that is late."""
        if getattr(error, 'reason', None) in _TOO_LATE:
            raise exception.PlacementUnavailable(
                str(error), 'Placement did not answer in time, within '
                f'{self._adapter.timeout:g} seconds') from error

    def without_answer(self, error):
        """Return what is offered without an answer to go by: NoCandidates.

        error: the PlacementError that says why.
        """
        return NoCandidates(str(error))

    def _listed(self, found, version, limit):
        """Return AllocationCandidates of a list of Placement.

        found: placement.documents.Candidates.
        limit: most candidates that an answer may have; None for any number.
        """
        return AllocationCandidates(
            found.by_provider, frozenset(found.providers), version,
            summaries=found.summaries if self.keeps_summaries else None,
            cut_at=limit if limit and found.longest >= limit else None)

    def _version(self, queries):
        """Return the microversion for all of the queries.

        Raises PlacementError.
        """
        return self._adapter.microversions().for_query(max(
            (query.minimum_version() for query in queries),
            key=documents.FORMS.index))

    def _fetch_candidates(self, queries, context, private, again=True):
        """Return Candidates, and the microversion to claim them in.

        queries, context: as of ``candidates``.
        private: whether somebody may change what is returned; otherwise other
            requests may be given it, too.
        Raises PlacementError.
        """
        version, found, failed = self._version(queries), Candidates(), None
        for query in queries:
            text = query.query(version)
            try:
                # A key of its own is shared with nobody.
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
                found = found.before(listed) if found.providers else listed
                continue
            if failed.status == 406 and again:
                # Placement was replaced since it was asked for its versions.
                return self._fetch_candidates(queries, context, private,
                                              again=False)
            if len(queries) == 1:
                raise failed
        if failed is not None:
            # A Placement of before Train knows no dedicated CPUs, but what is
            # asked for in their place.
            LOG.warning('%s', failed)
            if not found.by_provider:
                raise failed
        if documents.at_least(version, documents.CLAIMS):
            version = documents.CLAIMS
        return found, version

    def _list(self, text, version, context):
        """Ask for candidates; return Candidates.  Raises PlacementError."""
        response = self._adapter.request(
            'GET', f'/allocation_candidates?{text}', version,
            RequestIdentity.of(context).request_id)
        return response.read(
            Candidates.of, 'Failed to retrieve allocation candidates from '
            'placement API for filters: '
            f'{parse.unquote(text)[:_LONGEST_QUERY]}.')

    def forget(self, instance_uuid):
        """Delete all that an instance holds.  Raises PlacementError."""
        response = self._adapter.request('DELETE',
                                         f'/allocations/{instance_uuid}')
        if response.status not in (204, 404):
            raise RequestFailed(
                f'The allocations of instance {instance_uuid} are not given '
                f'back.', response)

    def aggregates_of(self, provider_uuid, context):
        """Return the aggregates of a resource provider: list of uuids.

        None when Placement cannot be reached, which is logged.
        Raises ResourceProviderAggregateRetrievalFailed when it refuses, for
        example for a provider that it does not know.
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

