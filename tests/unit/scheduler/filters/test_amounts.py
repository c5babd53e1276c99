"""Filters of amounts: RAM, disk and CPUs, I/O operations and instances."""

import itertools
import math

import pytest

from nova_sched.plugins import loading as plugins
from tests.builders.hosts import NEVER_REPORTED
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured
from tests.builders.rules import survivors

FILTERS = {cls.__name__: cls for cls in plugins.all_filters()}
NO_CPUS = 'VCPUs not set; assuming CPU collection broken'


def ram(total, free, ratio=1.0, **values):
    return a_host(total_usable_ram_mb=total, free_ram_mb=free,
                  ram_allocation_ratio=ratio, **values)


def cpus(total, used, ratio=1.0, **values):
    return a_host(vcpus_total=total, vcpus_used=used,
                  cpu_allocation_ratio=ratio, **values)


def disk(total_gb, free_gb, ratio=1.0, **values):
    return a_host(total_usable_disk_gb=total_gb, free_disk_mb=free_gb * 1024,
                  disk_allocation_ratio=ratio, **values)


def disks(root_gb, ephemeral_gb=0, swap=0):
    return {'root_gb': root_gb, 'ephemeral_gb': ephemeral_gb, 'swap': swap}


def rule(name, **options):
    return configured(FILTERS[name], **options)


def passes(name, host, sizes):
    [passed] = rule(name).mask(hosts(host), a_request(**sizes))
    return passed


def each(name, *rows):
    """Rows of a table, with the name of a filter in front of each."""
    return [(name, *row) for row in rows]


@pytest.mark.parametrize(('name', 'host', 'needed', 'passed'), each(
    'RamFilter',
    (ram(8192, 1000, 1.5), 4096, True),
    (ram(8192, 1000, 1.5), 5096, True),
    (ram(8192, 1000, 1.5), 5097, False),
    (ram(8192, 1000, 1.5), 6000, False),
    (ram(8192, 1000, 2.0), 9000, False),
    (ram(8192, 8192, 2.0), 8192, True),
    (ram(4096, -2048, 1.75), 1024, True),
    (ram(4096, -2048, 1.75), 1025, False),
    (ram(4096, 4096, 0.5), 2048, True),
    (ram(4096, 4096, 0.5), 2049, False),
    (ram(4096, 4096, math.inf), 4096, True),
    (ram(4096, 4096, math.nan), 1, False),
    (a_host(**NEVER_REPORTED), 1, False)) + each(
    'CoreFilter',
    (cpus(4, 7, 2.0), 1, True),
    (cpus(4, 8, 2.0), 1, False),
    (cpus(4, 0, 16.0), 4, True),
    (cpus(4, 0, 16.0), 5, False),
    (cpus(8, 6, 0.75), 1, False),
    (cpus(9, 0, 1.5), 9, True),
    (cpus(9, 13, 1.5), 1, False),
    # A host that reports no CPUs passes: its report is taken for broken.
    (cpus(0, 0, 16.0), 5, True),
    (cpus(0, 99, 16.0), 5, True),
    (cpus(4, 0, math.nan), 4, True)) + each(
    'DiskFilter',
    (disk(12, 1, 10.0), disks(7), True),
    (disk(12, 1, 10.0), disks(13), False),
    (disk(13, 13), disks(1, 12), True),
    (disk(13, 13), disks(1, 12, swap=1), False),
    (disk(13, 12), disks(1, 12), False),
    (disk(100, -5), disks(1), False),
    (disk(100, -5, 1.5), disks(45), True),
    (disk(100, -5, 1.5), disks(46), False),
    (a_host(**NEVER_REPORTED), disks(0), True),
    (a_host(**NEVER_REPORTED), disks(1), False)))
def test_overcommits_only_against_other_instances(name, host, needed, passed):
    """What is left of total * ratio must hold it, and the total alone too."""
    sizes = needed if isinstance(needed, dict) else {
        'memory_mb': needed, 'vcpus': needed}

    assert passes(name, host, sizes) == passed


@pytest.mark.parametrize(('name', 'host', 'sizes', 'passed'), each(
    'ExactRamFilter',
    *((ram(4096, free), {'memory_mb': 512}, free == 512)
      for free in (511, 512, 513, -512))) + each(
    'ExactCoreFilter',
    *((cpus(8, used), {'vcpus': 4}, used == 4) for used in (0, 4, 5)),
    (cpus(4, 0), {'vcpus': 4}, True), (cpus(0, -4), {'vcpus': 4}, False)
    ) + each(
    'ExactDiskFilter',
    *((a_host(free_disk_mb=3 * 1024 + swap), disks(1, 2, 3), swap == 3)
      for swap in (0, 3, 4))))
def test_on_bare_metal_takes_no_more_and_no_less(name, host, sizes, passed):
    assert passes(name, host, sizes) == passed


@pytest.mark.parametrize('name', ['CoreFilter', 'ExactCoreFilter'])
def test_warns_of_missing_cpu_counts_once_a_request(name, caplog):
    rule(name).mask(hosts(cpus(0, 0), cpus(0, 0)), a_request())

    assert caplog.messages == [NO_CPUS]


@pytest.mark.parametrize(('name', 'host', 'limits'), [
    ('RamFilter', ram(8193, 1000, 1.5), {'memory_mb': 12289}),
    ('CoreFilter', cpus(9, 0, 1.5), {'vcpu': 13}),
    ('CoreFilter', cpus(4, 0, 16.0), {'vcpu': 64}),
    ('CoreFilter', cpus(0, 0, 16.0), {}),
    ('DiskFilter', disk(13, 1, 1.5), {'disk_gb': 19}),
    ('ExactRamFilter', ram(4096, 512), {'memory_mb': 4096}),
    ('ExactCoreFilter', cpus(8, 4), {'vcpu': 8}),
    ('ExactDiskFilter', disk(13, 1), {'disk_gb': 13})])
def test_limits_the_host_to_what_it_may_give_out(name, host, limits):
    """In whole units, cut off; on bare metal without overcommit."""
    found = rule(name).limits(hosts(host), a_request())

    assert found == limits
    assert {type(value) for value in found.values()} <= {int}


@pytest.mark.parametrize(('name', 'block', 'sizes', 'words'), each(
    'RamFilter',
    ((ram(49152, 40960, 1.5), ram(65536, 4096)), {'memory_mb': 65536},
     'need 65536 MB, most free 4096 MB'),
    ((ram(65536, 40960), ram(131072, 4096, 1.5)), {'memory_mb': 131072},
     'need 131072 MB, most free 69632 MB'),
    ((ram(32768, 32768, 4.0), ram(16384, 0)), {'memory_mb': 65536},
     'need 65536 MB, largest host 32768 MB')) + each(
    'CoreFilter',
    ((cpus(8, 15, 2.0), cpus(9, 13, 1.5)), {'vcpus': 8},
     'need 8 VCPUs, most free 1 VCPUs'),
    ((cpus(9, 13, 1.5),), {'vcpus': 8},
     'need 8 VCPUs, most free 0.5 VCPUs'),
    ((cpus(4, 0, 16.0), cpus(2, 0, 16.0)), {'vcpus': 8},
     'need 8 VCPUs, largest host 4 VCPUs')) + each(
    'DiskFilter',
    ((disk(60, 20), disk(45, 1)), disks(40),
     'need 40960 MB, most free 20480 MB'),
    ((disk(39, 39, 2.0), disk(10, 1)), disks(40),
     'need 40960 MB, largest host 39936 MB')) + each(
    'ExactRamFilter',
    ((ram(4096, 0), ram(4096, 1024), ram(4096, 4096)), {'memory_mb': 600},
     'need exactly 600 MB, nearest has 1024 MB'),
    ((ram(4096, 0), ram(4096, 500)), {'memory_mb': 600},
     'need exactly 600 MB, nearest has 500 MB'),
    ((ram(4096, -1),), {'memory_mb': 600},
     'need exactly 600 MB, nearest has -1 MB')) + each(
    'ExactCoreFilter',
    ((cpus(8, 0), cpus(8, 7), cpus(0, 0)), {'vcpus': 2},
     'need exactly 2 VCPUs, nearest has 1 VCPUs'),
    ((cpus(0, 0),), {'vcpus': 2}, 'need exactly 2 VCPUs, none reported')
    ) + each(
    'ExactDiskFilter',
    ((disk(4, 0), disk(4, 4)), disks(1, 2, 3),
     'need exactly 3075 MB, nearest has 4096 MB')))
def test_says_how_much_is_needed_and_how_much_there_is(name, block, sizes,
                                                       words):
    """Free amounts count only on hosts that are large enough as such."""
    assert rule(name).reason(hosts(*block), a_request(**sizes)) == words


@pytest.mark.parametrize(('name', 'block', 'sizes', 'texts'), [
    ('RamFilter', (ram(8192, 1000, 1.5), ram(4096, 4096)),
     {'memory_mb': 6000}, [
         'does not have 6000 MB usable ram before overcommit, it only has '
         '4096 MB.',
         'does not have 6000 MB usable ram, it only has 5096.0 MB usable '
         'ram.']),
    ('CoreFilter', (cpus(4, 0), cpus(8, 7)), {'vcpus': 5}, [
        'does not have 5 total cpus before overcommit, it only has 4',
        'does not have 5 usable vcpus, it only has 1.0 usable vcpus']),
    ('DiskFilter', (disk(100, 1), disk(5, 5)), disks(10), [
        'does not have 10240 MB usable disk space before overcommit, it only '
        'has 5120 MB.',
        'does not have 10240 MB usable disk, it only has 1024.0 MB usable '
        'disk.'])])
def test_logs_what_operators_search_for(name, block, sizes, texts, caplog):
    with caplog.at_level('DEBUG', 'nova_sched'):
        rule(name).mask(hosts(*block), a_request(**sizes))

    assert [message[message.index('does not have'):]
            for message in caplog.messages] == texts


class TestRatiosOfAggregates:
    @pytest.mark.parametrize(('values', 'limits'), [
        ([], {'memory_mb': 12288}),
        (['2.0'], {'memory_mb': 16384}),
        (['2.0', ' 1.25 '], {'memory_mb': 10240}),
        (['2.0', 'bad'], {'memory_mb': 12288}),
        (['1,5'], {'memory_mb': 12288}),
        (['1e1'], {'memory_mb': 81920}),
        (['inf'], {})])
    def test_take_the_place_of_the_host_s(self, values, limits):
        """The smallest counts; one that is no number spoils them all.

        An infinite ratio is no limit.
        """
        host = ram(8192, 1000, 1.5, aggregates=[
            {'ram_allocation_ratio': value} for value in values])

        assert rule('AggregateRamFilter').limits(
            hosts(host), a_request()) == limits

    @pytest.mark.parametrize(('ratio', 'left'), [
        (None, ['host0', 'host1']), ('2.0', ['host0', 'host1']),
        ('0.5', ['host1']), ('-1', ['host1']), ('nan', ['host1'])])
    def test_are_those_of_its_hosts_alone(self, ratio, left):
        metadata = {} if ratio is None else {'ram_allocation_ratio': ratio}
        block = hosts(ram(8192, 4096, aggregates=[metadata]),
                      ram(8192, 4096))

        assert survivors(rule('AggregateRamFilter'), block,
                         a_request(memory_mb=1024)) == left

    @pytest.mark.parametrize(('name', 'make', 'ratio', 'passed', 'limits'), [
        ('AggregateCoreFilter', cpus, None, False, {'vcpu': 8}),
        ('AggregateCoreFilter', cpus, '4 ', True, {'vcpu': 32}),
        ('AggregateCoreFilter', cpus, 'x', False, {'vcpu': 8}),
        ('AggregateCoreFilter', cpus, '0', False, {}),
        ('AggregateCoreFilter', cpus, '-2', False, {}),
        ('AggregateDiskFilter', disk, None, False, {'disk_gb': 8}),
        ('AggregateDiskFilter', disk, '10', True, {'disk_gb': 80}),
        ('AggregateDiskFilter', disk, 'bad', False, {'disk_gb': 8})])
    def test_count_for_cpus_and_disk_too(self, name, make, ratio, passed,
                                         limits):
        key = FILTERS[name].key
        host = make(8, 8 if make is cpus else 0, aggregates=[
            {} if ratio is None else {key: ratio}])

        assert passes(name, host, disks(7)) == passed
        assert rule(name).limits(hosts(host), a_request()) == limits


def counting(cls, *counts, values=()):
    """Hosts with these counts, in aggregates with these maxima."""
    return hosts(*(a_host(**{cls.column: count}, aggregates=[
        {cls.key: value} for value in values]) for count in counts))


OF_AGGREGATES = [FILTERS['AggregateIoOpsFilter'],
                 FILTERS['AggregateNumInstancesFilter']]
COUNTS = [FILTERS['IoOpsFilter'], FILTERS['NumInstancesFilter'],
          *OF_AGGREGATES]
each_filter = pytest.mark.parametrize('cls', COUNTS)
each_aggregate_filter = pytest.mark.parametrize('cls', OF_AGGREGATES)


class TestCounts:
    @pytest.mark.parametrize(('cls', 'most'), [
        *zip(COUNTS, (8, 50, 8, 50), strict=True)])
    def test_have_a_maximum_by_default(self, cls, most):
        assert survivors(configured(cls), counting(cls, most - 1, most),
                         a_request()) == ['host0']

    @pytest.mark.parametrize(('cls', 'most'), [
        (COUNTS[0], 0), *itertools.product(COUNTS, range(1, 4))])
    def test_must_be_below_the_maximum(self, cls, most):
        rule = configured(cls, **{cls.key: most})

        assert survivors(rule, counting(cls, 0, 1, 2), a_request()) == [
            'host0', 'host1', 'host2'][:most]

    @each_filter
    def test_include_what_the_request_has_placed(self, cls):
        block, request = counting(cls, 1), a_request()
        rule = configured(cls, **{cls.key: 2})
        assert survivors(rule, block, request) == ['host0']

        block.snapshot.consume(0, request, 0.0)

        assert survivors(rule, block.snapshot.block(), request) == []

    @each_aggregate_filter
    @pytest.mark.parametrize(('values', 'most'), [
        ([], 3), (['5'], 5), (['5', ' 4 '], 4), (['5', 'many'], 3),
        (['4.5'], 3), (['4,5'], 3), (['0'], 0), (['-1'], -1), (['1_0'], 10),
        (['9' * 30], 11), (['-' + '9' * 30], 0), (['9' * 5000], 3)])
    def test_may_have_a_maximum_of_aggregates(self, cls, values, most):
        """The smallest counts; one that is no integer spoils them all."""
        rule = configured(cls, **{cls.key: 3})
        block = counting(cls, *range(11), values=values)

        assert len(survivors(rule, block, a_request())) == max(most, 0)

    @each_aggregate_filter
    def test_have_that_of_the_hosts_own_aggregates(self, cls):
        rule = configured(cls, **{cls.key: 3})
        block = hosts(a_host(**{cls.column: 2}),
                      a_host(**{cls.column: 2}, aggregates=[{cls.key: '2'}]),
                      a_host(**{cls.column: 3}, aggregates=[{cls.key: '4'}]))

        assert survivors(rule, block, a_request()) == ['host0', 'host2']
        assert rule.reason(block.where(~rule.mask(block, a_request())),
                           a_request()).startswith('need fewer than 2 ')

    @each_filter
    def test_of_the_nearest_host_are_the_reason(self, cls):
        rule = configured(cls, **{cls.key: 2})

        assert rule.reason(counting(cls, 9, 4), a_request()) == (
            f'need fewer than 2 {cls.noun}, nearest has 4')

    @each_filter
    def test_are_logged_in_words_that_operators_search_for(self, cls, caplog):
        values = ['2'] if cls in OF_AGGREGATES else []

        with caplog.at_level('DEBUG', 'nova_sched'):
            configured(cls, **{cls.key: 2}).mask(
                counting(cls, 2, values=values), a_request())

        text, = caplog.messages
        assert text.startswith('(host0, host0) ')
        assert text.endswith(
            'fails I/O ops check: Max IOs per host is set to 2'
            if cls.column == 'num_io_ops' else 'fails num_instances check: '
            'Max instances per host is set to 2')

    @each_aggregate_filter
    def test_have_no_maximum_beyond_exact_floats(self, cls):
        """And none below."""
        assert cls.cast('9' * 30) == 2 ** 53
        assert cls.cast(f'-{"9" * 30}') == -2 ** 53
        assert cls.cast(str(2 ** 53 - 1)) == 2 ** 53 - 1


class TestWhatPlacementDoesNotCount:
    """Since Rocky it is not asked for, and these filters do not count it."""

    @pytest.mark.parametrize('name', [
        'DiskFilter', 'AggregateDiskFilter', 'ExactDiskFilter'])
    @pytest.mark.parametrize(('is_bfv', 'passed'), [
        (True, True), (False, False)])
    def test_a_root_disk_on_a_volume(self, name, is_bfv, passed):
        assert passes(name, disk(100, 5), disks(40, 4, 1024) | {
            'is_bfv': is_bfv}) == passed

    def test_two_instances_on_volumes_leave_the_disk_to_the_next(self):
        snapshot = hosts(disk(100, 10)).snapshot
        for _ in range(2):
            snapshot.consume(0, a_request(**disks(40, 4), is_bfv=True),
                             now=0.0)

        assert snapshot.cell('free_disk_mb', 0) == 2 * 1024

    @pytest.mark.parametrize(('names', 'host', 'key'), [
        (('DiskFilter', 'ExactDiskFilter'), disk(10, -1), 'DISK_GB'),
        (('RamFilter', 'ExactRamFilter'), ram(10, -1), 'MEMORY_MB'),
        (('CoreFilter', 'ExactCoreFilter'), cpus(1, 9), 'VCPU'),
        (('CoreFilter', 'ExactCoreFilter'), cpus(0, 0), 'VCPU')])
    def test_what_the_flavor_has_count_as_nothing(self, names, host, key):
        """Of bare metal a custom resource class counts alone."""
        sizes = {'memory_mb': 512, 'vcpus': 4, 'root_gb': 40}
        nothing = sizes | {'extra_specs': {
            f'resources:{key}': '0', 'resources:CUSTOM_BAREMETAL': '1'}}
        for name in names:
            assert passes(name, host, nothing)
            assert not rule(name).figures(hosts(host), a_request(**nothing))
            if host['vcpus_total']:
                assert not passes(name, host, sizes)
