"""The weighers of one number a host: RAM, CPU, disk, operations, ..."""

import pytest

from nova_sched.scheduler.weights.compute import BuildFailureWeigher
from nova_sched.scheduler.weights.cpu import CPUWeigher
from nova_sched.scheduler.weights.disk import DiskWeigher
from nova_sched.scheduler.weights.hypervisor_version import (
    HypervisorVersionWeigher,
)
from nova_sched.scheduler.weights.io_ops import IoOpsWeigher
from nova_sched.scheduler.weights.num_instances import NumInstancesWeigher
from nova_sched.scheduler.weights.ram import RAMWeigher
from nova_sched.weights import WeightHandler
from tests.builders.hosts import NEVER_REPORTED
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured
from tests.builders.rules import weights


@pytest.mark.parametrize(('cls', 'column', 'values', 'expected'), [
    (RAMWeigher, 'free_ram_mb', [100, -50, 0], [1.0, 0.0, 0.0]),
    (RAMWeigher, 'free_ram_mb', [512, 512], [1.0, 1.0]),
    (RAMWeigher, 'free_ram_mb', [-1, -5], [0.0, 0.0]),
    (RAMWeigher, 'free_ram_mb', [4096, 8192, 8192], [0.5, 1.0, 1.0]),
    (DiskWeigher, 'free_disk_mb', [100, 50, 400], [0.25, 0.125, 1.0]),
    (DiskWeigher, 'free_disk_mb', [100, -5], [1.0, 0.0]),
    (IoOpsWeigher, 'num_io_ops', [0, 2, 1], [0.0, -1.0, -0.5]),
    (IoOpsWeigher, 'num_io_ops', [3, 3], [-1.0, -1.0]),
    (BuildFailureWeigher, 'failed_builds', [0, 1, 4],
     [0.0, -250000.0, -1000000.0]),
    (BuildFailureWeigher, 'failed_builds', [2, 2], [0.0, 0.0]),
    (HypervisorVersionWeigher, 'hypervisor_version',
     [None, 6002000, 8000000], [0.0, 0.75025, 1.0]),
    (NumInstancesWeigher, 'num_instances', [0, 5], [0.0, 0.0]),
])
def test_weighs_by_its_column(cls, column, values, expected):
    """Scaled from nothing to the best host; less than none is none."""
    records = [a_host(**{column: value}) for value in values]

    assert weights(configured(cls), hosts(*records)) == expected


@pytest.mark.parametrize(('multiplier', 'expected'), [
    (2.0, [0.0, 2.0, 0.4]), (-1.0, [0.0, -1.0, -0.2])])
def test_instances_pack_or_spread_by_their_number(multiplier, expected):
    weigher = configured(NumInstancesWeigher,
                         num_instances_weight_multiplier=multiplier)

    assert weights(weigher, hosts(*(
        a_host(num_instances=count) for count in (0, 5, 1)))) == expected


def test_cpus_count_after_overcommit():
    records = [a_host(vcpus_total=4, vcpus_used=8, cpu_allocation_ratio=4.0),
               a_host(vcpus_total=16, vcpus_used=0, cpu_allocation_ratio=1.0),
               a_host(vcpus_total=2, vcpus_used=9, cpu_allocation_ratio=1.0),
               a_host(vcpus_used=0, **NEVER_REPORTED)]

    assert weights(configured(CPUWeigher), hosts(*records)) == [
        0.5, 1.0, 0.0, 0.0]


@pytest.mark.parametrize(('cls', 'option'), [
    (RAMWeigher, 'ram_weight_multiplier'),
    (CPUWeigher, 'cpu_weight_multiplier'),
    (DiskWeigher, 'disk_weight_multiplier'),
    (IoOpsWeigher, 'io_ops_weight_multiplier'),
    (HypervisorVersionWeigher, 'hypervisor_version_weight_multiplier'),
    (NumInstancesWeigher, 'num_instances_weight_multiplier'),
])
class TestMultiplier:
    def test_is_an_option(self, cls, option):
        weigher = configured(cls, **{option: -2.5})

        assert weigher.multipliers(hosts(a_host(), a_host())) == -2.5

    def test_of_an_aggregate_goes_first(self, cls, option):
        """The smallest of several; text that is no number discards all."""
        weigher = configured(cls, **{option: 7.0})
        block = hosts(*(a_host(aggregates=[{option: value}
                                           for value in values])
                        for values in (['-2', '3'], ['bad', '9'], ['1,5'],
                                       [' 4 '], [], ['0'])))

        assert weigher.multipliers(block).tolist() == [
            -2.0, 7.0, 7.0, 4.0, 7.0, 0.0]
        assert weigher.weight_multiplier(block.states()[0]) == -2.0


def test_failures_of_some_hosts_may_not_count():
    """An aggregate gives the multiplier as a positive number, too."""
    key = 'build_failure_weight_multiplier'
    block = hosts(a_host(failed_builds=4, aggregates=[{key: '0'}]),
                  a_host(failed_builds=4, aggregates=[{key: '10'}]),
                  a_host(failed_builds=2), a_host(failed_builds=0))

    assert weights(configured(BuildFailureWeigher), block) == [
        0.0, -10.0, -500000.0, 0.0]


def test_the_example_of_three_hosts_and_several_weighers():
    """Weights of several weighers add up."""
    records = [a_host('a', free_ram_mb=4096, free_disk_mb=100, num_io_ops=0),
               a_host('b', free_ram_mb=8192, free_disk_mb=50, num_io_ops=2),
               a_host('c', free_ram_mb=8192, free_disk_mb=400, num_io_ops=1,
                      failed_builds=3)]
    weighers = [configured(cls) for cls in (
        RAMWeigher, DiskWeigher, IoOpsWeigher, BuildFailureWeigher)]

    weighed = WeightHandler().weigh(weighers, hosts(*records), a_request())

    assert weighed.rows.tolist() == [0, 1, 2]
    assert weighed.weights.tolist() == [0.75, 0.125, -999998.5]


def test_the_example_of_multipliers_of_aggregates():
    """The smallest of several; one that cannot be read discards all."""
    key = 'ram_weight_multiplier'
    block = hosts(*(
        a_host(free_ram_mb=free, aggregates=[{key: value} for value in values])
        for free, values in ((100, ['-2', '3']), (50, ['bad', '9']),
                             (25, ['1,5']))))

    assert weights(configured(RAMWeigher), block) == [-2.0, 0.5, 0.25]
