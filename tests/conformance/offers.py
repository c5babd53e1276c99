"""What Placement offers in a case of filters, and what is left of it."""

from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.hosts.allocation_candidates import AllocationCandidates


def offered(case, uuids):
    """What Placement offers in a case: a value of hosts.allocation_candidates.

    uuids: of all compute nodes, None for one that has none.
    """
    found = case.get('candidates')
    if found is None:
        return PLACEMENT_NOT_USED
    if found == 'one-per-host':
        found = {uuid: [_whole_host(uuid)] for uuid in uuids}
    return AllocationCandidates(
        by_provider=found, providers=frozenset(found), version='1.39')


def _whole_host(uuid):
    return {'allocations': {uuid: {'resources': {}}},
            'mappings': {'': [uuid]}}


def left(state):
    """Which candidates are left on a host, as indexes: list."""
    remaining, indexes = list(state.allocation_candidates), []
    for index, candidate in enumerate(
            state.block().snapshot.offer.of(state.uuid)):
        if remaining and candidate == remaining[0]:
            del remaining[0]
            indexes.append(index)
    return indexes
