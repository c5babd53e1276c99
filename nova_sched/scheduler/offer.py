"""Placement for one request: what it offers, and the claims of it."""

import dataclasses
import time

from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED


@dataclasses.dataclass(eq=False)
class Offer:
    """What a driver is given of Placement.

    candidates: a value of hosts.allocation_candidates.
    claims: placement.claims.AllocationClaims for them; None where there is
        nothing to claim.
    source: scheduler.candidates.CandidateSource; None where Placement is not
        used.
    queries: list of scheduler.utils.ResourceRequest that candidates
        answer.
    context: RequestContext of the call.
    spec_obj: RequestSpec that request filters have edited.
    nodes: uuids of the compute nodes that a copy, which the candidates are
        from, was looked through for; None where they are from none.

    listed_at: before Placement was asked to list the candidates, in seconds
        of time.monotonic; None where it was not.
    listings: how often it has listed them.
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
    def is_copied(self):
        """Whether the candidates are those of a copy of Placement."""
        return self.candidates.age is not None

    def list_candidates(self, record):
        """Replace the candidates by those that Placement lists.

        record: Decision that notes the time taken, and why there are none.
        Raises NoValidHost for none, and PlacementUnavailable.
        """
        self.listed_at = time.monotonic()
        self.listings += 1
        self.nodes = None
        self.candidates, self.claims = self.source.listed(self, record)

    def include(self, nodes, record):
        """Replace the candidates of a copy by those of these compute nodes.

        nodes: their uuids, as of HostManager.refresh.
        record: Decision that notes the time taken.
        """
        with record.timed('placement'):
            self.candidates = self.source.including(nodes, self)
        self.nodes, record.offer = nodes, self.candidates

    def held(self):
        """Return the instances for which Placement may hold a claim: list."""
        return [] if self.claims is None else self.claims.held()


NO_OFFER = Offer()
