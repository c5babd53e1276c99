"""Allocation candidates of a request."""


from nova_sched.hosts.allocation_candidates import NO_CANDIDATES
from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.hosts.allocation_candidates import AllocationCandidates
from nova_sched.hosts.allocation_candidates import NoCandidates
from tests.builders.hosts import a_host
from tests.builders.hosts import table

BY_PROVIDER = {'a': [{'allocations': {'a': {'resources': {'VCPU': 1}}}}],
               'b': []}


def an_offer(summaries=None):
    return AllocationCandidates(
        BY_PROVIDER, frozenset('abc'), '1.36',
        **({} if summaries is None else {'summaries': summaries}))


def test_candidates_of_a_provider_are_a_copy():
    """Plug-ins may change it."""
    made = an_offer()

    taken = made.of('a')
    taken[0]['allocations'].clear()

    assert made.of('a') == BY_PROVIDER['a'] != taken
    assert made.of('b') == made.of('unknown') == []


def test_none_have_a_reason():
    usual, other = NO_CANDIDATES, NoCandidates('too many')

    assert (usual.reason, other.reason) == (
        'Placement offers no host', 'too many')
    assert usual.providers == other.providers == frozenset()
    assert usual.of('a') == other.of('a') == []


def test_without_placement_no_host_has_any():
    state = table(a_host()).snapshot(None).state(0)

    assert PLACEMENT_NOT_USED.of('a') == state.allocation_candidates == []
    assert repr(PLACEMENT_NOT_USED) == 'PLACEMENT_NOT_USED'


def test_are_printed_as_a_number_of_providers():
    assert str(an_offer()) == '3 provider(s)'
