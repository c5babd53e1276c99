"""The picked host among weighed hosts, and its alternates."""

import collections

import pytest

from nova_sched.scheduler import filters
from tests.builders import clouds
from tests.builders import requests
from tests.builders.drivers import CELL1
from tests.builders.drivers import CELL2
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.drivers import with_alternates
from tests.builders.hosts import a_host

RAM_ONLY = {'weight_classes': ['nova.scheduler.weights.ram.RAMWeigher'],
            'enabled_filters': ['RamFilter']}


class UntilTwoArePlacedFilter(filters.BaseHostFilter):
    """Rejects host d once two members of the group are placed."""

    def host_passes(self, host_state, spec_obj):
        return host_state.host != 'd' or len(
            spec_obj.instance_group.hosts) < 2


def hosts_by_ram(names, **values):
    """Hosts with ever less free memory, so in this order of weight."""
    return [a_host(name, free_ram_mb=30000 - 100 * number, **values)
            for number, name in enumerate(names)]


def a_scheduler(*records, **options):
    return MemoryScheduler(*records, **{**RAM_ONLY, **options})


def for_each_seed(scheduler, ask):
    """The answers of ``ask(scheduler, request)`` with many seeds: Counter."""
    found = collections.Counter()
    for scheduler.seed in range(200):
        found[ask(scheduler, requests.a_request())] += 1
    return found


def pick(scheduler, spec):
    [host] = picks(scheduler, spec)
    return host


def uuids(count):
    return [clouds.a_uuid(number) for number in range(1, count + 1)]


class TestPick:
    def test_is_the_best_host_by_default(self):
        scheduler = a_scheduler(*hosts_by_ram('abcd'))

        assert {tuple(picks(scheduler, requests.a_request()))
                for _ in range(20)} == {('a',)}

    def test_is_the_first_by_name_among_equals(self):
        scheduler = a_scheduler(*(a_host(name) for name in 'cab'))

        assert {tuple(picks(scheduler, requests.a_request()))
                for _ in range(20)} == {('c',)}

    @pytest.mark.parametrize(('hosts', 'size', 'expected'), [
        ('abcde', 3, {'a', 'b', 'c'}), ('ab', 50, {'a', 'b'})])
    def test_is_random_within_the_subset(self, hosts, size, expected):
        found = for_each_seed(
            a_scheduler(*hosts_by_ram(hosts), host_subset_size=size), pick)

        assert set(found) == expected
        assert min(found.values()) > 40

    def test_is_random_among_equal_hosts_when_shuffled(self):
        records = [a_host(name, free_ram_mb=9000) for name in 'abc']
        records.append(a_host('d', free_ram_mb=8999))
        found = for_each_seed(
            a_scheduler(*records, shuffle_best_same_weighed_hosts=True), pick)

        assert set(found) == {'a', 'b', 'c'}
        assert min(found.values()) > 40

    def test_is_random_among_nearly_equal_hosts(self):
        """By the weights 1, 0.995, 0.95 and 0.5."""
        records = [a_host(name, free_ram_mb=free) for name, free in (
            ('a', 20000), ('b', 19900), ('c', 19000), ('d', 10000))]

        assert {band: set(for_each_seed(a_scheduler(
            *records, nova_sched__spread_near_equal=band), pick))
            for band in (None, 0, 0.01, 0.06)} == {
                None: {'a'}, 0: {'a'}, 0.01: {'a', 'b'},
                0.06: {'a', 'b', 'c'}}
        assert set(for_each_seed(a_scheduler(
            a_host('a'), a_host('b'), nova_sched__spread_near_equal=0),
            pick)) == {'a', 'b'}

    def test_has_a_seed_of_its_own_for_each_request(self):
        scheduler = a_scheduler(a_host('a'))
        seeds = set()
        for _ in range(10):
            picks(scheduler, requests.a_request())
            seeds.add(scheduler.decision.seed)

        assert len(seeds) == 10


class TestAlternates:
    def test_are_the_next_best_hosts(self):
        scheduler = a_scheduler(*hosts_by_ram('abcde'))

        assert with_alternates(scheduler, requests.a_request(),
                               uuids(1)) == [['a', 'b', 'c']]

    def test_are_none_unless_asked_for(self):
        scheduler = a_scheduler(*hosts_by_ram('abc'))

        [chosen] = select(scheduler, requests.a_request(), uuids(1))

        assert len(chosen) == 1

    @pytest.mark.parametrize('most, found', [
        (1, ['a']), (2, ['a', 'b']), (4, ['a', 'b', 'c', 'd']),
        (9, ['a', 'b', 'c', 'd', 'e'])])
    def test_are_one_fewer_than_the_attempts(self, most, found):
        scheduler = a_scheduler(*hosts_by_ram('abcde'),
                                scheduler__max_attempts=most)

        assert with_alternates(scheduler, requests.a_request(),
                               uuids(1)) == [found]

    def test_are_in_the_cell_of_the_pick(self):
        scheduler = a_scheduler(
            a_host('a', free_ram_mb=9000, cell_uuid=CELL1),
            a_host('b', free_ram_mb=8000, cell_uuid=CELL2),
            a_host('c', free_ram_mb=7000, cell_uuid=CELL1))

        assert with_alternates(scheduler, requests.a_request(),
                               uuids(1)) == [['a', 'c']]

    def test_differ_for_picks_in_different_cells(self):
        scheduler = a_scheduler(
            a_host('a', free_ram_mb=9000, cell_uuid=CELL1),
            a_host('b', free_ram_mb=8900, cell_uuid=CELL2),
            a_host('c', free_ram_mb=7000, cell_uuid=CELL2),
            a_host('d', free_ram_mb=6000, cell_uuid=CELL1))

        assert with_alternates(scheduler, requests.a_request(),
                               uuids(2)) == [['a', 'd'], ['b', 'c']]

    def test_are_the_pick_of_no_instance(self):
        scheduler = a_scheduler(*(a_host(name) for name in 'abcd'))

        assert with_alternates(scheduler, requests.a_request(), uuids(3)) == [
            ['a', 'd'], ['b', 'd'], ['c', 'd']]

    def test_may_be_other_nodes_of_the_picked_host(self):
        scheduler = a_scheduler(a_host('a', nodename='n1'),
                                a_host('a', nodename='n2'))

        [[picked, alternate]] = select(
            scheduler, requests.a_request(), uuids(1),
            return_alternates=True)

        assert (picked.nodename, alternate.nodename) == ('n1', 'n2')

    def test_for_several_instances_are_filtered_again(self):
        """After all instances of the request are placed."""
        scheduler = a_scheduler(
            *hosts_by_ram('abcd'),
            available_filters=['nova.scheduler.filters.all_filters',
                               f'{__name__}.UntilTwoArePlacedFilter'],
            enabled_filters=['UntilTwoArePlacedFilter'],
            scheduler__max_attempts=9)
        spec = requests.a_request(group={'policy': 'soft-anti-affinity'})

        assert with_alternates(scheduler, spec, uuids(2)) == [
            ['a', 'c'], ['b', 'c']]

    def test_carry_their_own_limits(self):
        scheduler = a_scheduler(
            a_host('a', total_usable_ram_mb=40000, ram_allocation_ratio=1.0),
            a_host('b', total_usable_ram_mb=30000, ram_allocation_ratio=2.0))

        [[picked, alternate]] = select(
            scheduler, requests.a_request(), uuids(1),
            return_alternates=True)

        assert picked.limits.memory_mb == 40000
        assert alternate.limits.memory_mb == 60000

    def test_keep_their_order_behind_a_drawn_pick(self):
        """Hosts of the subset that were not drawn come first."""
        answers = for_each_seed(
            a_scheduler(*hosts_by_ram('abcd'), host_subset_size=3,
                        scheduler__max_attempts=9),
            lambda *asked: tuple(with_alternates(*asked, uuids(1))[0]))

        assert set(answers) == {('a', 'b', 'c', 'd'), ('b', 'a', 'c', 'd'),
                           ('c', 'a', 'b', 'd')}
