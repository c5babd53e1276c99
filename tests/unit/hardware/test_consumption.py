"""What a placed instance takes of a host's cells and devices."""

import logging

import pytest

from nova_sched import objects
from nova_sched.hardware import consumption
from tests.builders.numa import FOUR_CORES
from tests.builders.numa import a_cell
from tests.builders.numa import a_guest
from tests.builders.numa import a_topology
from tests.builders.numa import guest_cell
from tests.builders.numa import tried
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_requests
from tests.builders.pci import some_pools
from tests.builders.requests import a_request

PAGES = [(4, 524288), (2048, 512)]
LIMITS = objects.NUMATopologyLimits(cpu_allocation_ratio=1.0,
                                    ram_allocation_ratio=1.0)


def taken(cells, spec, pools=None, newer=True, limits=None):
    """The host cells and the Hardware after an instance took its share."""
    hardware = consumption.Hardware(a_topology(*cells, newer=newer), pools)
    hardware.take(spec, limits, None, pack=False)
    return hardware.topology.cells, hardware


def a_numa_request(*cells, pci=(), **kw):
    return a_request(numa_topology=a_guest(*cells, **kw),
                     pci_requests=pci_requests(*pci))


def test_floating_guests_use_cpus_memory_and_the_smallest_pages():
    (cell,), _ = taken([a_cell(pages=PAGES)], a_numa_request(
        guest_cell(floating=3)))

    assert (cell.cpu_usage, cell.memory_usage) == (3, 512)
    assert [pages.used for pages in cell.pages] == [131072, 0]
    assert not cell.pinned_cpus


def test_debug_tells_where_an_instance_goes(caplog):
    with caplog.at_level(logging.DEBUG, 'nova_sched.hardware'):
        taken([a_cell(pages=PAGES)], a_numa_request(guest_cell(pinned=2)))

    assert caplog.messages[-1] == (
        'Selected cores for pinning: [(0, 0), (1, 1)], in cell 0')


def test_pages_of_the_size_asked_for_are_used():
    (cell,), _ = taken([a_cell(pages=PAGES)], a_numa_request(
        guest_cell(floating=1, pagesize=-2)))

    assert [pages.used for pages in cell.pages] == [0, 256]


def test_pinned_guests_use_their_cpus_and_the_emulators():
    (cell,), _ = taken([a_cell(pages=PAGES)], a_numa_request(
        guest_cell(pinned=2), emulator='isolate'))

    assert cell.pinned_cpus == {0, 1, 2}
    assert cell.cpu_usage == 0


def test_isolated_guests_use_whole_cores():
    (cell,), _ = taken(
        [a_cell(pages=PAGES, siblings=FOUR_CORES)], a_numa_request(
            guest_cell(pinned=2, cpu_thread_policy='isolate')))

    assert cell.pinned_cpus == {0, 4, 1, 5}


@pytest.mark.parametrize(('policy', 'usage'), [(None, 3), ('isolate', 6)])
def test_before_train_pinned_cpus_count_as_used_too(policy, usage):
    """With the emulator's, and all threads of isolated cores."""
    (cell,), _ = taken(
        [a_cell(pages=PAGES, siblings=FOUR_CORES)], a_numa_request(
            guest_cell(pinned=2, cpu_thread_policy=policy),
            emulator='isolate'), newer=False)

    assert cell.cpu_usage == usage
    assert [pages.used for pages in cell.pages] == [0, 0]


def test_other_cells_stay_as_they_were():
    (first, second), _ = taken(
        [a_cell(0, pages=PAGES), a_cell(1, pages=PAGES, memory_usage=1)],
        a_numa_request(guest_cell(floating=1)))

    assert (first.memory_usage, second.memory_usage) == (512, 1)


def test_the_next_instance_asks_for_the_page_size_of_the_first():
    spec = a_numa_request(guest_cell(floating=1, pagesize=-3))
    asked = spec.numa_topology

    taken([a_cell(pages=[(2048, 512)])], spec)

    assert spec.numa_topology.cells[0].pagesize == 2048
    assert asked.cells[0].pagesize == -3


def test_the_limits_of_the_filters_hold():
    spec = a_numa_request(guest_cell(floating=3))

    (cell,), _ = taken([a_cell(pages=PAGES, cpu_usage=6)], spec,
                       limits=LIMITS)

    assert cell.cpu_usage == 6
    assert spec.numa_topology is None


def test_a_guest_that_does_not_fit_has_no_topology_any_more():
    spec = a_numa_request(guest_cell(floating=9))

    (cell,), _ = taken([a_cell(pages=PAGES)], spec)

    assert spec.numa_topology is None
    assert cell == a_cell(pages=PAGES)


def test_a_guest_keeps_the_topology_that_no_place_was_searched_for_to_the_end(
        monkeypatch):
    """The instances after it are not placed without one."""
    monkeypatch.setattr(consumption, '_MOST', 0)
    spec = a_numa_request(guest_cell(floating=1))

    with pytest.raises(consumption.FailedError, match='given up'):
        taken([a_cell()], spec)

    assert spec.numa_topology.cells


def test_a_host_without_topology_leaves_the_request_alone():
    spec = a_numa_request(guest_cell(floating=1))
    hardware = consumption.Hardware(None, None)

    hardware.take(spec, None, None, pack=False)

    assert len(spec.numa_topology.cells) == 1
    assert hardware.columns() == (None, None)


REQUEST = a_pci_request(1, {'vendor_id': '8086'}, numa_policy='required')


def test_devices_come_from_near_the_fitted_cells():
    pools = some_pools(a_pool(numa_node=0, count=2), a_pool(numa_node=1))
    spec = a_numa_request(guest_cell(floating=1), pci=[REQUEST])

    _, hardware = taken([a_cell(0, pages=PAGES), a_cell(
        1, pages=PAGES, cpu_usage=1)], spec, pools)

    assert [pool['count'] for pool in hardware.pools] == [1, 1]


def test_devices_are_taken_without_a_topology_too():
    hardware = consumption.Hardware(None, some_pools(a_pool(count=2)))

    hardware.take(a_request(pci_requests=pci_requests(REQUEST)), None, None,
                  pack=False)

    assert hardware.pools.free_devices == 1


def test_devices_of_the_requests_before_one_that_fails_are_taken():
    hardware = consumption.Hardware(None, some_pools(a_pool(count=3)))

    with pytest.raises(consumption.FailedError):
        hardware.take(a_numa_request(pci=[
            a_pci_request(2), a_pci_request(2)]), None, None, pack=False)

    assert hardware.pools.free_devices == 1


def test_usage_that_was_below_nothing_begins_at_nothing():
    (cell,), _ = taken([a_cell(pages=PAGES, cpu_usage=-9)], a_numa_request(
        guest_cell(floating=3)))

    assert cell.cpu_usage == 0


def test_devices_that_are_not_there_fail():
    spec = a_numa_request(guest_cell(floating=1), pci=[REQUEST])
    hardware = consumption.Hardware(a_topology(a_cell(pages=PAGES)),
                                    some_pools())

    with pytest.raises(consumption.FailedError, match='PCI device request'):
        hardware.take(spec, None, None, pack=False)

    assert hardware.topology.cells == (a_cell(pages=PAGES),)


@pytest.mark.parametrize(('pins', 'text'), [
    ({0: 9}, 'known CPU set'), ({0: 1}, 'free CPU set')])
def test_a_guest_cannot_be_pinned_to_cpus_that_are_not_free(pins, text):
    guest = tried(pinned=1)
    guest.pins = pins

    with pytest.raises(consumption.FailedError, match=text):
        consumption.used(a_cell(pages=PAGES, pinned_cpus={1}), guest)


def test_a_cell_without_pages_cannot_be_used_more():
    """So Nova answers; instances can be placed there for ever."""
    with pytest.raises(consumption.FailedError, match='no pages'):
        taken([a_cell()], a_numa_request(guest_cell(floating=1)))
