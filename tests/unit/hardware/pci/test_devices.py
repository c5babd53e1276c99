"""Taking PCI devices out of a host's pools.

The recorded decisions of tests/vectors hold most verdicts.
"""

import pytest

from nova_sched.hardware.pci import devices as pci_devices
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import some_pools
from tests.builders.pci import take

NEWER = {'address': '0000:00:01.0'}
SPEC = {'vendor_id': '8086', 'product_id': '1520'}


def fits(tags, *specs, newer=True):
    """Whether the specs match the devices of a pool with these tags."""
    pools = some_pools(a_pool(count=2, **tags, **NEWER if newer else {}))
    return take(pools, [a_pci_request(1, *specs)]) is not None


class TestSpecialKinds:
    @pytest.mark.parametrize(('kind', 'spec', 'newer', 'matches'), [
        ('type-PF', SPEC, True, False),
        ('type-PF', SPEC, False, False),
        ('type-PF', {'dev_type': 'type-PF'}, True, True),
        ('type-PF', {'dev_type': 'type-PF'}, False, True),
        ('vdpa', SPEC, True, False),
        ('vdpa', SPEC, False, True),
        ('vdpa', {'dev_type': 'vdpa'}, True, True),
        ('type-VF', SPEC, True, True),
        ('type-PCI', SPEC, True, True),
    ])
    def test_physical_functions_and_vdpa_must_be_requested(
            self, kind, spec, newer, matches):
        """vDPA is not special in Queens."""
        assert fits({'dev_type': kind}, spec, newer=newer) is matches

    @pytest.mark.parametrize(('tag', 'spec', 'matches'), [
        ('true', SPEC, False),
        ('Yes', SPEC, False),
        ('1', SPEC, False),
        ('false', SPEC, True),
        ('sometimes', SPEC, True),
        ('true', {'remote_managed': 'True'}, True),
        ('false', {'remote_managed': 'True'}, False),
    ])
    def test_devices_managed_by_a_smartnic_must_be_requested(self, tag, spec,
                                                     matches):
        assert fits({'remote_managed': tag}, spec) is matches

    @pytest.mark.parametrize(('tag', 'specs', 'matches'), [
        ('true', [{'live_migratable': 'true'}], True),
        ('false', [{'live_migratable': 'true'}], False),
        ('false', [{'live_migratable': 'false'}], True),
        (None, [{'live_migratable': 'false'}], False),
        ('true', [{'live_migratable': 'false'}, SPEC], True),
        (None, [SPEC], True),
    ])
    def test_live_migratable_must_match_if_all_specs_agree(
            self, tag, specs, matches):
        tags = {} if tag is None else {'live_migratable': tag}

        assert fits(tags, *specs) is matches


def test_provider_with_two_pools_cannot_be_used(caplog):
    pci_devices._warn_ambiguous.cache_clear()
    pools = some_pools(*(a_pool(count=3, rp_uuid=uuid, **NEWER)
                         for uuid in ('one', 'twice', 'twice')))

    for _ in range(2):
        assert take(pools, [a_pci_request(1)], {'nic-id-0': ['one']}) is None

    assert caplog.messages == [
        'The PCI devices of resource provider twice are in several pools '
        'of their host, so they cannot be used']


@pytest.mark.parametrize('counts, wanted, found', [
    ((2, 2, 2), 3, [1, 2]), ((0, 2, 0), 1, [1, 0])])
def test_pools_are_used_in_order(counts, wanted, found):
    """Empty pools go when they are reached."""
    pools = some_pools(*(a_pool(product_id=str(number), count=count)
                         for number, count in enumerate(counts)))
    before = pools.pools

    left = take(pools, [a_pci_request(wanted)])

    assert [pool['count'] for pool in left] == found
    assert pools.pools == before
