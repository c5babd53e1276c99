"""PciPassthroughFilter."""

import pytest

from nova_sched.hardware.pci import devices as pci_devices
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_requests
from tests.builders.pci import pci_stats
from tests.builders.placement import Placement
from tests.builders.placement import an_allocation_request
from tests.builders.requests import a_request
from tests.builders.rules import a_filter

FILTER = a_filter('PciPassthroughFilter')


def with_pools(*pools, **values):
    return a_host(pci_stats=pci_stats(*pools), **values)


def asking(*requests):
    return a_request(pci_requests=pci_requests(*requests))


@pytest.mark.parametrize(('record', 'passes'), [
    (with_pools(a_pool(count=2)), True),
    (with_pools(a_pool(count=1), a_pool(product_id='x')), True),
    (with_pools(a_pool(count=1)), False),
    (with_pools(), False),
    (a_host(pci_stats='{'), False),
    (a_host(pci_stats=None), False),
], ids=['enough', 'enough together', 'too few', 'none', 'unreadable',
        'never reported'])
def test_a_host_must_have_all_devices(record, passes):
    block = hosts(record)

    assert FILTER.mask(block, asking(a_pci_request(2))) == [passes]


@pytest.mark.parametrize('requests', [None, pci_requests()])
def test_requests_without_devices_pass_everywhere(requests):
    block = hosts(a_host(), with_pools())

    assert FILTER.mask(block, a_request(pci_requests=requests)).all()


def test_numa_affinity_does_not_matter():
    block = hosts(with_pools(a_pool(numa_node=0), a_pool(numa_node=1)))

    assert FILTER.mask(
        block, asking(a_pci_request(2, numa_policy='required'))).all()


@pytest.fixture
def offered():
    """A host with a device at provider p1 and two at p2, offered twice."""
    block = hosts(with_pools(
        a_pool(rp_uuid='p1', count=1), a_pool(rp_uuid='p2', count=2),
        uuid='node'))
    block.snapshot.offer = Placement({'node': [
        an_allocation_request('node', **{'nic-id-0': [one],
                                         'nic-id-1': [other]})
        for one, other in (('p1', 'p1'), ('p1', 'p2'), ('p3', 'p3'),
                           ('p2', 'p2'))]}).candidates()
    return block


def test_candidates_without_devices_are_removed_from_the_host(offered):
    assert FILTER.mask(offered, asking(a_pci_request(2))) == [True]

    state, = offered.states()
    assert [list(candidate['mappings'].values())[1:]
            for candidate in state.allocation_candidates] == [
        [['p1'], ['p2']], [['p2'], ['p2']]]


@pytest.mark.parametrize(('requests', 'words'), [
    ([a_pci_request(3, {'product_id': 'a'})],
     'need 3 of product_id=a, most free 2'),
    ([a_pci_request(1, {'product_id': 'a'}),
      a_pci_request(9, {'product_id': 'b'}, {'dev_type': 'x'})],
     'need 1 of product_id=a, most free 2; '
     'need 9 of product_id=b or dev_type=x, most free 1'),
    ([a_pci_request(2, {'product_id': 'a'}),
      a_pci_request(1, {'vendor_id': '8086'}),
      a_pci_request(1, {'vendor_id': '8086'})],
     'need 2 of product_id=a, most free 2; '
     'need 1 of vendor_id=8086, most free 3; '
     'need 1 of vendor_id=8086, most free 3; '
     'nearest host has 0 of 1 of vendor_id=8086 beside the others'),
    ([a_pci_request(1, {'product_id': 'a'})],
     'need 1 of product_id=a, most free 2; '
     'not at the providers that Placement names'),
    ([a_pci_request(0, {'product_id': 'a'})] * 6 + [a_pci_request(
        9, {'product_id': 'a'})],
     '; '.join(['need 0 of product_id=a, most free 2'] * 5)
     + '; and 2 more requests; not with the others'),
])
def test_the_reason_has_need_and_supply(requests, words):
    block = hosts(with_pools(a_pool(product_id='a', count=2),
                             a_pool(product_id='b')), a_host())

    assert FILTER.reason(block, asking(*requests)) == words


@pytest.mark.parametrize(('pools', 'nearest'), [
    ([a_pool(rp_uuid='p1'), a_pool(rp_uuid='p2', count=3)],
     'nearest host has 1 of 2 of rp_uuids=p1 vendor_id=8086'),
    ([a_pool(rp_uuid='p1', count=2), a_pool(rp_uuid='p1', count=3)],
     'not at the providers that Placement names'),
])
def test_reason_counts_devices_of_the_named_provider(pools, nearest):
    reason = FILTER.reason(hosts(with_pools(*pools)), asking(
        a_pci_request(2, {'vendor_id': '8086', 'rp_uuids': 'p1'})))

    assert reason.endswith('; ' + nearest)


def test_debug_lines_have_novas_words(caplog, offered):
    with caplog.at_level('DEBUG', 'nova_sched'):
        FILTER.mask(offered, asking(a_pci_request(4)))

    assert caplog.messages[0].startswith(
        'PciPassthroughFilter tries allocation candidate: {')
    assert caplog.messages[1].startswith(
        'PciPassthroughFilter rejected allocation candidate: {')
    assert ("doesn't have the required PCI devices ([" in caplog.messages[-1])


def test_the_reason_covers_five_of_many_requests(monkeypatch):
    """Each would be compared with the devices of each host."""
    looked, free = [], pci_devices.HostDevices.free_on_nodes
    monkeypatch.setattr(
        pci_devices.HostDevices, 'free_on_nodes', lambda supply, number:
        looked.append(number) or free(supply, number))
    block = hosts(*[with_pools(a_pool(count=2))] * 30,
                  with_pools(a_pool(product_id='b')))

    said = FILTER.reason(block, asking(*[a_pci_request(9)] * 64))

    assert said.count('need 9 of') == 5
    assert said.endswith('and 59 more requests')
    assert len(looked) == 5 * 2
