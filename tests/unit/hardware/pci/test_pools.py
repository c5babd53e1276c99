"""The PCI devices reported by a host."""

import json
import logging

import pytest

from nova_sched.hardware import reports
from nova_sched.hardware.pci.pools import Pools
from tests.builders.pci import a_pool
from tests.builders.pci import pci_stats
from tests.builders.pci import some_pools

NIC = {'vendor_id': '8086', 'product_id': '1520', 'numa_node': 1, 'count': 4,
       'dev_type': 'type-VF'}


@pytest.fixture(autouse=True)
def nothing_warned_of():
    reports.warn_once.cache_clear()


@pytest.mark.parametrize('text', [
    pci_stats(NIC), json.dumps([NIC]), json.dumps(NIC)],
    ids=['versioned object', 'list of dicts', 'one dict'])
def test_reports_of_all_eras_are_read(text):
    assert Pools.of(text).pools == [NIC]


@pytest.mark.parametrize('text', [None, '', '[]', pci_stats()])
def test_host_without_pools_has_none(text, caplog):
    assert Pools.of(text).pools == []
    assert not caplog.messages


@pytest.mark.parametrize(('text', 'fault'), [
    ('{', 'no JSON text'),
    ('[' * 100_000, 'no JSON text'),
    ('"text"', 'no list of PCI pools'),
    ('[[]]', 'a PCI pool that is no dict'),
    ('[{"vendor_id": "8086"}]', 'a PCI pool without a count'),
    ('[{"count": "many"}]', 'a PCI pool without a count'),
    ('[{"count": -1}]', 'a PCI pool without a count'),
    ('[{"count": 1, "numa_node": "left"}]',
     'a PCI pool with a numa_node that is no number'),
    ('[{"count": 1, "rp_uuid": ["a"]}]',
     'a PCI pool with a tag that is no text'),
    ('{"nova_object.data": []}', 'a PCI pool list without objects'),
    ('{"nova_object.data": {"objects": {}}}',
     'a PCI pool list without objects'),
    ('{"nova_object.data": {"objects": [7]}}', 'a PCI pool that is no object'),
    ('{"nova_object.data": {"objects": [{"nova_object.data":'
     ' {"count": 1, "tags": "x"}}]}}', 'a PCI pool that is no dict'),
])
def test_unreadable_report_has_no_pools(text, fault, caplog):
    assert Pools.of(text).pools == []
    assert caplog.messages == [
        'A compute node row holds unreadable pci_stats, which count as '
        f'absent: {fault}']


def test_each_fault_is_logged_once(caplog):
    """For any number of hosts."""
    with caplog.at_level(logging.WARNING):
        for number in range(20):
            assert len(Pools.of(f'broken {number}')) == 0

    assert len(caplog.messages) == 1


def test_numbers_become_text_and_ids_may_be_missing():
    pool, = Pools.of('[{"count": 2, "slot": 7}]')

    assert pool == {'vendor_id': None, 'product_id': None, 'count': 2,
                    'numa_node': None, 'slot': '7'}


def test_pools_are_ordered_by_their_number_of_keys():
    """Pools with equal numbers of keys keep their order."""
    first, second = a_pool(product_id='1', a='x'), a_pool(product_id='2')
    third = a_pool(product_id='3', b='y')

    assert some_pools(first, second, third).pools == [second, first, third]


def test_free_devices_are_counted():
    pools = some_pools(a_pool(count=2, numa_node=0), a_pool(count=4),
                       a_pool(count=8, numa_node=0))

    free = pools.free_by_node
    assert (free.total(), free, free[1]) == (14, {0: 10, None: 4}, 0)


@pytest.mark.parametrize(('tags', 'newer'), [
    ({}, False),
    ({'dev_type': 'type-VF', 'physical_network': 'p', 'own': 'x'}, False),
    ({'address': '0000:00:01.0'}, True),
    ({'remote_managed': 'false'}, True),
    ({'rp_uuid': 'u'}, True),
    ({'live_migratable': 'true'}, True),
    ({'parent_ifname': 'ens1'}, True),
])
def test_tags_identify_reports_newer_than_queens(tags, newer):
    assert some_pools(a_pool(), a_pool(**tags)).is_newer is newer


def test_pools_with_equal_text_are_equal():
    pools = some_pools(NIC)

    assert pools == some_pools(NIC)
    assert hash(pools) == hash(some_pools(NIC))
    assert pools != some_pools()
    assert pools != pci_stats(NIC)


def test_remaining_pools_keep_their_era():
    """Even if the pools with the identifying tags are gone."""
    pools = some_pools(a_pool(count=3), a_pool(address='0000:00:01.0'))

    left = pools.with_pools([a_pool(count=3)])

    assert left.pools == [a_pool(count=3)]
    assert left.is_newer
    assert left != some_pools(a_pool(count=3))
    assert left == pools.with_pools([a_pool(count=3)])
    assert hash(left) == hash(pools.with_pools([a_pool(count=3)]))


def test_pools_are_returned_as_copies():
    pools = some_pools(NIC)
    for pool in pools:
        pool['count'] = 0
    pools.pools.clear()

    assert pools.pools == [NIC]
