"""PCI specifications are read once per request, for any number of hosts."""

import pytest

from nova_sched.hardware.consumption import Hardware
from nova_sched.hardware.pci.pools import Pools
from nova_sched.scheduler.filters import numa_topology_filter
from nova_sched.scheduler.filters import pci_passthrough_filter
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.numa import a_cell
from tests.builders.numa import a_guest
from tests.builders.numa import cells_text
from tests.builders.numa import guest_cell
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_requests
from tests.builders.pci import pci_stats
from tests.builders.pci import some_pools
from tests.builders.placement import Placement
from tests.builders.placement import an_allocation_request
from tests.builders.requests import a_request
from tests.builders.rules import configured

DEVICES = configured(pci_passthrough_filter.PciPassthroughFilter)
CELLS = configured(numa_topology_filter.NUMATopologyFilter)


class WatchedSpec(dict):
    """A specification that counts its reads."""

    reads = 0

    def get(self, *args):
        WatchedSpec.reads += 1
        return super().get(*args)

    def items(self):
        WatchedSpec.reads += 1
        return super().items()


def cloud(number):
    """Hosts with distinct pools."""
    return hosts(*[a_host(
        f'h{host}', uuid=f'h{host}',
        numa_topology=cells_text(a_cell(0), a_cell(1)), pci_stats=pci_stats(
            a_pool(count=9, rp_uuid=f'a{host}', numa_node=0),
            a_pool(count=9, rp_uuid=f'b{host}', numa_node=1)))
        for host in range(number)])


def wanting(product):
    """A request for eight devices, with counted reads of its specs."""
    made = a_request(
        numa_topology=a_guest(guest_cell(floating=1)),
        pci_requests=pci_requests(*[
            a_pci_request(request_id=f'nic{number}') for number in range(8)]))
    for request in made.pci_requests.requests:
        request.spec[:] = [WatchedSpec(product_id=product)]
    return made


def offer(number):
    """Two candidates for each host, with devices of one pool each."""
    return Placement({f'h{host}': [
        an_allocation_request(f'h{host}', **{
            f'nic{device}-0': [f'{pool}{host}'] for device in range(8)})
        for pool in 'ab'] for host in range(number)}).candidates()


@pytest.mark.parametrize('placement', [True, False])
@pytest.mark.parametrize('rule', [DEVICES, CELLS])
@pytest.mark.parametrize(('product', 'fits'), [('1520', True),
                                               ('none', False)])
def test_specifications_are_read_once_for_all_hosts(
        rule, placement, product, fits, monkeypatch):
    def reads(number):
        monkeypatch.setattr(WatchedSpec, 'reads', 0)
        block = cloud(number)
        if placement:
            block.snapshot.offer = offer(number)
        assert rule.mask(block, wanting(product)).tolist() == ([fits] * number)
        return WatchedSpec.reads

    assert reads(40) == reads(1)


def test_remaining_pools_are_written_once(monkeypatch):
    written, with_pools = [], Pools.with_pools
    monkeypatch.setattr(
        Pools, 'with_pools', lambda pools, left: written.append(left)
        or with_pools(pools, left))
    hardware = Hardware(None, some_pools(a_pool(count=9)))

    hardware.take(a_request(pci_requests=pci_requests(
        *[a_pci_request()] * 8)), None, None, pack=False)

    assert hardware.pools.pools == [a_pool(count=1)]
    assert written == [[a_pool(count=1)]]
