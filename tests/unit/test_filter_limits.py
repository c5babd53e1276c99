"""Limits that filters pass on to the compute node with an instance."""

import pytest

from nova_sched import filters
from nova_sched.hosts.decision import Decision
from nova_sched.rules import limits
from nova_sched.scheduler.filters.core_filter import CoreFilter
from nova_sched.scheduler.filters.ram_filter import AggregateRamFilter
from nova_sched.scheduler.filters.ram_filter import RamFilter
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured

REBUILD = {'hints': {'_nova_check_type': ['rebuild']}}


def judged(*classes, index=0, block=None, **fields):
    """A snapshot of two hosts after these filters have run."""
    block = block or hosts(a_host(total_usable_ram_mb=1000,
                                  ram_allocation_ratio=1.0), a_host())
    filters.run(
        [configured(cls) for cls in classes], block, a_request(**fields),
        index, Decision())
    return block.snapshot


class Strict(RamFilter):
    """Runs for rebuilds, too."""

    RUN_ON_REBUILD = True


def test_are_none_before_a_filter_runs():
    assert limits.of_row(hosts(a_host()).snapshot, 0) == {}


def test_are_those_of_all_filters():
    snapshot = judged(RamFilter, CoreFilter)

    assert [limits.of_row(snapshot, row) for row in (0, 1)] == [
        {'memory_mb': 1000, 'vcpu': 256}, {'memory_mb': 49152, 'vcpu': 256}]


def test_the_later_of_two_filters_counts():
    block = hosts(a_host(aggregates=[{'ram_allocation_ratio': '2'}]))

    assert limits.of_row(
        judged(RamFilter, AggregateRamFilter, block=block), 0) == {
            'memory_mb': 65536}


@pytest.mark.parametrize('ratio', ['1e300', '1e15', 'inf', '-1e300'])
def test_beyond_64_bits_are_left_out(ratio):
    block = hosts(a_host(total_usable_ram_mb=100000,
                         aggregates=[{'ram_allocation_ratio': ratio}]))

    assert limits.of_row(judged(AggregateRamFilter, block=block), 0) == {}


def test_include_those_for_earlier_instances():
    block = hosts(a_host())
    judged(RamFilter, block=block)

    assert limits.of_row(judged(CoreFilter, index=1, block=block), 0) == {
        'memory_mb': 49152, 'vcpu': 256}


@pytest.mark.parametrize(('cls', 'found'), [
    (RamFilter, {}), (Strict, {'memory_mb': 1000})])
def test_are_not_set_by_filters_that_do_not_run(cls, found):
    assert limits.of_row(judged(cls, **REBUILD), 0) == found


def test_set_by_plug_ins_take_precedence():
    snapshot = judged(RamFilter)
    snapshot.state(1).limits['memory_mb'] = 5

    assert [limits.of_row(snapshot, row)['memory_mb']
            for row in (0, 1)] == [1000, 5]
    assert limits.of_row(snapshot, 1) is not snapshot.state(1).limits
