"""RamFilter and AggregateRamFilter."""

import pytest

from nova_sched.scheduler.filters.ram_filter import AggregateRamFilter
from nova_sched.scheduler.filters.ram_filter import RamFilter
from tests.builders.hosts import NEVER_REPORTED
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import survivors


def ram(total, free, ratio, **values):
    return a_host(total_usable_ram_mb=total, free_ram_mb=free,
                  ram_allocation_ratio=ratio, **values)


@pytest.mark.parametrize(('total', 'free', 'ratio', 'needed', 'passes'), [
    (8192, 1000, 1.5, 4096, True),
    (8192, 1000, 1.5, 5096, True),
    (8192, 1000, 1.5, 5097, False),
    (8192, 1000, 1.5, 6000, False),
    (8192, 1000, 2.0, 9000, False),
    (8192, 8192, 2.0, 8192, True),
    (4096, -2048, 1.75, 1024, True),
    (4096, -2048, 1.75, 1025, False),
    (4096, 4096, 0.5, 2048, True),
    (4096, 4096, 0.5, 2049, False),
    (4096, 4096, float('inf'), 4096, True),
    (4096, 4096, float('nan'), 1, False),
])
def test_overcommits_only_against_other_instances(total, free, ratio, needed,
                                                  passes):
    """What is left of total * ratio must hold it, and the total alone too."""
    block = hosts(ram(total, free, ratio))

    assert RamFilter().mask(block, a_request(memory_mb=needed)) == [passes]


def test_a_host_that_never_reported_has_no_memory():
    block = hosts(a_host(**NEVER_REPORTED))

    assert RamFilter().mask(block, a_request(memory_mb=1)) == [False]


def test_limits_the_host_to_its_overcommitted_memory():
    """The limit is a whole number of MiB, cut off."""
    block = hosts(ram(8193, 1000, 1.5))

    limits = RamFilter().limits(block, a_request())

    assert limits == {'memory_mb': 12289}
    assert type(limits['memory_mb']) is int


@pytest.mark.parametrize(('block', 'needed', 'words'), [
    (hosts(ram(49152, 40960, 1.5), ram(65536, 4096, 1.0)), 65536,
     'need 65536 MB, most free 4096 MB'),
    (hosts(ram(65536, 40960, 1.0), ram(131072, 4096, 1.5)), 131072,
     'need 131072 MB, most free 69632 MB'),
    (hosts(ram(32768, 32768, 4.0), ram(16384, 0, 1.0)), 65536,
     'need 65536 MB, largest host 32768 MB'),
])
def test_says_how_much_is_needed_and_how_much_there_is(block, needed, words):
    """Free memory counts only on hosts that are large enough as such."""
    assert RamFilter().reason(block, a_request(memory_mb=needed)) == words


def test_logs_what_operators_search_for(caplog):
    block = hosts(ram(8192, 1000, 1.5), ram(4096, 4096, 1.0))

    with caplog.at_level('DEBUG', 'nova_sched'):
        RamFilter().mask(block, a_request(memory_mb=6000))

    small, full = caplog.messages
    assert small.endswith('does not have 6000 MB usable ram before '
                          'overcommit, it only has 4096 MB.')
    assert full.endswith('does not have 6000 MB usable ram, it only has '
                         '5096.0 MB usable ram.')


@pytest.mark.parametrize(('values', 'limits'), [
    ([], {'memory_mb': 12288}),
    (['2.0'], {'memory_mb': 16384}),
    (['2.0', ' 1.25 '], {'memory_mb': 10240}),
    (['2.0', 'bad'], {'memory_mb': 12288}),
    (['1,5'], {'memory_mb': 12288}),
    (['1e1'], {'memory_mb': 81920}),
    (['inf'], {}),
])
def test_aggregates_may_set_the_ratio(values, limits):
    """The smallest counts; one that is no number spoils them all.

    An infinite ratio is no limit.
    """
    host = ram(8192, 1000, 1.5, aggregates=[
        {'ram_allocation_ratio': value} for value in values])

    assert AggregateRamFilter().limits(hosts(host), a_request()) == limits


@pytest.mark.parametrize(('ratio', 'left'), [
    (None, ['host0', 'host1']), ('2.0', ['host0', 'host1']),
    ('0.5', ['host1']), ('-1', ['host1']), ('nan', ['host1'])])
def test_a_ratio_is_that_of_the_aggregates_hosts_alone(ratio, left):
    metadata = {} if ratio is None else {'ram_allocation_ratio': ratio}
    block = hosts(ram(8192, 4096, 1.0, aggregates=[metadata]),
                  ram(8192, 4096, 1.0))

    assert survivors(AggregateRamFilter(), block,
                     a_request(memory_mb=1024)) == left
