"""Filters of amounts: RAM, disk and CPUs, I/O operations and instances."""

import math

import pytest

from nova_sched.scheduler.filters import io_ops_filter
from nova_sched.scheduler.filters import num_instances_filter
from tests.builders.hosts import NEVER_REPORTED
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import a_filter
from tests.builders.rules import configured
from tests.builders.rules import passing
from tests.builders.rules import survivors


def ram(total, free, ratio=1.0, *own):
    """A host; own: ratios in the metadata of its aggregates."""
    return a_host(total_usable_ram_mb=total, free_ram_mb=free,
                  ram_allocation_ratio=ratio, aggregates=[
                      {'ram_allocation_ratio': value} for value in own])


def cpus(total, used, ratio=1.0, *own):
    return a_host(vcpus_total=total, vcpus_used=used,
                  cpu_allocation_ratio=ratio, aggregates=[
                      {'cpu_allocation_ratio': value} for value in own])


def disk(total_gb, free_gb, ratio=1.0, *own):
    return a_host(total_usable_disk_gb=total_gb, free_disk_mb=free_gb * 1024,
                  disk_allocation_ratio=ratio, aggregates=[
                      {'disk_allocation_ratio': value} for value in own])


def disks(root_gb, ephemeral_gb=0, swap=0, **values):
    return {'root_gb': root_gb, 'ephemeral_gb': ephemeral_gb, 'swap': swap,
            **values}


def for_name(name, *rows):
    """Rows of a table, with the name of a filter in front of each."""
    return [(name, *row) for row in rows]


#: Filter, host, size of the request, whether it fits.
ROOM = [
    *for_name(
        'RamFilter',
        (ram(8192, 1000, 1.5), 5096, True),
        (ram(8192, 1000, 1.5), 5097, False),
        # The total alone must hold a request, too.
        (ram(8192, 1000, 2.0), 9000, False),
        (ram(8192, 8192, 2.0), 8192, True),
        (ram(4096, -2048, 1.75), 1024, True),
        (ram(4096, -2048, 1.75), 1025, False),
        (ram(4096, 4096, 0.5), 2048, True),
        (ram(4096, 4096, 0.5), 2049, False),
        (ram(4096, 4096, math.inf), 4096, True),
        (ram(4096, 4096, math.nan), 1, False),
        (a_host(**NEVER_REPORTED), 1, False)),
    *for_name(
        'CoreFilter',
        (cpus(4, 7, 2.0), 1, True),
        (cpus(4, 8, 2.0), 1, False),
        (cpus(4, 0, 16.0), 4, True),
        (cpus(4, 0, 16.0), 5, False),
        (cpus(8, 6, 0.75), 1, False),
        (cpus(9, 13, 1.5), 1, False),
        # A host that reports no CPUs passes: its report is taken for broken.
        (cpus(0, 99, 16.0), 5, True),
        (cpus(4, 0, math.nan), 4, True)),
    *for_name(
        'DiskFilter',
        (disk(12, 1, 10.0), disks(7), True),
        (disk(12, 1, 10.0), disks(13), False),
        (disk(13, 13), disks(1, 12), True),
        (disk(13, 13), disks(1, 12, swap=1), False),
        (disk(100, -5, 1.5), disks(45), True),
        (disk(100, -5, 1.5), disks(46), False),
        (a_host(**NEVER_REPORTED), disks(0), True),
        (a_host(**NEVER_REPORTED), disks(1), False)),
    # Bare metal must have exactly the size.
    *for_name(
        'ExactRamFilter', *((ram(4096, free), 512, free == 512)
                            for free in (511, 512, 513, -512))),
    *for_name(
        'ExactCoreFilter', *((cpus(8, used), 4, used == 4)
                             for used in (0, 4, 5)),
        (cpus(4, 0), 4, True), (cpus(0, -4), 4, False)),
    *for_name(
        'ExactDiskFilter', *(
            (a_host(free_disk_mb=3072 + swap), disks(1, 2, 3), swap == 3)
            for swap in (0, 3, 4))),
    # Ratios of aggregates replace that of the host.
    *for_name(
        'AggregateRamFilter',
        (ram(8192, 4096), 1024, True),
        (ram(8192, 4096, 1.0, '2.0'), 1024, True),
        (ram(8192, 4096, 1.0, '0.5'), 1024, False),
        (ram(8192, 4096, 1.0, '-1'), 1024, False),
        (ram(8192, 4096, 1.0, 'nan'), 1024, False)),
    *for_name(
        'AggregateCoreFilter',
        (cpus(8, 8), 1, False), (cpus(8, 8, 1.0, '4 '), 1, True),
        (cpus(8, 8, 1.0, 'x'), 1, False)),
    *for_name(
        'AggregateDiskFilter',
        (disk(8, 0), disks(7), False), (disk(8, 0, 1.0, '10'), disks(7), True),
        (disk(8, 0, 1.0, 'bad'), disks(7), False)),
    # Root disks on volumes take no room.
    *((name, disk(100, 5), disks(40, 4, 1024, is_bfv=is_bfv), is_bfv)
      for name in ('DiskFilter', 'AggregateDiskFilter', 'ExactDiskFilter')
      for is_bfv in (True, False))]


@pytest.mark.parametrize(('name', 'host', 'size', 'fits'), ROOM)
def test_the_free_room_must_hold_the_request(name, host, size, fits):
    """Free are total * ratio minus the usage."""
    if not isinstance(size, dict):
        size = {'memory_mb': size, 'vcpus': size}

    assert bool(passing(name, host, **size)) == fits


@pytest.mark.parametrize('name', ['CoreFilter', 'ExactCoreFilter'])
def test_missing_cpu_counts_are_warned_about_once_a_request(name, caplog):
    passing(name, cpus(0, 0), cpus(0, 0))

    assert caplog.messages == ['VCPUs not set; assuming CPU collection broken']


@pytest.mark.parametrize(('name', 'host', 'limits'), [
    ('RamFilter', ram(8193, 1000, 1.5), {'memory_mb': 12289}),
    ('CoreFilter', cpus(9, 0, 1.5), {'vcpu': 13}),
    ('CoreFilter', cpus(0, 0, 16.0), {}),
    ('DiskFilter', disk(13, 1, 1.5), {'disk_gb': 19}),
    ('ExactRamFilter', ram(4096, 512), {'memory_mb': 4096}),
    ('ExactCoreFilter', cpus(8, 4), {'vcpu': 8}),
    ('ExactDiskFilter', disk(13, 1), {'disk_gb': 13}),
    # The smallest ratio counts; one invalid number voids them all.
    ('AggregateRamFilter', ram(8192, 1000, 1.5), {'memory_mb': 12288}),
    ('AggregateRamFilter', ram(8192, 1000, 1.5, '2.0', ' 1.25 '),
     {'memory_mb': 10240}),
    ('AggregateRamFilter', ram(8192, 1000, 1.5, '2.0', 'bad'),
     {'memory_mb': 12288}),
    ('AggregateRamFilter', ram(8192, 1000, 1.5, '1,5'), {'memory_mb': 12288}),
    ('AggregateRamFilter', ram(8192, 1000, 1.5, '1e1'), {'memory_mb': 81920}),
    ('AggregateRamFilter', ram(8192, 1000, 1.5, 'inf'), {}),
    ('AggregateCoreFilter', cpus(8, 8, 1.0, '4 '), {'vcpu': 32}),
    ('AggregateCoreFilter', cpus(8, 8, 1.0, '0'), {}),
    ('AggregateCoreFilter', cpus(8, 8, 1.0, '-2'), {}),
    ('AggregateDiskFilter', disk(8, 0, 1.0, '10'), {'disk_gb': 80})])
def test_limits_are_the_room_after_overcommit(name, host, limits):
    """As integers, rounded down; bare metal is not overcommitted."""
    found = a_filter(name).limits(hosts(host), a_request())

    assert found == limits
    assert {type(value) for value in found.values()} <= {int}


def test_instances_on_volumes_leave_the_disk_to_the_next_one():
    snapshot = hosts(disk(100, 10)).snapshot
    for _ in range(2):
        snapshot.consume(0, a_request(**disks(40, 4), is_bfv=True), now=0.0)

    assert snapshot.value('free_disk_mb', 0) == 2 * 1024


@pytest.mark.parametrize(('resource', 'host', 'key'), [
    ('Disk', disk(10, -1), 'DISK_GB'), ('Ram', ram(10, -1), 'MEMORY_MB'),
    ('Core', cpus(1, 9), 'VCPU'), ('Core', cpus(0, 0), 'VCPU')])
def test_a_flavor_may_set_a_resource_to_zero(resource, host, key):
    """For bare metal only the custom resource class counts."""
    sizes = {'memory_mb': 512, 'vcpus': 4, 'root_gb': 40}
    nothing = sizes | {'extra_specs': {
        f'resources:{key}': '0', 'resources:CUSTOM_BAREMETAL': '1'}}
    for name in (f'{resource}Filter', f'Exact{resource}Filter'):
        assert passing(name, host, **nothing)
        assert not a_filter(name).figures(hosts(host), a_request(**nothing))
        if host['vcpus_total']:
            assert not passing(name, host, **sizes)


OF_AGGREGATES = [io_ops_filter.AggregateIoOpsFilter,
                 num_instances_filter.AggregateNumInstancesFilter]
COUNTS = [io_ops_filter.IoOpsFilter, num_instances_filter.NumInstancesFilter,
          *OF_AGGREGATES]


def counting(cls, *counts, values=()):
    """Hosts with these counts, in aggregates with these maxima."""
    return hosts(*(a_host(**{cls.column: count}, aggregates=[
        {cls.key: value} for value in values]) for count in counts))


@pytest.mark.parametrize('cls', COUNTS)
class TestCounts:
    def test_are_below_the_maximum(self, cls):
        default = 8 if cls.column == 'num_io_ops' else 50

        assert survivors(configured(cls), counting(cls, default - 1, default),
                         a_request()) == ['host0']
        for most in (1, 2):
            rule = configured(cls, **{cls.key: most})
            assert survivors(rule, counting(cls, 0, 1, 2), a_request()) == [
                'host0', 'host1'][:most]

    def test_include_instances_placed_by_the_same_request(self, cls):
        block, request = counting(cls, 1), a_request()
        rule = configured(cls, **{cls.key: 2})
        assert survivors(rule, block, request) == ['host0']

        block.snapshot.consume(0, request, 0.0)

        assert survivors(rule, block.snapshot.block(), request) == []

    def test_give_the_lowest_count_as_the_reason(self, cls):
        assert configured(cls, **{cls.key: 2}).reason(
            counting(cls, 9, 4), a_request()) == (
            f'need fewer than 2 {cls.noun}, nearest has 4')


@pytest.mark.parametrize('cls', OF_AGGREGATES)
class TestMaximumOfAggregates:
    @pytest.mark.parametrize(('values', 'most'), [
        ([], 3), (['5', ' 4 '], 4), (['5', 'many'], 3), (['4.5'], 3),
        (['4,5'], 3), (['0'], 0), (['-1'], -1), (['1_0'], 10),
        (['9' * 30], 11), (['-' + '9' * 30], 0), (['9' * 5000], 3)])
    def test_is_the_smallest(self, cls, values, most):
        """One invalid number voids them all."""
        rule = configured(cls, **{cls.key: 3})
        block = counting(cls, *range(11), values=values)

        assert len(survivors(rule, block, a_request())) == max(most, 0)

    def test_applies_to_the_hosts_of_the_aggregate(self, cls):
        rule = configured(cls, **{cls.key: 3})
        block = hosts(a_host(**{cls.column: 2}),
                      a_host(**{cls.column: 2}, aggregates=[{cls.key: '2'}]),
                      a_host(**{cls.column: 3}, aggregates=[{cls.key: '4'}]))

        assert survivors(rule, block, a_request()) == ['host0', 'host2']
        assert rule.reason(block.where(~rule.mask(block, a_request())),
                           a_request()).startswith('need fewer than 2 ')

    def test_is_a_number_that_floats_hold(self, cls):
        assert cls.cast('9' * 30) == 2 ** 53
        assert cls.cast(f'-{"9" * 30}') == -2 ** 53
        assert cls.cast(str(2 ** 53 - 1)) == 2 ** 53 - 1
