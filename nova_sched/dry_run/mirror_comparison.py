"""Comparison of the mirror of Placement with Placement's own listing."""

from nova_sched.hosts.allocation_candidates import NO_CANDIDATES
from nova_sched.hosts.allocation_candidates import NoCandidates

#: Verdicts. A missing candidate is named before an additional one.
SAME, FEWER, MORE, OTHERS = (
    'same candidates', 'lacks some', 'has more', 'lacks some, has others')
#: Maximum number of example providers of each kind.
_EXAMPLES = 3


def compare_mirror(mirrored, listed, limit):
    """Compare the mirror with a listing for one request: dict of plain JSON.

    Returns None if Placement did not answer.
    mirrored: AllocationCandidates.  listed: the same, or NoCandidates.
    limit: maximum number of candidates that Placement lists. A full listing
        is truncated, so providers that only the mirror has are not counted.
    """
    if isinstance(listed, NoCandidates) and listed != NO_CANDIDATES:
        return None
    offered = set(getattr(listed, 'by_provider', ()))
    known = set(mirrored.by_provider)
    missing = sorted(offered - known)
    additional = sorted(known - offered) if len(offered) < limit else []
    return {
        'verdict': (SAME, FEWER, MORE, OTHERS)[
            bool(missing) + 2 * bool(additional)],
        'age': round(mirrored.age, 3), 'both': len(offered & known),
        'only_listed': len(missing), 'only_copied': len(additional),
        'examples': [*missing[:_EXAMPLES], *additional[:_EXAMPLES]]}
