"""Read-only access to Placement for dry runs."""

import contextlib
import dataclasses

from nova_sched import exception
from nova_sched import service_adapter
from nova_sched.dry_run.mirror_comparison import compare_mirror
from nova_sched.hosts.decision import Packed
from nova_sched.placement import adapter
from nova_sched.placement import documents
from nova_sched.placement.mirror import mirror
from nova_sched.scheduler.client import report

_BAD_REQUEST = 400

#: Microversion of the requests for allocations; any that Nova uses will do.
_VERSION = '1.17'


class WriteAttempted(exception.NovaSchedException):
    """A dry run tried to change Placement: a programming error."""


class ClientStopped(adapter.PlacementUnreachable):
    """A request to Placement after ``ReadOnlyPlacement.stop``."""

    def __init__(self):
        exception.PlacementError.__init__(
            self, 'This process is stopping and sends no more requests.')
        self.reason = service_adapter.FailureReason.NO_ANSWER


class ReadOnlyPlacement(adapter.PlacementAdapter):
    """A connection to Placement that sends GET requests only."""

    _stopped = False

    def stop(self):
        """Make each further request raise ClientStopped."""
        self._stopped = True

    def request(self, method, path, *args, **kwargs):
        """See PlacementAdapter.request.

        Raises WriteAttempted for any method but GET.
        """
        if method != 'GET':
            raise WriteAttempted(f'{method} {path} attempted during a dry run')
        if self._stopped:
            raise ClientStopped
        return super().request(method, path, *args, **kwargs)

    def consumer_allocations(self, consumer):
        """Return a consumer's allocations: provider -> class -> amount.

        Raises PlacementError.
        """
        return self._read(f'/allocations/{consumer}', _amounts)

    def provider_allocations(self, provider):
        """Return a provider's allocations: consumer -> class -> amount.

        Raises PlacementError.
        """
        return self._read(f'/resource_providers/{provider}/allocations',
                          _amounts)

    def root_provider(self, provider):
        """Return the uuid of the root of a provider's tree.

        Raises PlacementError.
        """
        return self._read(f'/resource_providers/{provider}',
                          lambda document: document['root_provider_uuid'])

    def _read(self, path, read):
        """Return the JSON document at a path, converted by ``read``."""
        return self.request('GET', path, _VERSION).read(
            read, f'Unexpected response from Placement to GET {path}.')


def _amounts(document):
    return documents.amounts(document['allocations'])


@dataclasses.dataclass
class Listing:
    """Placement's responses for one scheduling request.

    usages: provider uuid -> resource class -> amount in use.
    free: (provider uuid, resource class) -> amount.
    max_candidates: largest number of candidates in one response; None without
        a response.
    is_answered: False if Placement did not respond to a query.
    mirror: result of ``compare_mirror``; None if there is no mirror of
        Placement, or it does not support the query.
    """

    usages: dict = dataclasses.field(default_factory=dict)
    free: dict = dataclasses.field(default_factory=dict)
    max_candidates: int | None = None
    is_answered: bool = True
    mirror: dict | None = None

    def add(self, candidates):
        """Add the placement.documents.Candidates of one response.

        Malformed summaries are ignored.
        """
        self.max_candidates = max(self.max_candidates or 0,
                                  len(candidates.requests))
        for uuid, summary in candidates.summaries.items():
            with contextlib.suppress(KeyError, TypeError, AttributeError):
                amounts = summary['resources'].items()
                self.usages[uuid] = {
                    name: amount['used'] for name, amount in amounts}
                self.free |= {
                    (uuid, name): amount['capacity'] - amount['used']
                    for name, amount in amounts}

    def pack(self):
        """Compress the usages, and drop the free amounts."""
        self.usages, self.free = Packed(self.usages), {}


class ReadOnlyReportClient(report.SchedulerReportClient):
    """A Placement client that fetches candidates and sends no claims.

    A claim succeeds if there is room, without a request to Placement. All
    candidates come from Placement's listing; the mirror of Placement is only
    compared with it.

    conf: ConfigOpts.
    is_strict: whether to raise an error if Placement does not respond;
        otherwise there are no candidates then, as in the service.

    placement: ReadOnlyPlacement.
    listing: Listing of the current request.
    """

    def __init__(self, conf, is_strict=False):
        self.placement = ReadOnlyPlacement(conf)
        super().__init__(conf, self.placement)
        self._conf, self._is_strict = conf, is_strict
        self.listing = Listing()

    def mirrored(self, freed, responses=None, count_claims=None):
        """See SchedulerReportClient.mirrored."""
        # A separate connection that ``stop`` does not affect: the mirror would
        # log a warning for each failed query.
        self._mirror = mirror.PlacementMirror(
            ReadOnlyPlacement(self._conf), freed, responses)
        return self._mirror

    def mirror_candidates(self, queries):
        """Return None, so that Placement lists the candidates."""

    def candidates(self, queries, context):
        """See SchedulerReportClient.candidates."""
        mirrored = None
        try:
            mirrored = super().mirror_candidates(queries)
            listed = super().candidates(queries, context)
        except exception.PlacementUnavailable as exc:
            listed = self.without_answer(exc)
        self.listing.mirror = mirrored and compare_mirror(
            mirrored, listed, self._conf.scheduler.max_placement_results)
        return listed

    def counts_room(self, queries, context):
        """See SchedulerReportClient.counts_room."""
        listing, self.listing = self.listing, Listing()
        try:
            return super().counts_room(queries, context)
        finally:
            self.listing = listing

    def without_answer(self, error):
        """See SchedulerReportClient.without_answer.

        With ``is_strict`` it raises the error, unless Placement refuses the
        query as malformed.
        """
        if isinstance(error, (exception.PlacementUnavailable,
                              adapter.PlacementUnreachable)):
            self.listing.is_answered = False
        if self._is_strict and getattr(
                error, 'status', None) != _BAD_REQUEST:
            raise error
        return super().without_answer(error)

    def _list(self, text, version, context):
        """See SchedulerReportClient._list."""
        listed = super()._list(text, version, context)
        self.listing.add(listed)
        return listed

    def claims(self, candidates, context):
        """Return claims that are not sent."""
        return _UnsentClaims(self.listing.free)

    def claim_resources(self, *args, **kwargs):
        """Return True, as if a plug-in's claim or release had succeeded."""
        return True

    delete_allocation_for_instance = claim_resources

    def forget(self, instance_uuid):
        """Do nothing, as nothing was claimed."""


class _UnsentClaims:
    """Claims of one request that are granted if there is room.

    free: see Listing; resources that are missing in it are unlimited.
    """

    #: Claims cannot be combined; see AllocationClaims.
    has_generations, writes = False, ()

    def __init__(self, free):
        self._free, self._held = dict(free), {}

    def claim(self, instance_uuid, request, spec_obj):
        """Return whether there is room for an allocation request."""
        amounts = {
            (uuid, name): amount for uuid, resources
            in documents.amounts(request['allocations']).items()
            for name, amount in resources.items() if (uuid, name)
            in self._free}
        if any(amount > self._free[key] for key, amount in amounts.items()):
            return False
        self._held[instance_uuid] = amounts
        for key, amount in amounts.items():
            self._free[key] -= amount
        return True

    def release(self, instance_uuid):
        """Release an instance's claimed amounts."""
        for key, amount in self._held.pop(instance_uuid, {}).items():
            self._free[key] += amount

    def held(self):
        """Return the instances with a claim: list."""
        return list(self._held)

    def release_all(self, instance_uuids):
        """Return no instance, so that each is released separately."""
        return ()
