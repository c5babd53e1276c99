"""Placement for one request: what it offers, and the claims of it."""

import dataclasses

from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED


@dataclasses.dataclass(eq=False)
class Offer:
    """What a driver is given of Placement.

    candidates: a value of hosts.allocation_candidates.
    claims: placement.claims.AllocationClaims for them; None where there is
        nothing to claim.
    request: scheduler.candidates.CandidateRequest that they answer, or None.
    """

    candidates: object = PLACEMENT_NOT_USED
    claims: object = None
    request: object = None

    @property
    def is_copied(self):
        """Whether the candidates are those of a copy of Placement."""
        return self.candidates.age is not None

    def list_candidates(self, record):
        """Replace candidates of a copy by those that Placement lists.

        record: Decision that notes the time taken, and why there are none.
        Raises NoValidHost for none, and PlacementUnavailable.
        """
        self.candidates, self.claims = self.request.listed(record)

    def doubt(self, providers):
        """Have the copy read providers again: Placement has refused a claim.

        providers: uuids.
        """
        self.request.doubt(providers)


NO_OFFER = Offer()
