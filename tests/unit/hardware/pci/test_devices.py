"""Taking PCI devices out of a host's pools."""

import pytest

from nova_sched.hardware.pci import devices as pci_devices
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import some_pools
from tests.builders.pci import take

NEWER = {'address': '0000:00:01.0'}
SPEC = {'vendor_id': '8086', 'product_id': '1520'}


def left(pools, *requests, mapping=None, cells=None):
    """(product, count) of the pools left; None if there are too few."""
    found = take(pools, list(requests), mapping, cells)
    return found and [(pool['product_id'], pool['count']) for pool in found]


def fits(tags, spec, newer=True):
    """Whether a spec matches the devices of a pool with these tags."""
    era = NEWER if newer else {}
    return left(some_pools(a_pool(count=2, **tags, **era)),
                a_pci_request(1, spec)) is not None


P1, P2, P3 = (a_pool(count=2, numa_node=0), a_pool(count=4, numa_node=1),
              a_pool(count=1))


def provided(*pairs, era=NEWER):
    """Pools of product 'a', 'b' ... with these (count, provider)."""
    return some_pools(*(
        a_pool(product_id=chr(ord('a') + number), count=count, rp_uuid=uuid,
               **era)
        for number, (count, uuid) in enumerate(pairs)))


class TestProviders:
    def test_provider_with_two_pools_cannot_be_used(self, caplog):
        pci_devices._warn_ambiguous.cache_clear()
        pools = provided((2, 'u1'), (3, 'twice'), (3, 'twice'))

        for _ in range(2):
            assert left(pools, a_pci_request(1),
                        mapping={'nic-id-0': ['u1']}) is None

        assert caplog.messages == [
            'The PCI devices of resource provider twice are in several pools '
            'of their host, so they cannot be used']


class TestTaking:
    @pytest.mark.parametrize('counts, wanted, found', [
        ((2, 2, 2), 3, [('b', 1), ('c', 2)]),
        ((0, 2, 0), 1, [('b', 1), ('c', 0)])])
    def test_pools_are_used_in_order(self, counts, wanted, found):
        """Empty pools go when they are reached."""
        pools = some_pools(*(
            a_pool(product_id=name, count=count)
            for name, count in zip('abc', counts, strict=True)))

        assert left(pools, a_pci_request(wanted)) == found

    def test_given_pools_are_unchanged(self):
        pools = some_pools(P1, P2)

        take(pools, [a_pci_request(3)])

        assert pools.pools == [P1, P2]
