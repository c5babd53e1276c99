"""Two PCI requests of one guest, one of them with the socket policy."""

import itertools

import pytest

from nova_sched.hardware.numa import selection
from nova_sched.hardware.pci import devices
from tests.builders.numa import a_cell
from tests.builders.numa import free
from tests.builders.numa import metadata
from tests.builders.numa import requirements
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import some_pools
from tests.builders.pci import take

#: Six cells in three sockets.
HOSTS = [a_cell(number, socket=number // 2, networks=['p1'] * (number == 4))
         for number in range(6)]
SOCKETS = {cell.id: cell.socket for cell in HOSTS}
#: Cards near to the cells 1 and 4, and accelerators near to 3 and 4.
POOLS = some_pools(
    a_pool(numa_node=1, product_id='10fb'),
    a_pool(numa_node=4, product_id='10fb'),
    a_pool(numa_node=3, product_id='1520', count=2),
    a_pool(numa_node=4, product_id='1520'))
EVERY = range(1 << len(HOSTS))


def a_request(product, policy, count=1):
    return a_pci_request(count, {'product_id': product}, numa_policy=policy)


def rules(*requests, networks=None):
    return selection.SelectionRules.of(
        HOSTS, requirements(pci=requests, networks=networks), POOLS,
        free)


def positions(mask):
    return [position for position in range(len(HOSTS)) if mask >> position & 1]


def allowed(requests, chosen):
    """The expected result, without the shortcuts of the rules."""
    return take(POOLS, requests, cells=devices.Cells(
        frozenset(HOSTS[position].id for position in positions(chosen)),
        SOCKETS)) is not None


@pytest.mark.parametrize('socket_first', [True, False])
@pytest.mark.parametrize('policy', ['required', 'legacy', 'preferred'])
def test_each_selection_is_evaluated_by_its_sockets(policy, socket_first):
    """Even if a selection with the same relevant cells was evaluated."""
    requests = [a_request('10fb', 'socket'), a_request('1520', policy)]
    if not socket_first:
        requests.reverse()
    made = rules(*requests)

    assert [made.allow(chosen) for chosen in EVERY] == [
        allowed(requests, chosen) for chosen in EVERY]


@pytest.mark.parametrize('networks', [None, metadata('p1')])
@pytest.mark.parametrize('socket_first', [True, False])
def test_allow_some_agrees_with_allow(networks, socket_first):
    requests = [a_request('10fb', 'socket'), a_request('1520', 'required')]
    if not socket_first:
        requests.reverse()
    made = rules(*requests, networks=networks)
    good = {chosen for chosen in EVERY if made.allow(chosen)}

    for chosen, count in itertools.product((0, 0b1, 0b1000), (1, 2)):
        for others in EVERY:
            if not chosen & others:
                assert made.allow_some(chosen, others, count) == any(
                    chosen | some in good for some in EVERY
                    if some & ~others == 0 and some.bit_count() == count)


def test_cell_with_an_unknown_socket_is_near_to_itself_only():
    hosts = [*HOSTS[:5], a_cell(5, socket=None)]
    made = selection.SelectionRules.of(
        hosts, requirements(pci=[a_request('10fb', 'socket')]), POOLS,
        free)

    assert [made.allow(1 << position) for position in range(6)] == [
        False, True, False, False, True, False]
