"""The weighers of free resources: RAM, CPU, disk, I/O operations."""

import pytest

from nova_sched.scheduler.weights.cpu import CPUWeigher
from nova_sched.scheduler.weights.disk import DiskWeigher
from nova_sched.scheduler.weights.io_ops import IoOpsWeigher
from nova_sched.scheduler.weights.ram import RAMWeigher
from nova_sched.weights import WeightHandler
from tests.builders.hosts import NEVER_REPORTED
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured


def weights(weigher, *records):
    """Weights of the hosts in their order, by this weigher alone."""
    block = hosts(*records)
    weighed = WeightHandler().weigh([weigher], block, a_request())
    return [weight for _, weight in sorted(zip(
        weighed.rows.tolist(), weighed.weights.tolist(), strict=True))]


@pytest.mark.parametrize(('cls', 'column', 'values', 'expected'), [
    (RAMWeigher, 'free_ram_mb', [100, -50, 0], [1.0, 0.0, 0.0]),
    (RAMWeigher, 'free_ram_mb', [512, 512], [1.0, 1.0]),
    (RAMWeigher, 'free_ram_mb', [-1, -5], [0.0, 0.0]),
    (RAMWeigher, 'free_ram_mb', [4096, 8192, 8192], [0.5, 1.0, 1.0]),
    (DiskWeigher, 'free_disk_mb', [100, 50, 400], [0.25, 0.125, 1.0]),
    (DiskWeigher, 'free_disk_mb', [100, -5], [1.0, 0.0]),
    (IoOpsWeigher, 'num_io_ops', [0, 2, 1], [0.0, -1.0, -0.5]),
    (IoOpsWeigher, 'num_io_ops', [3, 3], [-1.0, -1.0]),
])
def test_weighs_by_its_column(cls, column, values, expected):
    """Scaled from nothing to the best host; less than none is none."""
    records = [a_host(**{column: value}) for value in values]

    assert weights(configured(cls), *records) == expected


def test_cpus_count_after_overcommit():
    records = [a_host(vcpus_total=4, vcpus_used=8, cpu_allocation_ratio=4.0),
               a_host(vcpus_total=16, vcpus_used=0, cpu_allocation_ratio=1.0),
               a_host(vcpus_total=2, vcpus_used=9, cpu_allocation_ratio=1.0),
               a_host(vcpus_used=0, **NEVER_REPORTED)]

    assert weights(configured(CPUWeigher), *records) == [0.5, 1.0, 0.0, 0.0]


@pytest.mark.parametrize(('cls', 'option'), [
    (RAMWeigher, 'ram_weight_multiplier'),
    (CPUWeigher, 'cpu_weight_multiplier'),
    (DiskWeigher, 'disk_weight_multiplier'),
    (IoOpsWeigher, 'io_ops_weight_multiplier'),
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


def test_the_example_of_three_hosts_and_several_weighers():
    """Weights of several weighers add up."""
    records = [a_host('a', free_ram_mb=4096, free_disk_mb=100, num_io_ops=0),
               a_host('b', free_ram_mb=8192, free_disk_mb=50, num_io_ops=2),
               a_host('c', free_ram_mb=8192, free_disk_mb=400, num_io_ops=1)]
    weighers = [configured(cls)
                for cls in (RAMWeigher, DiskWeigher, IoOpsWeigher)]

    weighed = WeightHandler().weigh(weighers, hosts(*records), a_request())

    assert weighed.rows.tolist() == [2, 0, 1]
    assert weighed.weights.tolist() == [1.5, 0.75, 0.125]
