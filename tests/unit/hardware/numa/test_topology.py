"""Fitting a guest's cells on a host's: order, selections, candidates."""

import pytest

from nova_sched.hardware.numa import guest as numa_guest
from nova_sched.hardware.numa import search as numa_search
from nova_sched.hardware.numa.topology import Fitting
from tests.builders.numa import a_cell
from tests.builders.numa import a_topology
from tests.builders.numa import guest_cell
from tests.builders.numa import requirements
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import some_pools

LIMITS = numa_guest.Limits(16.0, 1.5)


def fitting(cells, required, pools=None, newer=True, pack=False):
    return Fitting(a_topology(*cells, newer=newer), required, pools, LIMITS,
                   pack)


def chosen(*args, **kwargs):
    """Ids of the host cells of the placed guest cells, or None."""
    guests = fitting(*args, **kwargs).fit()
    return guests and [guest.id for guest in guests]


ONE = requirements(guest_cell(floating=1))
PINNED = requirements(guest_cell(pinned=1))
TWO = requirements(guest_cell(0, floating=1), guest_cell(1, floating=1))
DEVICE = requirements(guest_cell(floating=1), pci=[
    a_pci_request(1, {'vendor_id': '8086'}, numa_policy='required')])


@pytest.mark.parametrize(('pack', 'expected'), [(False, [2]), (True, [1])])
def test_freest_host_cell_comes_first_unless_packing(pack, expected):
    cells = [a_cell(0, memory_usage=1), a_cell(1, memory_usage=2), a_cell(2)]

    assert chosen(cells, ONE, pack=pack) == expected


@pytest.mark.parametrize(('pack', 'expected'), [(False, [1]), (True, [0])])
def test_cpu_usage_counts_more_than_memory(pack, expected):
    cells = [a_cell(0, cpu_usage=3), a_cell(1, memory_usage=2)]

    assert chosen(cells, ONE, pack=pack) == expected


@pytest.mark.parametrize(('pack', 'expected'), [(False, [1]), (True, [0])])
def test_free_cpus_order_cells_for_pinned_guests(pack, expected):
    cells = [a_cell(0, pinned_cpus={0}), a_cell(1, cpu_usage=3)]

    assert chosen(cells, PINNED, pack=pack) == expected


def test_cells_with_devices_come_first_only_for_device_requests():
    cells = [a_cell(0), a_cell(1), a_cell(2, cpu_usage=1)]
    pools = some_pools(a_pool(numa_node=0), a_pool(numa_node=1, count=2))

    assert chosen(cells, ONE, pools) == [2]
    assert chosen(cells, DEVICE, pools) == [1]


def test_cells_keep_their_order_if_all_are_needed():
    assert chosen([a_cell(0, memory_usage=9), a_cell(1)], TWO) == [0, 1]


SMALL_AND_BIG = [a_cell(0, memory=1024), a_cell(1, memory=2048),
                 a_cell(2, memory=1024)]
UNEVEN = requirements(guest_cell(0, floating=1, memory=1024),
                guest_cell(1, floating=1, memory=2048))


def test_guest_cells_share_verdicts_under_their_ids():
    """A guest that would fit may be refused, as in Nova."""
    assert chosen(SMALL_AND_BIG, UNEVEN) is None


def test_before_train_verdicts_are_not_shared():
    assert chosen(SMALL_AND_BIG, UNEVEN, newer=False) == [0, 1]


class TestBeforeTrain:
    def test_cells_keep_their_order(self):
        cells = [a_cell(0, memory_usage=9), a_cell(1)]

        assert chosen(cells, ONE, newer=False) == [0]

    def test_cells_with_pools_come_last_even_if_empty(self):
        cells = [a_cell(0), a_cell(1)]
        pools = some_pools(a_pool(numa_node=0, count=0))

        assert chosen(cells, ONE, pools, newer=False) == [1]

    def test_mixed_guest_is_placed_by_current_rules(self):
        required = requirements(guest_cell(floating=2, pinned=2))

        assert chosen([a_cell(0, cpus=range(2))], required, newer=False) == [0]
        assert chosen([a_cell(0, cpus=range(1))], required,
                      newer=False) is None


def test_emulators_cpu_is_on_the_host_cell_with_guest_cell_0():
    required = requirements(guest_cell(0, pinned=4), guest_cell(1, pinned=4),
                            emulator='isolate')
    cells = [a_cell(0, cpus=range(4)), a_cell(1, cpus=range(4, 9))]

    first, second = fitting(cells, required).fit()

    assert (first.id, len(first.reserved)) == (1, 1)
    assert (second.id, second.reserved) == (0, frozenset())


def test_each_candidate_starts_from_the_previous_attempt():
    """The second attempt requires the page size of the first."""
    cells = [a_cell(0, pages=[(2048, 1024)]), a_cell(1, pages=[(4, 1024)])]
    required = requirements(guest_cell(floating=1, memory=4, pagesize=-3))
    both = fitting(cells, required)

    assert both.verdicts([None, {}]) == [True, True]
    assert both.fit()[0].pagesize == 2048


@pytest.mark.parametrize('newer', [True, False])
@pytest.mark.parametrize(('pagesize', 'pages', 'expected'), [
    (None, [], [1, 2]), (-3, [(2048, 512)], [1, 2]),
    (4096, [(2048, 512)], None)])
def test_early_check_does_not_change_the_result(
        monkeypatch, newer, pagesize, pages, expected):
    monkeypatch.setattr(numa_search.Search, 'FIRST_LOOK', 1)
    cells = [a_cell(0, memory=1, pages=[(2048, 1)] if pages else []),
             *(a_cell(number, pages=pages) for number in (1, 2))]
    required = requirements(*(guest_cell(number, floating=1, pagesize=pagesize)
                              for number in (0, 1)))

    assert chosen(cells, required, newer=newer) == expected


def test_impossible_attempt_ends_at_the_first_check(monkeypatch):
    """The next attempt starts with unchanged guest cells."""
    searches = []

    class Search(numa_search.Search):
        def find(self):
            searches.append(self)
            return super().find()
    monkeypatch.setattr(numa_search, 'Search', Search)
    cells = [a_cell(number) for number in range(8)]
    required = requirements(*(guest_cell(number, floating=1)
                              for number in range(6)), pci=DEVICE.pci)
    for given in ({}, {'final': True}, {'final': False}):
        far = fitting(cells, required, some_pools(a_pool(numa_node=20)))
        assert far.fit(**given) is None

    assert {search._steps for search in searches} == {
        numa_search.Search.FIRST_LOOK}
    assert far._guests == [*required.cells]
