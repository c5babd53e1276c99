"""The host table, snapshots of it, blocks of its rows, and host states."""

import datetime

import numpy as np
import pytest

from nova_sched.hosts.table import Cells
from nova_sched.objects import NUMATopologyLimits
from tests.builders.hosts import NOW
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.hosts import one
from tests.builders.hosts import table
from tests.builders.numa import a_cell
from tests.builders.numa import a_guest
from tests.builders.numa import cells_text
from tests.builders.numa import guest_cell
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_requests
from tests.builders.pci import pci_stats
from tests.builders.placement import Placement
from tests.builders.requests import a_request


def moment(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)


class TestHostTable:
    def test_replaced_rows_leave_the_older_generation_as_it_was(self):
        old = table(a_host('a', free_ram_mb=1), a_host('b', free_ram_mb=2))

        new = old.with_values([1], {
            'free_ram_mb': [5], 'hypervisor_type': ['xen'],
            'stats': [{'a': '1'}]})

        new._check()
        assert new.columns['free_ram_mb'].tolist() == [1, 5]
        assert old.columns['free_ram_mb'].tolist() == [1, 2]
        assert old.columns['stats'] == [{}, {}]
        assert new.columns['vcpus_total'] is old.columns['vcpus_total']
        assert old.with_values([], {'free_ram_mb': []}) is old

    def test_rows_can_be_taken_out_and_put_in(self):
        """In columns of every kind."""
        a, b, c, d = (dict(zip(whole.columns, cells, strict=True))
                      for whole in [table(*map(a_host, 'abcd'))]
                      for cells in zip(*map(whole.snapshot(None).block()
                                            .objects, whole.columns),
                                       strict=True))
        old = table(b, d)

        new = old.with_added([0, 1], {
            name: [a[name], c[name]] for name in a}).without([1])

        new._check()
        assert new.keys() == [('a', 'a'), ('c', 'c'), ('d', 'd')]
        assert new.columns['service'] == [one['service'] for one in (a, c, d)]
        assert old.keys() == [('b', 'b'), ('d', 'd')]

    @pytest.mark.parametrize('name, value', [
        ('host_ip', 'x'), ('stats', {}), ('free_ram_mb', 5)])
    def test_needs_as_many_values_as_rows(self, name, value):
        two = table(a_host('a'), a_host('b'), a_host('c'))
        more = {name: two.snapshot(None).block().objects(name)
                for name in two.columns}

        for count in (2, 4):
            with pytest.raises(ValueError):
                two.with_values([0, 1, 2], {name: [value] * count})
            with pytest.raises(ValueError):
                two.with_added([0, 1, 2], more | {name: [value] * count})

    def test_has_the_row_of_a_node(self):
        two = table(a_host('a'), a_host('b', nodename='n'))

        assert (two.row('b', 'n'), two.row('b', 'b')) == (1, None)
        assert two.without([0]).row('b', 'n') == 0

    def test_all_generations_of_a_read_have_its_time(self):
        cells = Cells((('cell', 5.0),))
        unread = table(a_host('a'), a_host('b'))
        read = unread.of(unread.columns, cells)

        made = [read.with_values([0], {'vcpus_used': [1]}), read.without([0]),
                read.with_columns(service_up=[True, False]),
                read.snapshot(None).as_table()]

        assert [one.cells for one in made] == [cells] * 4
        assert table(a_host()).cells == Cells()
        with pytest.raises(AttributeError):
            table(a_host()).cells.lost = ('cell', 'why')

    def test_rows_of_hosts_are_those_of_all_their_nodes(self):
        three = table(a_host('a'), a_host('b'), a_host('a', nodename='a2'))

        assert three.rows_of({'a', 'unknown'}) == [(0, 'a'), (2, 'a')]
        assert three.rows_of(set()) == []

    def test_may_be_empty(self):
        empty = table()

        assert empty.size == 0
        assert hosts().states() == []


class TestHostSnapshot:
    def test_consuming_changes_the_snapshot_only(self):
        generation = table(a_host(), a_host())
        first, second = generation.snapshot(None), generation.snapshot(None)

        first.consume(0, a_request(
            memory_mb=1024, vcpus=2, root_gb=10, ephemeral_gb=5, swap=512),
            now=5.0)

        state = first.state(0)
        assert (state.free_ram_mb, state.free_disk_mb) == (
            32768 - 1024, (500 - 15) * 1024)
        assert (state.vcpus_used, state.num_instances, state.num_io_ops,
                state.updated) == (2, 1, 1, moment(5.0))
        assert second.state(0).free_ram_mb == 32768
        assert generation.columns['free_ram_mb'].tolist() == [32768] * 2
        assert first.state(1).free_ram_mb == 32768

    def test_a_table_of_it_keeps_the_consumption(self):
        snapshot = hosts(a_host()).snapshot
        snapshot.consume(0, a_request(memory_mb=1000), now=0.0)
        kept = snapshot.as_table()
        snapshot.consume(0, a_request(memory_mb=1000), now=0.0)

        kept._check()
        assert snapshot.block().free_ram_mb.tolist() == [30768]
        assert kept.columns['free_ram_mb'].tolist() == [31768]

    def test_a_copy_is_independent(self):
        """By consumption, and by plug-ins that write to hosts."""
        generation = table(*[a_host(pci_stats=pci_stats(a_pool(count=2)))] * 2)
        snapshot = generation.snapshot(None)
        snapshot.consume(0, a_request(memory_mb=1000), now=0.0)
        snapshot.state(1).mine = ['set']
        twin = snapshot.copy()
        before = snapshot.block().free_ram_mb.tolist()

        assert twin.block().free_ram_mb.tolist() == before
        twin.consume(0, a_request(memory_mb=1000), now=0.0)
        twin.state(1).free_ram_mb = 7
        twin.state(1).limits['memory_mb'] = 9
        assert snapshot.block().free_ram_mb.tolist() == before
        assert twin.block().free_ram_mb.tolist() == [before[0] - 1000, 7]
        assert twin.state(1).mine == ['set']
        assert (snapshot.writes, twin.writes) == (0, 1)
        assert snapshot.own_limits(1) == {}
        assert generation.columns['free_ram_mb'].tolist() == [before[1]] * 2

    def test_candidates_and_placements_of_a_copy_are_independent(self):
        snapshot = hosts(a_host('h', uuid='p')).snapshot
        snapshot.offer = Placement(['p']).candidates()
        assert len(snapshot.state(0).allocation_candidates) == 1
        twin = snapshot.copy()

        twin.state(0).allocation_candidates.clear()
        twin.instances.place('new', 'h')

        assert len(snapshot.state(0).allocation_candidates) == 1
        assert snapshot.instances.located(['new']) == {}
        assert twin.instances.located(['new']) == {'new': 'h'}

    def test_consuming_takes_cells_and_devices(self):
        generation = table(*[a_host(
            numa_topology=cells_text(a_cell(pages=[(4, 524288)])),
            pci_stats=pci_stats(a_pool(count=2)))] * 2)
        snapshot = generation.snapshot(None)

        snapshot.consume(0, a_hardware_request(), now=0.0)
        snapshot.consume(0, a_hardware_request(), now=0.0)

        kept = snapshot.as_table()
        kept._check()
        left = kept.snapshot(None).block()
        assert [topology.cells[0].cpu_usage for topology
                in left.objects('numa_topology')] == [2, 0]
        assert [pools.free_by_node.total() for pools
                in left.objects('pci_stats')] == [0, 2]
        assert all(len(generation.columns[name].values) == 1
                   for name in ('numa_topology', 'pci_stats'))

    def test_failed_consumption_is_warned_about(self, caplog):
        """Parts that were consumed before stay consumed."""
        snapshot = hosts(a_host(pci_stats=pci_stats())).snapshot

        snapshot.consume(0, a_hardware_request(), now=5.0)

        state = snapshot.state(0)
        assert (state.num_instances, state.num_io_ops, state.updated) == (
            1, 0, moment(NOW))
        assert ('Selected host: (host0, host0) ram: 32256MB' in caplog.text)
        assert 'failed to consume from instance. Error: PCI' in caplog.text

    def test_the_limits_of_the_filters_hold_when_consuming(self):
        snapshot = hosts(a_host(numa_topology=cells_text(a_cell(
            pages=[(4, 524288)])))).snapshot
        spec = a_hardware_request()
        limits = NUMATopologyLimits(cpu_allocation_ratio=0.0,
                                    ram_allocation_ratio=1.0)

        snapshot.consume(0, spec, 0.0, None, {'numa_topology': limits})

        assert spec.numa_topology is None


def a_hardware_request():
    return a_request(numa_topology=a_guest(guest_cell(floating=1)),
                     pci_requests=pci_requests(a_pci_request()))


class TestHostBlock:
    def test_columns_are_attributes(self):
        block = hosts(a_host(vcpus_used=1), a_host(vcpus_used=2))

        assert block.vcpus_used.tolist() == [1, 2]
        assert block.vcpus_used is block.vcpus_used
        with pytest.raises(AttributeError):
            block.no_such_column  # noqa: B018 - the read is the test

    def test_where_keeps_rows(self):
        block = hosts(a_host('a'), a_host('b'), a_host('c'))

        some = block.where(np.array([True, False, True]))
        less = some.where(np.array([False, True]))

        assert (some.objects('host'), less.objects('host')) == (
            ['a', 'c'], ['c'])
        assert less.rows.tolist() == [2]
        assert block.where(np.array([True] * 3)) is block

    def test_named_finds_labels(self):
        block = hosts(a_host('a'), a_host('b'))

        assert block.named('host', ['b', 'unknown']).tolist() == [False, True]
        assert block.named('host', []).tolist() == [False, False]

    def test_numbers_are_looked_up_by_label(self):
        block = hosts(a_host('a'), a_host('b'), a_host('a', nodename='a2'))

        assert block.looked_up('host', {'a': 2, 'unknown': 5}).tolist() == [
            2.0, 0.0, 2.0]
        assert one(block, 2).looked_up('host', {'a': -1}).tolist() == [-1.0]

    def test_evaluates_each_distinct_value_in_use_once(self):
        block, asked = hosts(a_host('a'), a_host('b'), a_host('c')), []

        def length(name):
            asked.append(name)
            return len(name) / 2

        some = block.where(np.array([True, False, True]))

        assert some.evaluate('host', length, np.float64).tolist() == [0.5, 0.5]
        assert asked == ['a', 'c']

    def test_evaluates_combinations_with_numbers(self):
        block = hosts(*(a_host(vcpus_used=used, cpu_allocation_ratio=ratio,
                               host_ip=ip)
                        for used, ratio, ip in [
                            (1, 0.5, 'x'), (2, 0.5, 'x'), (1, 0.5, 'y')]))

        assert block.evaluate_together(
            ['host_ip', 'vcpus_used', 'cpu_allocation_ratio'],
            lambda *values: values == ('x', 1, 0.5)).tolist() == [
                True, False, False]

    def test_evaluates_combinations_of_many_columns(self):
        """Whose codes together exceed 64 bits."""
        block = hosts(*(a_host(f'h{number}', free_ram_mb=number)
                        for number in range(40)))
        names = ['host', 'nodename', 'free_ram_mb'] * 5

        assert block.evaluate_together(
            names, lambda *values: values[-1] == 7).tolist() == [
                number == 7 for number in range(40)]

    def test_evaluates_each_combination_once(self):
        block = hosts(*(a_host(hypervisor_type=kind, hypervisor_version=ver)
                        for kind, ver in [('x', 1), ('y', 1), ('x', 1),
                                          ('x', 2), ('y', 1)]))
        asked = []

        def verdict(kind, version):
            asked.append((kind, version))
            return (kind, version) == ('x', 1)

        assert block.evaluate_together(
            ['hypervisor_type', 'hypervisor_version'],
            verdict).tolist() == [True, False, True, False, False]
        assert sorted(asked) == [('x', 1), ('x', 2), ('y', 1)]
