"""NUMATopologyFilter: which hosts, with which limits, and why not."""

import logging

import pytest

from nova_sched.hardware.numa import topology
from nova_sched.scheduler.filters import numa_topology_filter
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.hosts import one
from tests.builders.numa import FOUR_CORES
from tests.builders.numa import a_cell
from tests.builders.numa import a_guest
from tests.builders.numa import cells_text
from tests.builders.numa import guest_cell
from tests.builders.numa import metadata
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_requests
from tests.builders.pci import pci_stats
from tests.builders.requests import a_request
from tests.builders.rules import configured
from tests.builders.rules import survivors

FILTER = configured(numa_topology_filter.NUMATopologyFilter)
REQUIRE = {'hw:cpu_policy': 'dedicated', 'hw:cpu_thread_policy': 'require'}


def a_numa_host(*cells, newer=True, **kw):
    return a_host(numa_topology=cells_text(*cells, newer=newer), **kw)


def a_numa_request(*cells, **kw):
    return a_request(numa_topology=a_guest(*cells), **kw)


def left(spec, *records, rule=FILTER):
    """The numbers of the hosts that pass."""
    return [int(name.removeprefix('host')) for name
            in survivors(rule, hosts(*records), spec)]


FULL_HOST = {'cpus': range(4), 'cpu_usage': 4}


@pytest.mark.parametrize(('spec', 'records', 'expected'), [
    (a_request(), [a_host(), a_numa_host(a_cell())], [0, 1]),
    (a_numa_request(guest_cell(floating=1)), [
        *(a_host(numa_topology=text) for text in (None, '{', '{"cells": []}')),
        a_numa_host(a_cell())], [3]),
    (a_numa_request(guest_cell(floating=1), image=None),
     [a_numa_host(a_cell())], [0]),
    # The same of the older format of topologies.
    (a_numa_request(guest_cell(pinned=4)), [
        a_numa_host(a_cell(cpus=range(count)), newer=newer)
        for newer in (True, False) for count in (3, 4)], [1, 3]),
    # Each host has its own ratio and devices.
    (a_numa_request(guest_cell(floating=1)), [
        a_numa_host(a_cell(**FULL_HOST), cpu_allocation_ratio=ratio)
        for ratio in (1.0, 1.25)], [1]),
    (a_numa_request(guest_cell(floating=1), pci_requests=pci_requests(
        a_pci_request(1, {'vendor_id': '8086'}, numa_policy='required'))), [
        a_numa_host(a_cell(), pci_stats=pci_stats(a_pool(numa_node=node)))
        for node in (None, 1, 0)], [2]),
    # The page size that fits on one host is not kept for the next.
    (a_numa_request(guest_cell(floating=1, pagesize=-3)), [
        a_numa_host(a_cell(pages=[pages]))
        for pages in ((2048, 512), (4, 524288))], [0, 1]),
])
def test_the_guest_fits_on_the_hosts_cells(spec, records, expected):
    assert left(spec, *records) == expected


@pytest.mark.parametrize('wish', [
    {'extra_specs': REQUIRE},
    {'image_properties': {'hw_cpu_policy': 'dedicated',
                          'hw_cpu_thread_policy': 'require'}},
    {'extra_specs': {'hw:cpu_policy': 'dedicated'},
     'image_properties': {'hw_cpu_thread_policy': 'require'}}])
def test_required_threads_need_a_host_with_threads_or_without_topology(wish):
    """Also for a request without a NUMA topology."""
    assert left(a_request(**wish), a_host(), a_numa_host(a_cell()),
                a_numa_host(a_cell(siblings=FOUR_CORES))) == [0, 2]


def test_limits_have_ratios_and_networks():
    block = hosts(a_numa_host(a_cell(), cpu_allocation_ratio=2.0,
                              ram_allocation_ratio=1.25))
    plain, networked = (FILTER.limits(one(block, 0), a_numa_request(
        guest_cell(floating=1), **network))['numa_topology']
        for network in ({}, {'network_metadata': metadata('p1')}))

    assert (plain.cpu_allocation_ratio, plain.ram_allocation_ratio,
            plain.network_metadata) == (2.0, 1.25, None)
    assert networked.network_metadata.physnets == {'p1'}
    assert FILTER.limits(one(block, 0), a_request()) == {}


@pytest.mark.parametrize(('cells', 'spec', 'expected'), [
    ([], a_numa_request(guest_cell(floating=1)),
     'need 1 NUMA cell with up to 512 MB, 1 floating CPUs; hosts have no '
     'NUMA topology'),
    ([a_cell()], a_request(extra_specs=REQUIRE),
     'need cores with several threads, hosts have none'),
    ([a_cell(cpus=[])], a_numa_request(
        guest_cell(floating=1), network_metadata=metadata('p1')),
     'need 1 NUMA cell with up to 512 MB, 1 floating CPUs, networks near by; '
     'nearest NUMA cell has 0 of 1 floating CPUs')])
def test_the_reason_has_need_and_supply(cells, spec, expected):
    block = hosts(a_numa_host(*cells) if cells else a_host())

    assert FILTER.reason(block, spec) == expected


#: Cells of a host, cells of a guest, and the figure of the failed test.
SHORTFALLS = [
    ([a_cell()], [guest_cell(0, pinned=7), guest_cell(1, pinned=1)],
     'nearest host has 1 of 2 NUMA cells'),
    ([a_cell(memory=500)], [guest_cell(floating=1)],
     'nearest NUMA cell has 500 of 512 MB'),
    ([a_cell(memory_usage=4000)], [guest_cell(pinned=1)],
     'nearest NUMA cell has 96 of 512 MB free'),
    ([a_cell(memory=65536, pages=[(4, 1048576), (2048, 30720)])],
     [guest_cell(floating=1, memory=8192)],
     'nearest NUMA cell has 4096 of 8192 MB in 4 kB pages'),
    ([a_cell(pages=[(4, 1048576, 1000000), (2048, 1000)])],
     [guest_cell(pinned=1)],
     'nearest NUMA cell has 189 of 512 MB free in 4 kB pages'),
    ([a_cell(pages=[(2048, 512, 500)])], [guest_cell(floating=1,
                                                     pagesize=2048)],
     'nearest NUMA cell has 24 of 512 MB free in 2048 kB pages'),
    ([a_cell()], [guest_cell(floating=1, pagesize=-3)],
     'nearest NUMA cell has 0 of 512 MB free in any pages'),
    ([a_cell(pages=[(2048, 30720)])], [guest_cell(
        floating=1, memory=8193, pagesize=2048)],
     '8193 MB are no whole number of 2048 kB pages'),
    ([a_cell(pages=[(2048, 512)])], [guest_cell(pinned=1, memory=3)],
     '3 MB are no whole number of 2048 kB pages'),
    ([a_cell(cpus=range(4))], [guest_cell(pinned=5)],
     'nearest NUMA cell has 4 of 5 CPUs to pin'),
    ([a_cell(pcpuset=())], [guest_cell(pinned=2)],
     'nearest NUMA cell has 0 of 2 CPUs to pin'),
    ([a_cell(pinned_cpus={0, 1}), a_cell(1, pinned_cpus={0})],
     [guest_cell(pinned=8)], 'nearest NUMA cell has 7 of 8 free CPUs to pin'),
    ([a_cell(cpuset=())], [guest_cell(floating=1, pinned=3)],
     'nearest NUMA cell has 0 of 1 floating CPUs'),
    ([a_cell(memory_usage=6000)], [guest_cell(floating=1)],
     'nearest NUMA cell has 144 of 512 MB below the overcommit limit'),
    ([a_cell(cpu_usage=126)], [guest_cell(floating=3)],
     'nearest NUMA cell has 2 of 3 floating CPUs below the overcommit limit'),
    ([a_cell()], [guest_cell(pinned=2, cpu_thread_policy='require')],
     'nearest NUMA cell has 1 of 2 threads a core'),
    ([a_cell(siblings=FOUR_CORES, pinned_cpus={0, 1, 2})], [guest_cell(
        pinned=3, cpu_thread_policy='require')],
     'nearest NUMA cell has 2 of 3 free CPUs as thread siblings'),
    ([a_cell(siblings=FOUR_CORES, cpuset=())], [guest_cell(
        pinned=2, cpu_thread_policy='isolate')],
     'cores are isolated where they have 1 thread, nearest NUMA cell has '
     'cores of 2'),
    ([a_cell(siblings=FOUR_CORES, pinned_cpus={0, 1, 2})], [guest_cell(
        pinned=2, cpu_thread_policy='isolate')],
     'nearest NUMA cell has 1 of 2 whole cores'),
    ([a_cell(siblings=FOUR_CORES[:2])], [guest_cell(pinned=5)],
     'nearest NUMA cell has 4 of 5 free CPUs whose core is known'),
    ([a_cell(pinned_cpus=range(8)), *map(a_cell, range(1, 8))],
     [guest_cell(number, pinned=1) for number in range(8)],
     'nearest host has room for 7 of 8 NUMA cells at once'),
    ([a_cell(0, memory=1024), a_cell(1, memory=2048), a_cell(2, memory=1024)],
     [guest_cell(0, floating=1, memory=1024),
      guest_cell(1, floating=1, memory=2048)],
     'nearest host has a NUMA cell for each, but not in the order in which '
     'they are tried')]
SHORTFALLS = [(a_numa_host(*cells), a_guest(*guest), {}, expected)
              for cells, guest, expected in SHORTFALLS] + [
    # The CPU of the emulator is part of the figure.
    *((a_numa_host(cell), a_guest(guest, emulator='isolate'), {}, expected)
      for cell, guest, expected in [
          (a_cell(cpus=range(4)), guest_cell(pinned=4),
           'nearest NUMA cell has 4 of 5 CPUs to pin'),
          (a_cell(siblings=FOUR_CORES),
           guest_cell(pinned=4, cpu_thread_policy='isolate'),
           'nearest NUMA cell has 4 of 5 cores, one of them for the '
           'emulator'),
          (a_cell(), guest_cell(cpu_policy='mixed', floating=1),
           'the first NUMA cell has no CPU to pin')]),
    # Devices and networks near to full cells do not count.
    *((a_numa_host(
        a_cell(socket=0), a_cell(1, pinned_cpus=range(8), socket=1),
        pci_stats=pci_stats(a_pool(numa_node=1))),
       a_guest(guest_cell(pinned=1)),
       {'pci_requests': pci_requests(a_pci_request(1, numa_policy=policy))},
       'nearest host has 0 of 1 PCI devices near to NUMA cells with room')
      for policy in ('required', 'socket', None)),
    (a_numa_host(a_cell(networks=[]), a_cell(
        1, networks=['p1'], pinned_cpus=range(8))),
     a_guest(guest_cell(pinned=1)), {'network_metadata': metadata('p1')},
     'nearest host has no NUMA cells with room that are near to its '
     'networks')]


@pytest.mark.parametrize(('host', 'guest', 'request_', 'expected'), SHORTFALLS)
def test_figure_is_that_of_failed_test(host, guest, request_, expected):
    block = hosts(host)
    spec = a_request(numa_topology=guest, **request_)

    assert not FILTER.mask(block, spec).any()
    assert FILTER.reason(block, spec).rpartition('; ')[2] == expected


def test_the_figure_is_of_the_host_nearest_to_a_fit():
    block = hosts(a_numa_host(a_cell(memory=500)),
                  a_numa_host(a_cell(cpus=range(3))),
                  a_numa_host(a_cell(memory=508)))

    assert FILTER.reason(block, a_numa_request(guest_cell(pinned=4))).endswith(
        '; nearest NUMA cell has 3 of 4 CPUs to pin')


@pytest.mark.parametrize(('spec', 'expected'), [
    (a_request(), ''),
    (a_request(extra_specs=REQUIRE), 'need cores with several threads'),
    (a_numa_request(guest_cell(floating=1)),
     'need 1 NUMA cell with up to 512 MB, 1 floating CPUs'),
    (a_numa_request(guest_cell(pinned=2), extra_specs=REQUIRE),
     'need cores with several threads; need 1 NUMA cell with up to 512 MB '
     'free, 2 free CPUs to pin')])
def test_callers_see_their_needs_alone(spec, expected):
    assert FILTER.reason(hosts(a_numa_host(a_cell())), spec).request == (
        expected)


@pytest.mark.parametrize(('record', 'spec', 'text'), [
    (a_host(), a_numa_request(guest_cell(floating=1)),
     'host0, host0 fails NUMA topology requirements. No host NUMA topology '
     'while the instance specified one.'),
    (a_numa_host(a_cell()), a_numa_request(guest_cell(floating=9)),
     'host0, host0 fails NUMA topology requirements. The instance does not '
     'fit on this host.'),
    (a_numa_host(a_cell()), a_request(extra_specs=REQUIRE),
     'fails CPU policy requirements. Host does not have hyperthreading or '
     "hyperthreading is disabled, but 'require' threads policy was "
     'requested.')])
def test_debug_lines_have_novas_words(record, spec, text, caplog):
    caplog.set_level(logging.DEBUG)

    assert left(spec, record) == []
    assert text in caplog.text


def test_packing_is_an_option():
    """It decides which cell is tried first."""
    record = a_numa_host(a_cell(0, memory=1024), a_cell(1, memory=2048),
                         a_cell(2, memory=1024))
    spec = a_numa_request(guest_cell(0, floating=1, memory=1024),
                          guest_cell(1, floating=1, memory=2048))
    option = {'compute__packing_host_numa_cells_allocation_strategy': True}

    assert left(spec, record) == []
    assert left(spec, record, rule=configured(
        numa_topology_filter.NUMATopologyFilter, **option)) == [0]


class TestSearchBudget:
    """Two kinds of devices alternate; each cell has one kind."""

    SPEC = a_numa_request(
        *(guest_cell(number, pinned=1) for number in range(16)),
        pci_requests=pci_requests(*(
            a_pci_request(9, {'product_id': product}, numa_policy='required')
            for product in 'ab')))

    @staticmethod
    def a_big_host():
        return a_numa_host(
            *(a_cell(number, cpus=range(8 * number, 8 * number + 8))
              for number in range(32)),
            pci_stats=pci_stats(*(
                a_pool(numa_node=number, product_id='ab'[number % 2])
                for number in range(32))))

    def test_exceeded_counts_as_no_fit_and_is_logged_once(self, caplog):
        assert left(self.SPEC, self.a_big_host(), self.a_big_host()) == []

        assert [record.getMessage() for record in caplog.records
                if record.levelno == logging.WARNING] == [
            'Gave up the search for host NUMA cells for a guest of 16 cells '
            'on 1 kinds of hosts with up to 32 cells; rejecting these hosts']

    def test_exceeded_is_the_reason(self):
        assert FILTER.reason(hosts(self.a_big_host()), self.SPEC).endswith(
            '; the search for cells near to its devices and networks was '
            'given up')


class TestCachedVerdicts:
    SPEC = a_numa_request(guest_cell(pinned=2))

    @pytest.fixture
    def searches(self, monkeypatch):
        """One item a search for host cells."""
        found, fit = [], topology.Fitting.fit

        def noted(fitting, *args, **kwargs):
            found.append(fitting)
            return fit(fitting, *args, **kwargs)
        monkeypatch.setattr(topology.Fitting, 'fit', noted)
        return found

    def test_serve_the_same_guest_again(self, searches):
        block = hosts(*(a_numa_host(a_cell(cpus=range(count)))
                        for count in (1, 2, 3)))

        assert [FILTER.keep(block, self.SPEC).tolist()
                for _ in range(3)] == 3 * [[False, True, True]]
        assert len(searches) == 3

    @pytest.mark.parametrize('other, fits', [
        (guest_cell(pinned=1), True), (guest_cell(floating=2), True),
        (guest_cell(pinned=2, memory=768), False)])
    def test_do_not_serve_another_guest(self, searches, other, fits):
        block = hosts(a_numa_host(a_cell(cpus=range(2), memory=600)))
        FILTER.keep(block, self.SPEC)

        assert FILTER.keep(block, a_numa_request(other)).tolist() == [fits]
        assert len(searches) == 2

    def test_end_with_a_new_report_of_the_host(self, searches):
        table = hosts(a_numa_host(a_cell(cpus=range(2)))).snapshot.table
        later = table.with_values([0], {'numa_topology': hosts(a_numa_host(
            a_cell(cpus=range(1)))).objects('numa_topology')})

        assert [FILTER.keep(each.snapshot(None).block(), self.SPEC).tolist()
                for each in (table, later, table)] == [[True], [False], [True]]
        assert len(searches) == 2

    def test_do_not_serve_guests_with_devices(self, searches):
        spec = a_numa_request(guest_cell(floating=1), pci_requests=(
            pci_requests(a_pci_request(1, {'vendor_id': '8086'}))))
        block = hosts(a_numa_host(a_cell(), pci_stats=pci_stats(a_pool())))
        for _ in range(2):
            assert FILTER.keep(block, spec).all()
        assert len(searches) == 2

    def test_are_limited_in_number(self, searches, monkeypatch):
        monkeypatch.setattr(topology, 'MOST_KNOWN', 2)
        block = hosts(a_numa_host(a_cell(cpus=range(9))))
        for count in (1, 2, 3, 1):
            FILTER.keep(block, a_numa_request(guest_cell(pinned=count)))
        assert len(searches) == 4
