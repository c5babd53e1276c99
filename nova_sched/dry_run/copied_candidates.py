"""How far a copy of Placement agrees with what Placement lists."""

from nova_sched.hosts.allocation_candidates import NO_CANDIDATES
from nova_sched.hosts.allocation_candidates import NoCandidates

#: How far the two agree: what the copy lacks comes before what it adds.
SAME, FEWER, MORE, OTHERS = (
    'same candidates', 'lacks some', 'has more', 'lacks some, has others')
#: Providers that are named of each kind.
_EXAMPLES = 3


def compare_copy(copied, listed, limit):
    """Compare a copy with a listing for one request: a dict of plain JSON.

    None if Placement did not answer.
    copied: AllocationCandidates.  listed: the same, or NoCandidates.
    limit: maximum number of candidates that Placement lists; what a full
        listing lacks says nothing.
    """
    if isinstance(listed, NoCandidates) and listed != NO_CANDIDATES:
        return None
    offered = set(getattr(listed, 'by_provider', ()))
    known = set(copied.by_provider)
    lacking = sorted(offered - known)
    others = sorted(known - offered) if len(offered) < limit else []
    return {
        'verdict': (SAME, FEWER, MORE, OTHERS)[bool(lacking) + 2 * bool(
            others)],
        'age': round(copied.age, 3), 'both': len(offered & known),
        'only_listed': len(lacking), 'only_copied': len(others),
        'examples': [*lacking[:_EXAMPLES], *others[:_EXAMPLES]]}
