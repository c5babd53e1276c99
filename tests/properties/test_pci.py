"""Properties of taking PCI devices, for any pools and requests."""

import collections

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from nova_sched.hardware.pci import devices as pci_devices
from nova_sched.hardware.pci.pools import Pools
from tests.builders.pci import a_pci_request
from tests.builders.pci import take
from tests.properties.strategies import PCI_REQUESTS
from tests.properties.strategies import PCI_STATS

ANY = settings(max_examples=200, deadline=None)
POOLS = PCI_STATS.map(Pools.of)
REQUESTS = PCI_REQUESTS.map(lambda found: found.requests)
NAMES_A_PROVIDER = [{'vendor_id': '8086', 'rp_uuids': 'p1'}]
FROM_ANYWHERE = REQUESTS.filter(lambda requests: all(
    request.spec != NAMES_A_PROVIDER for request in requests))
CELLS = st.builds(
    lambda chosen, sockets: pci_devices.Cells(
        frozenset(chosen), dict(enumerate(sockets))),
    st.sets(st.integers(0, 1), min_size=1),
    st.lists(st.sampled_from([None, 0, 1]), min_size=2, max_size=2))


def kinds(pools):
    """The number of devices of each kind: Counter."""
    found = collections.Counter()
    for pool in pools:
        found[tuple(sorted((key, str(value)) for key, value in pool.items()
                           if key != 'count'))] += pool['count']
    return found


@given(pools=POOLS, requests=FROM_ANYWHERE, cells=st.none() | CELLS)
@ANY
def test_requested_number_of_devices_is_taken(pools, requests, cells):
    """No new kind appears, and no pool is overdrawn."""
    left = take(pools, requests, cells=cells)

    if left is not None:
        assert left.free_by_node.total() == pools.free_by_node.total() - sum(
            request.count for request in requests)
        assert kinds(left) <= kinds(pools)
        assert all(pool['count'] >= 0 for pool in left)


@given(pools=POOLS, requests=REQUESTS, cells=st.none() | CELLS)
@ANY
def test_requests_in_sequence_take_the_same_as_together(pools, requests,
                                                        cells):
    left = pools
    for request in requests:
        left = left and take(left, [request], cells=cells)

    together = take(pools, requests, cells=cells)
    assert (left and left.pools) == (together and together.pools)


@given(pools=POOLS, requests=REQUESTS, cells=CELLS)
@ANY
def test_request_that_fits_near_cells_fits_anywhere(pools, requests, cells):
    for request in requests:
        if take(pools, [request], cells=cells) is not None:
            assert take(pools, [request]) is not None


@given(pools=POOLS, number=st.integers(0, 3), cells=st.none() | CELLS)
@ANY
def test_request_with_a_provider_takes_its_devices(pools, number, cells):
    """As many as the provider is listed for, not the request's count."""
    left = take(pools, [a_pci_request(
        count=number, spec=NAMES_A_PROVIDER)], cells=cells)

    if left is not None:
        assert pools.is_newer
        assert sum((kinds(pools) - kinds(left)).values()) == 1
        assert all(('rp_uuid', 'p1') in kind
                   for kind in kinds(pools) - kinds(left))


@given(pools=POOLS, requests=FROM_ANYWHERE)
@ANY
def test_mapping_of_other_groups_has_no_effect(pools, requests):
    assert take(pools, requests, {'': ['u'], 'other-0': ['p9']}) == take(
        pools, requests)
