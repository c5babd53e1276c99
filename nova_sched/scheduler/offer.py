"""Placement's candidates for one request, and its claims."""

import dataclasses
import time

from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED


@dataclasses.dataclass(eq=False)
class Offer:
    """The candidates of one request and the means to claim and renew them.

    candidates: a value of hosts.allocation_candidates.
    claims: placement.claims.AllocationClaims for the candidates; None if
        nothing is to be claimed.
    source: scheduler.candidates.CandidateSource; None if Placement is not
        used.
    queries: list of scheduler.utils.ResourceRequest, which the candidates
        satisfy.
    context: RequestContext of the call.
    spec_obj: RequestSpec, edited by the request filters.
    nodes: uuids of the compute nodes that the mirror had when it returned the
        candidates; None if Placement listed them.

    listed_at: time.monotonic before Placement listed the candidates; None if
        it did not.
    listings: number of listings.
    """

    candidates: object = PLACEMENT_NOT_USED
    claims: object = None
    source: object = None
    queries: list = ()
    context: object = None
    spec_obj: object = None
    nodes: object = None
    listed_at: float | None = None
    listings: int = 0

    @property
    def is_mirrored(self):
        """Whether the candidates are from the mirror."""
        return self.candidates.age is not None

    def list_candidates(self, record):
        """Replace the candidates by a new listing of Placement.

        record: Decision to record the time and a refusal in.
        Raises NoValidHost without candidates, and PlacementUnavailable.
        """
        self.listed_at = time.monotonic()
        self.listings += 1
        self.nodes = None
        self.candidates, self.claims = self.source.listed(self, record)

    def held(self):
        """Return the instances that may have a claim in Placement: list."""
        return [] if self.claims is None else self.claims.held()


NO_OFFER = Offer()
