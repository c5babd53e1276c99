"""Selections made of picks."""

import collections

import pytest

from nova_sched.hosts.snapshot import HostSnapshot
from nova_sched.scheduler import selections
from nova_sched.scheduler.claims import ClaimedHost
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts


class Counting(HostSnapshot):
    """Hosts that count reads of their cells."""

    def __init__(self, like):
        super().__init__(like.table, like.instances)
        self.reads = collections.Counter()

    def value(self, name, row):
        self.reads[name, row] += 1
        return super().value(name, row)


@pytest.fixture
def snapshot():
    return Counting(hosts(
        a_host('a'), a_host('b', aggregates=[{'availability_zone': 'z'}]),
        a_host('c')).snapshot)


def answered(snapshot):
    """For 20 instances, half on a and half on b, with c as alternate."""
    others = [selections.Chosen(snapshot, ClaimedHost(2), {'memory_mb': 3})]
    picked = [selections.Chosen(snapshot, ClaimedHost(n % 2),
                                {'memory_mb': n}) for n in range(20)]
    return selections.of(picked, [others] * 20, 'default')


def test_each_host_is_read_once_for_any_number_of_instances(snapshot):
    answered(snapshot)

    assert {*snapshot.reads.values()} == {1}
    assert {row for _, row in snapshot.reads} == {0, 1, 2}


def test_each_selection_has_its_own_host_zone_and_limits(snapshot):
    shown = [[(one.service_host, one.availability_zone, one.limits.memory_mb)
             for one in selections] for selections in answered(snapshot)]

    assert shown[:2] == [[('a', 'default', 0), ('c', 'default', 3)],
                        [('b', 'z', 1), ('c', 'default', 3)]]
    assert shown[19] == [('b', 'z', 19), ('c', 'default', 3)]


def test_selections_are_independent(snapshot):
    first, *others = answered(snapshot)

    for selection in first:
        selection.service_host = 'changed'
        selection.limits.memory_mb = 99
        selection.limits.other['more'] = 1

    for other in others:
        for selection in other:
            assert selection.service_host != 'changed'
            assert selection.limits.memory_mb != 99
            assert selection.limits.other == {}
