"""PCIWeigher."""

import pytest

from nova_sched.scheduler.weights import pci
from nova_sched.scheduler.weights.pci import PCIWeigher
from nova_sched.weights import normalize
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_requests
from tests.builders.pci import pci_stats
from tests.builders.requests import a_request
from tests.builders.rules import configured


def having(*counts):
    return a_host(pci_stats=pci_stats(
        *(a_pool(count=count) for count in counts)))


BLOCK = hosts(a_host(), having(8), having(2000), having(99), having(3, 5),
              having(), having(10 ** 30), a_host(pci_stats='{'))
RAW = [100, 92, 1, 1, 92, 100, 1, 100]


@pytest.mark.parametrize('spec', [
    a_request(),
    a_request(pci_requests=pci_requests(a_pci_request(1)))])
def test_fewer_devices_are_better_whatever_is_asked_for(spec):
    """99 and more are all the same; so are none and unreadable ones."""
    assert configured(PCIWeigher).raw(BLOCK, spec).tolist() == RAW


def test_what_hosts_report_is_counted_once_for_all_requests(monkeypatch):
    counted, weight = [], pci._weight
    monkeypatch.setattr(pci, '_weight', lambda pools: (
        counted.append(pools) or weight(pools)))
    block, weigher = hosts(having(1), having(2), having(1)), configured(
        PCIWeigher)

    for _ in range(3):
        some = block.snapshot.block(block.rows[::-1])
        assert weigher.raw(some, a_request()).tolist() == [99, 98, 99]
    assert len(counted) == 2


def test_scales_over_the_hosts_of_the_request():
    scaled = normalize(configured(PCIWeigher).raw(BLOCK, a_request()))

    assert scaled[:4].tolist() == pytest.approx([1.0, 91 / 99, 0.0, 0.0])


def test_an_aggregate_overrides_the_multiplier():
    block = hosts(a_host(), a_host(
        aggregates=[{'pci_weight_multiplier': '3.5'}]))
    weigher = configured(PCIWeigher, pci_weight_multiplier=2.0)

    assert weigher.multipliers(block).tolist() == [2.0, 3.5]
