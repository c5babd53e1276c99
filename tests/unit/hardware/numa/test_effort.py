"""The bound of the search for host cells."""

import pytest

from nova_sched.hardware.numa import cell_fit
from nova_sched.hardware.numa import effort
from nova_sched.hardware.numa import guest as numa_guest
from nova_sched.hardware.numa import search as numa_search
from nova_sched.hardware.numa import topology
from nova_sched.hardware.pci import devices
from tests.builders import numa
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import some_pools

CELLS = 32
#: Devices of two kinds, alternating, one at each cell.
IN_TURN = [a_pool(numa_node=node, product_id='ab'[node % 2])
           for node in range(CELLS)]


def wanted(count, product, policy='required'):
    return a_pci_request(count, {'product_id': product}, numa_policy=policy)


def a_fitting(cells, guests, requests, pools, newer=True, **cell):
    """A Fitting with these numbers of host cells and guest cells."""
    guest = [numa.guest_cell(number, pinned=1, **cell)
             for number in range(guests)]
    host = [numa.a_cell(number, cpus=range(8 * number, 8 * number + 8),
                        socket=number // 2, pages=[(4, 10 ** 6), (2048, 500)])
            for number in range(cells)]
    return topology.Fitting(
        numa.a_topology(*host, newer=newer),
        numa.requirements(*guest, pci=requests), some_pools(*pools),
        numa_guest.Limits(16.0, 1.5))


#: Each device can be near a selection, but never all.
WORST = {
    'apart': ([wanted(9, 'a'), wanted(9, 'b')], IN_TURN),
    'the same': ([wanted(9, 'a'), wanted(9, 'a')], IN_TURN),
    'sockets': ([wanted(9, 'a', 'socket'), wanted(9, 'a', 'required')],
                IN_TURN),
    'many pools': ([wanted(72, 'a'), wanted(72, 'b')], [
        {**pool, 'tag': str(tag)} for pool in IN_TURN for tag in range(8)]),
    'more requests': ([wanted(1, 'a')] * 20 + [wanted(8, 'b')], IN_TURN),
    'many requests': ([wanted(1, 'a')] * 40 + [wanted(1, 'b')] * 24, IN_TURN),
}


@pytest.mark.parametrize('newer', [True, False])
@pytest.mark.parametrize('pagesize', [None, -3])
@pytest.mark.parametrize('worst', WORST)
def test_search_with_devices_is_bounded(monkeypatch, worst, pagesize, newer):
    requests, pools = WORST[worst]
    tried, taken = [], []
    for name, calls in (('place', tried), ('place_queens', tried)):
        monkeypatch.setattr(cell_fit, name, _counted(
            getattr(cell_fit, name), calls))
    monkeypatch.setattr(devices.HostDevices, 'fits', _counted(
        devices.HostDevices.fits, taken))

    fitting = a_fitting(CELLS, 16, requests, pools, newer, pagesize=pagesize)
    verdicts = fitting.verdicts([None, {}, {}])

    assert verdicts == [False] * 3
    most = effort.MOST + 2 * effort.EACH
    assert len(taken) * effort.VERDICT <= most
    assert len(tried) <= most + 3 * 16 * CELLS


def _counted(function, calls):
    def counting(*args, **kwargs):
        calls.append(1)
        return function(*args, **kwargs)
    return counting


@pytest.mark.parametrize('ids', [range(13), range(100, 113)])
def test_search_ends_if_guest_cells_differ_in_pages(ids):
    """No flavor has such cells, but a message may."""
    guest = [numa.guest_cell(id, pinned=1, pagesize=(-3, None, 4)[number % 3],
                             memory=512 << number % 4)
             for number, id in enumerate(ids)]
    host = [numa.a_cell(number, cpus=range(number, number + 1 + number % 3),
                        memory=(512, 1024, 2048)[number % 3],
                        pages=[(4, 1000 * (number % 5)), (2048, number % 2)])
            for number in range(CELLS)]
    fitting = topology.Fitting(
        numa.a_topology(*host), numa.requirements(*guest), None,
        numa_guest.Limits(1.0, 1.0))

    assert fitting.verdicts([None]) == [False]


def test_given_up_search_is_reported():
    apart = a_fitting(CELLS, 16, *WORST['apart'])
    alone = a_fitting(CELLS, 16, [wanted(17, 'a')], IN_TURN)
    for fitting in apart, alone:
        assert fitting.verdicts([None]) == [False]

    assert apart.is_given_up
    assert not alone.is_given_up


@pytest.mark.parametrize('guests', range(1, 9))
def test_result_on_eight_cells_is_exact(guests):
    pools = IN_TURN[:8]
    for number in range(1, 5):
        fitting = a_fitting(8, guests, [wanted(number, 'a'),
                                        wanted(number, 'b')], pools)

        assert fitting.verdicts([None]) == [2 * number <= guests]
        assert not fitting.is_given_up


def test_unrequested_devices_do_not_lengthen_the_search():
    fitting = a_fitting(16, 8, [wanted(1, 'c'), wanted(1, 'd')], [
        *IN_TURN[:16], a_pool(numa_node=14, product_id='c'),
        a_pool(numa_node=15, product_id='d')])

    assert fitting.verdicts([None]) == [True]


@pytest.mark.parametrize(('cells', 'guests', 'candidates'), [
    (2, 1, 200), (4, 2, 200), (8, 1, 100), (8, 2, 100), (8, 4, 20),
    (8, 8, 20), (32, 2, 100)])
def test_fitting_candidate_is_found_after_many_others(
        cells, guests, candidates):
    """Memory is on the first cells, and all devices but one are on others."""
    host = [numa.a_cell(number, cpus=range(8 * number, 8 * number + 8),
                        memory=4096 if number < guests else 0)
            for number in range(cells)]
    providers = [f'uuid-{number}' for number in range(candidates)]
    pools = [a_pool(numa_node=cells, rp_uuid=uuid) for uuid in providers]
    pools[-1]['numa_node'] = 0
    fitting = topology.Fitting(
        numa.a_topology(*host), numa.requirements(
            *(numa.guest_cell(number, pinned=1) for number in range(guests)),
            pci=[wanted_of('nic')]), some_pools(*pools),
        numa_guest.Limits(16.0, 1.5))

    verdicts = fitting.verdicts([{'nic-0': [uuid]} for uuid in providers])

    assert verdicts == [False] * (candidates - 1) + [True]
    assert not fitting.is_given_up


def wanted_of(request_id):
    return a_pci_request(1, request_id=request_id, numa_policy='required')


def test_guest_cells_with_equal_requirements_are_tried_once(monkeypatch):
    tried = []
    monkeypatch.setattr(cell_fit, 'place', _counted(cell_fit.place, tried))

    fitting = a_fitting(CELLS, 16, *WORST['apart'])
    for number, cell in enumerate(fitting._guests):
        cell.pcpuset = frozenset((number,))

    assert fitting.verdicts([None]) == [False]
    assert len(tried) < 2 * numa_search.Search.FIRST_LOOK


def test_guest_of_few_cells_fits_among_many_candidates():
    fitting = a_fitting(8, 4, [wanted(1, 'c')], [
        *IN_TURN[:8], a_pool(numa_node=7, product_id='c', rp_uuid='right')])

    assert all(fitting.verdicts([{}] * 100))
