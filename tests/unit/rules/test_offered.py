"""Filters that look at allocation candidates."""

import pytest

from nova_sched.hardware.pci.requests import DeviceRequests
from nova_sched.rules import offered
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_stats
from tests.builders.placement import Placement
from tests.builders.placement import an_allocation_request

REQUESTS = DeviceRequests([a_pci_request(1)])


class Judge:
    """Accepts candidates by the provider of the first device."""

    def __init__(self, *good):
        self.good, self.asked = good, []

    def __call__(self, values, mappings):
        self.asked.append((values, mappings))
        return [(mapping or {}).get('nic-id-0', [None])[0] in self.good
                for mapping in mappings]


def offering(**offers):
    """Hosts a, b ... with the providers of their candidates."""
    block = hosts(*(a_host(name, uuid=name) for name in offers))
    block.snapshot.offer = Placement({
        name: [an_allocation_request(name, **{'nic-id-0': [provider]})
               for provider in providers]
        for name, providers in offers.items()}).candidates()
    return block


def narrow(block, judge):
    return offered.narrow('AFilter', block, ['pci_stats'], REQUESTS,
                          judge).tolist()


def left(block):
    return [[candidate['mappings']['nic-id-0'][0]
             for candidate in state.allocation_candidates]
            for state in block.states()]


def test_accepted_candidates_keep_their_order():
    block = offering(a=['p1', 'p2', 'p3'], b=['p4'], c=[])

    assert narrow(block, Judge('p3', 'p1')) == [True, False, False]
    assert left(block) == [['p1', 'p3'], [], []]


def test_later_filters_see_accepted_candidates_only():
    block = offering(a=['p1', 'p2'])
    narrow(block, Judge('p2'))

    judge = Judge('p1', 'p2')
    narrow(block, judge)

    (_, mappings), = judge.asked
    assert [mapping['nic-id-0'] for mapping in mappings] == [['p2']]


def test_equal_hosts_are_judged_once():
    """Equal columns, and equal providers of devices."""
    block = offering(a=['p1'], b=['p1'], c=['p2'])
    judge = Judge('p1')

    assert narrow(block, judge) == [True, True, False]
    assert len(judge.asked) == 2


def test_candidates_of_an_old_placement_have_no_mappings():
    block = hosts(a_host('a', uuid='a', pci_stats=None))
    block.snapshot.offer = Placement(
        {'a': [{'allocations': {'a': {}}}]}).candidates()
    judge = Judge(None)

    assert narrow(block, judge) == [True]
    assert judge.asked == [((None,), [{}])]


@pytest.mark.parametrize(('good', 'expected'), [
    ([None], [True] * 3), ([], [False] * 3)])
def test_without_placement_a_host_is_judged_once_without_a_candidate(
        good, expected):
    stats = pci_stats(a_pool())
    block = hosts(a_host(pci_stats=stats), a_host(pci_stats=stats), a_host())
    judge = Judge(*good)

    assert narrow(block, judge) == expected
    assert [mappings for _, mappings in judge.asked] == [[None], [None]]
    assert all(state.allocation_candidates == []
               for state in block.states())


def test_logs_each_candidate(caplog):
    block = offering(a=['p1', 'p2'])

    with caplog.at_level('DEBUG', 'nova_sched'):
        narrow(block, Judge('p1'))

    assert [text.partition(':')[0] for text in caplog.messages] == [
        'AFilter tries allocation candidate',
        'AFilter accepted allocation candidate',
        'AFilter tries allocation candidate',
        'AFilter rejected allocation candidate']


class WithNic(offered.CandidateFilterMixin):
    """Accepts candidates with the first device from p1."""

    def good(self, host_state):
        return self.filter_candidates(
            host_state, lambda candidate: candidate['mappings'].get(
                'nic-id-0') == ['p1'])


def test_a_plug_in_may_filter_candidates():
    state, = offering(a=['p1', 'p2']).states()
    first, _ = state.allocation_candidates

    assert WithNic().good(state) == [first]
    assert state.allocation_candidates == [first]
    other, = offering(a=['p2']).states()
    assert WithNic().good(other) == other.allocation_candidates == []


@pytest.mark.parametrize('good', [True, False])
def test_a_plug_in_is_called_once_without_placement(good):
    """With an empty candidate."""
    state, = hosts(a_host()).states()
    asked = []

    found = WithNic().filter_candidates(
        state, lambda candidate: asked.append(candidate) or good)

    assert asked == [{'allocations': {}, 'mappings': {}}]
    assert found == asked * good
    assert state.allocation_candidates == []
