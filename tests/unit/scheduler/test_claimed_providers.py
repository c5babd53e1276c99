"""Picks consume the devices and cells of the claimed providers."""

import pytest

from nova_sched.hosts.decision import Decision
from tests.builders import clouds
from tests.builders import requests
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import select
from tests.builders.hosts import a_host
from tests.builders.numa import a_cell
from tests.builders.numa import a_guest
from tests.builders.numa import cells_text
from tests.builders.numa import guest_cell
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_requests
from tests.builders.pci import pci_stats
from tests.builders.placement import Placement
from tests.builders.placement import an_allocation_request

FIRST, SECOND = clouds.a_uuid(1), clouds.a_uuid(2)


class Seeing(MemoryScheduler):
    """Keeps the hosts of its last request, as consumed."""

    def hosts(self, *args):
        view, self.seen = super().hosts(*args)
        return view, self.seen

    def devices_left(self):
        """{provider uuid: devices free} of the only host."""
        return {pool['rp_uuid']: pool['count'] for pool
                in self.seen.value('pci_stats', 0).items}


def a_scheduler():
    """One host of two cells, with two devices near to each."""
    return Seeing(a_host(
        'a', uuid='a', numa_topology=cells_text(*(
            a_cell(node, pages=[(4, 1048576)]) for node in (0, 1))),
        pci_stats=pci_stats(*(a_pool(rp_uuid=f'p{node}', numa_node=node,
                                     count=2) for node in (0, 1)))),
        enabled_filters=['PciPassthroughFilter', 'NUMATopologyFilter'])


def a_request(**kwargs):
    """For a device of an alias, which Placement knows as group nic-id."""
    return requests.a_request(pci_requests=pci_requests(
        a_pci_request(1, numa_policy='required')), **kwargs)


def ask(scheduler, spec, *providers, uuids=(FIRST,)):
    """Place instances by candidates with the device of these providers."""
    placement = Placement({'a': [
        an_allocation_request('a', **{'nic-id': [provider]})
        for provider in providers]})
    return select(scheduler, spec, list(uuids), offer=placement.offer(),
                  record=Decision())


@pytest.mark.parametrize('claimed, left', [
    ('p0', {'p0': 1, 'p1': 2}), ('p1', {'p0': 2, 'p1': 1})])
def test_devices_of_the_claimed_provider_are_taken(claimed, left):
    scheduler = a_scheduler()

    ask(scheduler, a_request(), claimed)

    assert scheduler.devices_left() == left


def test_the_next_instance_finds_these_devices_taken():
    """Two of the provider's two, and none for a third."""
    scheduler = a_scheduler()

    ask(scheduler, a_request(), 'p1', uuids=(FIRST, SECOND))

    assert scheduler.devices_left() == {'p0': 2}


@pytest.mark.parametrize('claimed, used', [('p0', [1, 0]), ('p1', [0, 1])])
def test_cells_near_the_claimed_devices_are_taken(claimed, used):
    scheduler = a_scheduler()

    ask(scheduler, a_request(numa_topology=a_guest(guest_cell(floating=1))),
        claimed)

    assert [cell.cpu_usage for cell in scheduler.seen.value(
        'numa_topology', 0).cells] == used
