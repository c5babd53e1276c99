"""PCI requests of a guest, matched with many hosts."""

import collections

import pytest

from nova_sched.hardware.pci import devices as pci_devices
from nova_sched.hardware.pci.pools import Pools
from nova_sched.hardware.pci.requests import DeviceKind
from nova_sched.hardware.pci.requests import DeviceRequests
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import some_pools


class WatchedDict(dict):
    """Counts how often each key is looked up."""

    def __init__(self, *args):
        super().__init__(*args)
        self.looks = collections.Counter()

    def __getitem__(self, key):
        self.looks[key] += 1
        return super().__getitem__(key)

    def get(self, key, default=None):
        self.looks[key] += 1
        return super().get(key, default)


@pytest.fixture
def matched(monkeypatch):
    """The values that kinds of devices were compared with: a list."""
    asked, matches = [], DeviceKind.matches
    monkeypatch.setattr(
        DeviceKind, 'matches', lambda kind, values: asked.append(
            values) or matches(kind, values))
    return asked


def fit(requests, *pools):
    return pci_devices.HostDevices(some_pools(*pools), requests).fits()


def test_pools_that_differ_in_irrelevant_tags_are_compared_once(matched):
    requests = DeviceRequests([a_pci_request(1, {'product_id': '1520'})])

    assert all(fit(requests, a_pool(address=f'0000:{number}', rp_uuid='p'))
               for number in range(20))
    assert matched == [{'product_id': '1520'}]


@pytest.mark.parametrize('tag', [
    'product_id', 'dev_type', 'remote_managed', 'live_migratable'])
def test_pools_that_differ_in_relevant_tags_are_each_compared(tag, matched):
    requests = DeviceRequests([a_pci_request(1, {'product_id': 'a'})])

    for value in ('a', 'b'):
        fit(requests, a_pool(address='x', **{tag: value}))

    assert len(matched) == 2


def test_equal_requests_are_compared_once(matched):
    """Keys for Placement are ignored."""
    requests = DeviceRequests([
        a_pci_request(1, {'vendor_id': '8086', 'traits': f'T{number}'})
        for number in range(64)])

    assert fit(requests, a_pool(address='x', count=64))
    assert len(matched) == 1


def test_hosts_of_two_eras_are_matched_separately():
    requests = DeviceRequests([a_pci_request(1, {'physical_network': 'A'})])

    assert [fit(requests, a_pool(physical_network='a', **tags))
            for tags in ({}, {'address': 'x'}, {})] == [False, True, False]


def test_missing_kind_ends_the_check():
    """Devices of the other kinds are not read."""
    pool = WatchedDict(a_pool(count=99))
    requests = DeviceRequests([
        *[a_pci_request(1, {'vendor_id': '8086'})] * 63,
        a_pci_request(1, {'vendor_id': 'other'})])
    devices = pci_devices.HostDevices(Pools('', ((pool,), True)), requests)
    pool.looks.clear()

    assert not devices.fits(cells=pci_devices.Cells(frozenset({0}), {0: 0}))
    assert not pool.looks


def test_taken_returns_the_pools_before_the_failing_request():
    pools = some_pools(a_pool(product_id='a', count=3))
    requests = DeviceRequests([
        a_pci_request(1), a_pci_request(1), a_pci_request(9),
        a_pci_request(1)])

    left, served = pci_devices.HostDevices(pools, requests).taken()

    assert served == 2
    assert left.pools == [a_pool(product_id='a', count=1)]


def test_unused_pools_are_returned_unchanged():
    pools = some_pools(a_pool())
    requests = DeviceRequests([a_pci_request(2)])

    assert pci_devices.HostDevices(pools, requests).taken() == (pools, 0)


def test_providers_of_each_request_follow_the_mapping():
    requests = DeviceRequests([
        a_pci_request(1, {'rp_uuids': 'u,v'}, request_id='a'),
        a_pci_request(1, {'rp_uuids': 'u'}, request_id='b', alias_name=None),
        a_pci_request(1, request_id='c')])

    assert [requests.providers(mapping) for mapping in (
        {'a-0': ['p1'], 'a-1': ['p2', 'p3'], 'b-0': ['p4'], '': ['p5']},
        {'a-0': ['p6'], 'a-1': [], 'b-0': ['p4'], '': ['p5']},
        {'c-0': ['p7']}, {}, None)] == [
            (('p1', 'p2'), (), ()), (('p6',), (), ()), ((), (), ('p7',)),
            (('u', 'v'), (), ()), (('u', 'v'), (), ())]


def test_special_devices_are_not_free():
    devices = pci_devices.HostDevices(
        some_pools(a_pool(count=1, numa_node=1), a_pool(count=2),
                   a_pool(count=4, dev_type='type-PF'),
                   a_pool(count=8, numa_node=1, product_id='x')),
        DeviceRequests([a_pci_request(1, {'product_id': '1520'}),
                           a_pci_request(1, {'product_id': 'x'})]))

    assert devices.free_on_nodes(0) == {1: 1, None: 2}
    assert devices.free_on_nodes(1) == {1: 8}
