"""Why Placement does not offer a host, as rules of a matrix."""

import numpy as np
import pytest

from nova_sched import exception
from nova_sched.explain import host
from nova_sched.explain import offer
from nova_sched.hosts.allocation_candidates import NO_CANDIDATES
from nova_sched.placement.conditions import Condition
from nova_sched.placement.mirror.providers import Amounts
from nova_sched.rules import codes
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.placement import Placement
from tests.unit.explain.builders import a_matrix
from tests.unit.explain.builders import a_ranker
from tests.unit.explain.test_matrix import rejecting

VCPU = Condition('placement_resource', 'VCPU', 'resources', 'VCPU:4',
                 resource='VCPU', amount=4)
GOLD = Condition('placement_trait', 'trait GOLD', 'required', 'GOLD')
RECORDS = [a_host(name) for name in 'abcd']
UUIDS = hosts(*RECORDS).objects('uuid')


class Reader:
    """A ConditionReader: rows that fail, by condition; all providers have 3 of
    8 left.
    """

    def __init__(self, **failing):
        self.failing_rows, self.asked = failing, []

    def failing(self, condition, uuids):
        rows = self.failing_rows[condition.name.split()[-1]]
        if rows is None:
            raise exception.PlacementError('it is away')
        return [row in rows for row in range(len(uuids))]

    def amounts(self, condition, uuid):
        self.asked.append(uuid)
        return Amounts(8, 5)


def judged(offered=NO_CANDIDATES, **failing):
    reader = Reader(**failing)
    rules = [offer.PlacementRule(each, reader) for each in (VCPU, GOLD)]
    return a_matrix(*RECORDS, ranker=a_ranker('ComputeFilter'), offer=offered,
                    asked={'placement': rules}), reader


def test_hosts_stand_at_each_condition_that_they_fail():
    found, _ = judged(VCPU={0, 1}, GOLD={1, 2})

    assert rejecting(found) == {
        'Placement: VCPU': ['a', 'b'], 'Placement: trait GOLD': ['b', 'c'],
        'allocation candidates': ['d'], 'ComputeFilter': []}
    assert [each.code for each in found.by_rule()] == [
        'placement_resource', 'placement_trait', 'placement_not_offered',
        'service_down']


def test_offered_hosts_are_not_rejected():
    """Placement may have changed since."""
    found, _ = judged(Placement(UUIDS[:2]).candidates(), VCPU={0, 1, 2},
                      GOLD=set())

    assert rejecting(found) == {
        'Placement: VCPU': ['c'], 'allocation candidates': ['d'],
        'ComputeFilter': []}


@pytest.mark.parametrize('lacking, kind', [
    ({0, 1, 2, 3}, codes.NO_CAPACITY), ({0, 1, 2}, codes.FILTERED_OUT)])
def test_a_host_has_no_room_by_placement_s_count(lacking, kind):
    found, _ = judged(VCPU=lacking, GOLD={3})

    assert found.kind(codes.FILTERED_OUT) == kind
    assert found.kind(codes.RACED) == codes.RACED


def test_errors_of_placement_are_reported():
    found, _ = judged(VCPU=None, GOLD={0})

    assert found.errors == {'Placement: VCPU': 'it is away'}
    assert rejecting(found)['allocation candidates'] == ['b', 'c', 'd']


def test_figures_are_read_once_for_each_provider():
    found, reader = judged(VCPU={0}, GOLD=set())

    first, second = (host.verdicts(found, 0) for _ in range(2))

    assert [str(verdict) for verdict in first] == [
        'Placement: VCPU rejects it: needs 4 VCPU, has 3 VCPU left, lacks 1 '
        'VCPU']
    assert first == second
    assert reader.asked == [UUIDS[0]]


@pytest.mark.parametrize(('used', 'end'), [
    (8, '0 free'), (5, '6 free'),
    (4, '8 free: it may hold allocations of instances that are gone, see '
     'nova-manage placement audit')])
def test_placement_s_count_is_compared_with_the_hosts(used, end):
    """A host with room for all 4, by its own report, is suspicious."""
    rule = offer.PlacementRule(VCPU, Reader())
    block = a_matrix(*(a_host(name, vcpus_total=8, vcpus_used=used)
                       for name in 'ab')).hosts.block()

    assert rule.counted(block) == (
        'Placement counts 10 of 16 VCPU as used on 2 of these hosts, which '
        f'report {end}')


def test_placement_s_count_covers_the_first_hosts():
    found, reader = judged(VCPU={0, 1, 2, 3}, GOLD=set())

    assert [line for line in found.sentences() if 'counts' in line]
    assert reader.asked == list(UUIDS)
    assert offer.PlacementRule(GOLD, reader).counted(found.hosts.block()) == ''


def test_hosts_beyond_the_limit_have_words_only():
    block = a_matrix(*RECORDS).hosts.block
    rule = offer.PlacementRule(VCPU, Reader())
    rule._amounts = dict.fromkeys(map(str, range(100)), Amounts(1, 0))

    assert rule.figures(block(np.array([0])), None) == []
    assert rule.why_not(None, None) == 'it cannot provide 4 VCPU'
