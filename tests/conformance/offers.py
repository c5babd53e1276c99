"""Placement's candidates in a case of filters, and the remaining ones."""

from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.hosts.allocation_candidates import AllocationCandidates


def offered(case, uuids):
    """The candidates of a case: a value of hosts.allocation_candidates.

    uuids: of all compute nodes, None for nodes without a uuid.
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
    """Indexes of the remaining candidates of a host: list."""
    remaining, indexes = list(state.allocation_candidates), []
    for index, candidate in enumerate(
            state.block().snapshot.offer.of(state.uuid)):
        if remaining and candidate == remaining[0]:
            del remaining[0]
            indexes.append(index)
    return indexes
