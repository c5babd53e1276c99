"""Consumption of a host's cells and devices by a placed instance."""

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
    """The host cells and the Hardware after an instance was placed."""
    hardware = consumption.Hardware(a_topology(*cells, newer=newer), pools)
    hardware.take(spec, limits, None, pack=False)
    return hardware.topology.cells, hardware


def a_numa_request(*cells, pci=(), **kw):
    return a_request(numa_topology=a_guest(*cells, **kw),
                     pci_requests=pci_requests(*pci))


@pytest.mark.parametrize(('guest', 'emulator', 'used', 'pages', 'pinned'), [
    ({'floating': 3}, None, 3, [131072, 0], set()),
    ({'floating': 1, 'pagesize': -2}, None, 1, [0, 256], set()),
    ({'pinned': 2}, 'isolate', 0, [131072, 0], {0, 1, 2}),
    ({'pinned': 2, 'cpu_thread_policy': 'isolate'}, None, 0, [131072, 0],
     {0, 1, 4, 5})])
def test_guest_uses_cpus_memory_and_pages_of_its_cell_only(
        guest, emulator, used, pages, pinned):
    """Pages of the requested or the smallest size, and whole cores."""
    siblings = FOUR_CORES if 'cpu_thread_policy' in guest else ()
    (cell, other), _ = taken(
        [a_cell(0, pages=PAGES, siblings=siblings),
         a_cell(1, pages=PAGES, memory_usage=1)],
        a_numa_request(guest_cell(**guest), emulator=emulator))

    assert (cell.cpu_usage, cell.memory_usage) == (used, 512)
    assert [sizes.used for sizes in cell.pages] == pages
    assert cell.pinned_cpus == pinned
    assert other == a_cell(1, pages=PAGES, memory_usage=1)


def test_debug_line_has_the_selected_cpus(caplog):
    with caplog.at_level(logging.DEBUG, 'nova_sched.hardware'):
        taken([a_cell(pages=PAGES)], a_numa_request(guest_cell(pinned=2)))

    assert caplog.messages[-1] == (
        'Selected cores for pinning: [(0, 0), (1, 1)], in cell 0')


@pytest.mark.parametrize(('policy', 'usage'), [(None, 3), ('isolate', 6)])
def test_before_train_pinned_cpus_count_as_usage(policy, usage):
    """With the emulator's CPU, and all threads of isolated cores."""
    (cell,), _ = taken(
        [a_cell(pages=PAGES, siblings=FOUR_CORES)], a_numa_request(
            guest_cell(pinned=2, cpu_thread_policy=policy),
            emulator='isolate'), newer=False)

    assert cell.cpu_usage == usage
    assert [pages.used for pages in cell.pages] == [0, 0]


def test_next_instance_requests_the_page_size_of_the_first():
    spec = a_numa_request(guest_cell(floating=1, pagesize=-3))
    asked = spec.numa_topology

    taken([a_cell(pages=[(2048, 512)])], spec)

    assert spec.numa_topology.cells[0].pagesize == 2048
    assert asked.cells[0].pagesize == -3


@pytest.mark.parametrize(('cpus', 'usage', 'limits'), [
    (9, 0, None), (3, 6, LIMITS)])
def test_guest_that_does_not_fit_loses_its_topology(cpus, usage, limits):
    """Also if it does not fit under the filters' limits."""
    spec = a_numa_request(guest_cell(floating=cpus))

    (cell,), _ = taken([a_cell(pages=PAGES, cpu_usage=usage)], spec,
                       limits=limits)

    assert spec.numa_topology is None
    assert cell == a_cell(pages=PAGES, cpu_usage=usage)


def test_guest_keeps_its_topology_if_the_search_is_given_up(monkeypatch):
    monkeypatch.setattr(consumption, '_MOST', 0)
    spec = a_numa_request(guest_cell(floating=1))

    with pytest.raises(consumption.FailedError, match='given up'):
        taken([a_cell()], spec)

    assert spec.numa_topology.cells


def test_host_without_topology_leaves_the_request_unchanged():
    spec = a_numa_request(guest_cell(floating=1))
    hardware = consumption.Hardware(None, None)

    hardware.take(spec, None, None, pack=False)

    assert len(spec.numa_topology.cells) == 1
    assert hardware.columns() == (None, None)


REQUEST = a_pci_request(1, {'vendor_id': '8086'}, numa_policy='required')


def test_devices_are_near_the_fitted_cells():
    pools = some_pools(a_pool(numa_node=0, count=2), a_pool(numa_node=1))
    spec = a_numa_request(guest_cell(floating=1), pci=[REQUEST])

    _, hardware = taken([a_cell(0, pages=PAGES), a_cell(
        1, pages=PAGES, cpu_usage=1)], spec, pools)

    assert [pool['count'] for pool in hardware.pools] == [1, 1]


def test_negative_usage_counts_as_zero():
    (cell,), _ = taken([a_cell(pages=PAGES, cpu_usage=-9)], a_numa_request(
        guest_cell(floating=3)))

    assert cell.cpu_usage == 0


def test_missing_devices_are_an_error():
    spec = a_numa_request(guest_cell(floating=1), pci=[REQUEST])
    hardware = consumption.Hardware(a_topology(a_cell(pages=PAGES)),
                                    some_pools())

    with pytest.raises(consumption.FailedError, match='PCI device request'):
        hardware.take(spec, None, None, pack=False)

    assert hardware.topology.cells == (a_cell(pages=PAGES),)


@pytest.mark.parametrize(('pins', 'text'), [
    ({0: 9}, 'known CPU set'), ({0: 1}, 'free CPU set')])
def test_pinning_to_cpus_that_are_not_free_is_an_error(pins, text):
    guest = tried(pinned=1)
    guest.pins = pins

    with pytest.raises(consumption.FailedError, match=text):
        consumption.used(a_cell(pages=PAGES, pinned_cpus={1}), guest)


def test_usage_of_a_cell_without_pages_cannot_grow():
    """As in Nova: instances can be placed there for ever."""
    with pytest.raises(consumption.FailedError, match='no pages'):
        taken([a_cell()], a_numa_request(guest_cell(floating=1)))
