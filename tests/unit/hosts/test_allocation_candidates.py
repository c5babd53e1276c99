"""What Placement offers one request."""

import dataclasses

import pytest

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


def test_gives_each_provider_a_copy_of_its_own():
    """A plug-in may change it as it likes."""
    made = an_offer()

    taken = made.of('a')
    taken[0]['allocations'].clear()

    assert made.of('a') == BY_PROVIDER['a'] != taken
    assert made.of('b') == made.of('unknown') == []


@pytest.mark.parametrize('made, asked', [
    (an_offer(), True),
    (NO_CANDIDATES, True), (PLACEMENT_NOT_USED, False)],
    ids=['found', 'nothing', 'not asked'])
def test_tells_whether_placement_was_asked(made, asked):
    assert made.asked is asked


def test_of_nothing_has_no_providers_but_a_reason():
    usual, other = NO_CANDIDATES, NoCandidates('too many')

    assert (usual.reason, other.reason) == (
        'Placement offers no host', 'too many')
    assert usual.providers == other.providers == frozenset()
    assert usual.of('a') == other.of('a') == []


def test_that_was_not_asked_for_is_none_of_any_host():
    state = table(a_host()).snapshot(None).state(0)

    assert PLACEMENT_NOT_USED.of('a') == state.allocation_candidates == []
    assert repr(PLACEMENT_NOT_USED) == 'PLACEMENT_NOT_USED'


def test_is_told_by_its_number_of_providers():
    assert str(an_offer()) == '3 provider(s)'


def test_has_summaries_only_where_they_are_wanted():
    assert an_offer().summaries is None
    assert an_offer({'a': {}}).summaries == {'a': {}}


def test_is_changed_by_nobody():
    """Requests, and records of them, share it."""
    for made, name in ((an_offer(), 'version'),
                       (NoCandidates(), 'reason')):
        assert made.of('x') == [] if name == 'reason' else made.providers
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, name, 'other')
