"""What a copy of Placement offers a request, beside what Placement lists."""

import dataclasses

from nova_sched.hosts.allocation_candidates import NO_CANDIDATES
from nova_sched.hosts.allocation_candidates import NoCandidates

#: How far the two agree.
SAME, FEWER, MORE, OTHERS = (
    'same candidates', 'lacks some', 'has more', 'lacks some, has others')
#: Providers that are named of each kind.
_EXAMPLES = 3


@dataclasses.dataclass(frozen=True)
class CopyComparison:
    """How far a copy agrees with Placement's listing for one request.

    age: of the copy, in seconds.  both: number of providers that both offer.
    only_listed, only_copied: uuids of providers that only one of them offers.
    """

    age: float
    both: int
    only_listed: tuple = ()
    only_copied: tuple = ()

    @property
    def verdict(self):
        """One of SAME, FEWER, MORE, OTHERS."""
        return {(False, False): SAME, (True, False): FEWER,
                (False, True): MORE, (True, True): OTHERS}[
                    bool(self.only_listed), bool(self.only_copied)]

    def entry(self):
        """Return it as a dict of plain JSON."""
        return {'verdict': self.verdict, 'age': round(self.age, 3),
                'both': self.both, 'only_listed': len(self.only_listed),
                'only_copied': len(self.only_copied),
                'examples': [*self.only_listed[:_EXAMPLES],
                             *self.only_copied[:_EXAMPLES]]}


def compare_copy(copied, listed, limit):
    """Compare a copy with a listing: CopyComparison.

    None if Placement has not told.
    copied: AllocationCandidates.  listed: the same, or NoCandidates.
    limit: most candidates that Placement lists; what a full listing lacks
        tells nothing.
    """
    if isinstance(listed, NoCandidates) and listed != NO_CANDIDATES:
        return None
    offered = set(getattr(listed, 'by_provider', ()))
    known = set(copied.by_provider)
    return CopyComparison(
        copied.age, len(offered & known), tuple(sorted(offered - known)),
        tuple(sorted(known - offered)) if len(offered) < limit else ())
