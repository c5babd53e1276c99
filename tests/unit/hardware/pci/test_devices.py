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


class TestMatching:
    @pytest.mark.parametrize(('spec', 'matches'), [
        ({'vendor_id': '8086'}, True),
        ({'vendor_id': '8086', 'product_id': '9999'}, False),
        ({'physical_network': 'net'}, True),
        ({'unknown': 'x'}, False),
        ({'unknown': None}, True),
        ({}, True),
    ])
    @pytest.mark.parametrize('newer', [True, False])
    def test_each_key_of_a_spec_must_be_equal(self, spec, matches, newer):
        """A missing key of the pool is null."""
        assert fits({'physical_network': 'net'}, spec, newer) is matches

    def test_one_matching_spec_is_enough(self):
        pools = some_pools(a_pool(product_id='b', count=2))

        assert left(pools, a_pci_request(
            1, {'product_id': 'a'}, {'product_id': 'b'})) == [('b', 1)]

    def test_request_without_a_spec_matches_nothing(self):
        assert left(some_pools(a_pool()), a_pci_request(0, spec=[])) is None

    @pytest.mark.parametrize(('newer', 'matches'),
                             [(True, True), (False, False)])
    def test_only_queens_is_case_sensitive(self, newer, matches):
        assert fits({'physical_network': 'Net'},
                    {'physical_network': 'nET'}, newer) is matches

    @pytest.mark.parametrize('key', ['resource_class', 'traits', 'rp_uuids',
                                     'rp_uuid'])
    def test_keys_for_placement_are_tags_in_queens(self, key):
        assert fits({}, {key: 'CUSTOM_X', 'vendor_id': '8086'},
                    newer=True) is (key != 'rp_uuids')
        assert not fits({}, {key: 'CUSTOM_X'}, newer=False)


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
        assert fits({'dev_type': kind}, spec, newer) is matches

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
        tags = NEWER | ({} if tag is None else {'live_migratable': tag})
        pools = some_pools(a_pool(count=2, **tags))

        assert (left(pools, a_pci_request(1, *specs)) is not None) is matches


P1, P2, P3 = (a_pool(count=2, numa_node=0), a_pool(count=4, numa_node=1),
              a_pool(count=1))


class TestCells:
    """The specification's example: three pools, a guest on cell 0."""

    @pytest.mark.parametrize(('policy', 'count', 'counts'), [
        ('required', 2, [4, 1]),
        ('required', 3, None),
        ('legacy', 3, [4]),
        (None, 3, [4]),
        (None, 4, None),
        ('legacy', 4, None),
        ('preferred', 4, [3]),
        ('preferred', 7, []),
        ('preferred', 8, None),
        ('socket', 2, [4, 1]),
        ('socket', 6, [1]),
        ('socket', 7, None),
    ])
    def test_policy_determines_how_near_devices_are(
            self, policy, count, counts):
        cells = pci_devices.Cells(frozenset({0}), {0: 0, 1: 0})
        request = a_pci_request(count, numa_policy=policy)

        found = left(some_pools(P1, P2, P3), request, cells=cells)

        assert (found and [count for _, count in found]) == counts

    @pytest.mark.parametrize('sockets', [
        {0: 0, 1: 1}, {0: None, 1: None}, {0: 0, 1: 0, 2: None}])
    def test_devices_of_other_sockets_are_too_far(self, sockets):
        """All are if the socket of any cell is unknown."""
        request = a_pci_request(3, numa_policy='socket')

        assert left(some_pools(P1, P2, P3), request,
                    cells=pci_devices.Cells(frozenset({0}), sockets)) is None

    def test_any_device_is_near_without_cells(self):
        request = a_pci_request(7, numa_policy='required')

        assert left(some_pools(P1, P2, P3), request) == []

    def test_near_devices_and_devices_without_a_node_are_taken_in_order(self):
        pools = some_pools(a_pool(product_id='far', numa_node=1, count=9),
                           a_pool(product_id='none', count=2),
                           a_pool(product_id='near', numa_node=0, count=1))
        cells = pci_devices.Cells(frozenset({0}), {0: 0, 1: 0})

        assert left(pools, a_pci_request(2), cells=cells) == [
            ('far', 9), ('near', 1)]


def provided(*pairs, era=NEWER):
    """Pools of product 'a', 'b' ... with these (count, provider)."""
    return some_pools(*(
        a_pool(product_id=chr(ord('a') + number), count=count, rp_uuid=uuid,
               **era)
        for number, (count, uuid) in enumerate(pairs)))


class TestProviders:
    @pytest.mark.parametrize(('mapping', 'expected'), [
        ({'nic-id-0': ['u1'], 'nic-id-1': ['u2'], '': ['root']},
         [('a', 1), ('b', 2)]),
        ({'nic-id-0': ['u2'], 'nic-id-1': ['u2']}, [('a', 2), ('b', 1)]),
        ({'nic-id-0': ['u1', 'u2'], 'nic-id-1': ['u1', 'u2']}, [('b', 3)]),
        ({'nic-id-0': ['u3'], 'nic-id-1': ['u3']}, None),
        ({'nic-id-0': ['u1'], 'nic-id-1': ['u3']}, [('a', 1), ('b', 3)]),
        ({'': ['root']}, [('b', 3)]),
    ])
    def test_devices_come_from_the_providers_of_the_candidate(
            self, mapping, expected):
        """Groups of other requests do not matter."""
        assert left(provided((2, 'u1'), (3, 'u2')), a_pci_request(2),
                    mapping=mapping) == expected

    def test_provider_must_have_enough_devices(self):
        mapping = {f'nic-id-{number}': ['u1'] for number in range(3)}

        assert left(provided((2, 'u1'), (9, 'u2')), a_pci_request(1),
                    mapping=mapping) is None

    def test_port_takes_devices_of_any_provider(self):
        request = a_pci_request(2, alias_name=None)

        assert left(provided((2, 'u1'), (3, 'u2')), request,
                    mapping={'nic-id-0': ['u2']}) == [('b', 3)]

    @pytest.mark.parametrize('mapping', [None, {}])
    def test_first_spec_may_name_the_providers(self, mapping):
        request = a_pci_request(2, SPEC | {'product_id': 'a'},
                                SPEC | {'product_id': 'b'})
        request.spec[0]['rp_uuids'] = 'u2,u2'

        assert left(provided((2, 'u1'), (3, 'u2')), request,
                    mapping=mapping) == [('a', 2), ('b', 1)]

    def test_provider_with_two_pools_cannot_be_used(self, caplog):
        pci_devices._warn_ambiguous.cache_clear()
        pools = provided((2, 'u1'), (3, 'twice'), (3, 'twice'))

        for _ in range(2):
            assert left(pools, a_pci_request(1),
                        mapping={'nic-id-0': ['u1']}) is None

        assert caplog.messages == [
            'The PCI devices of resource provider twice are in several pools '
            'of their host, so they cannot be used']

    def test_request_without_an_id_has_no_groups(self):
        request = a_pci_request(2, request_id=None)

        assert left(provided((2, 'u1')), request,
                    mapping={'nic-id-0': ['u2']}) == []


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

    def test_each_request_finds_the_remaining_devices(self):
        pools = some_pools(a_pool(product_id='a', count=2),
                           a_pool(product_id='b', count=1))
        first = a_pci_request(2)
        second = a_pci_request(1, {'product_id': 'a'})

        assert left(pools, second, first) == []
        assert left(pools, first, second) is None

    def test_no_requests_take_nothing(self):
        assert left(some_pools(P1)) == [('1520', 2)]

    def test_given_pools_are_unchanged(self):
        pools = some_pools(P1, P2)

        take(pools, [a_pci_request(3)])

        assert pools.pools == [P1, P2]
