"""Which of the weighed hosts is picked, and which are its alternates."""

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
    """Host d only takes part until two members of the group are placed."""

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

    def test_may_be_any_of_the_best_of_the_subset(self):
        found = for_each_seed(
            a_scheduler(*hosts_by_ram('abcde'), host_subset_size=3), pick)

        assert set(found) == {'a', 'b', 'c'}
        assert min(found.values()) > 40

    def test_of_a_subset_larger_than_the_cloud_may_be_any_host(self):
        found = for_each_seed(
            a_scheduler(*hosts_by_ram('ab'), host_subset_size=50), pick)

        assert set(found) == {'a', 'b'}

    def test_may_be_any_of_equal_weight_when_shuffled(self):
        records = [a_host(name, free_ram_mb=9000) for name in 'abc']
        records.append(a_host('d', free_ram_mb=8999))
        found = for_each_seed(
            a_scheduler(*records, shuffle_best_same_weighed_hosts=True), pick)

        assert set(found) == {'a', 'b', 'c'}
        assert min(found.values()) > 40

    def test_may_be_any_that_weighs_little_less_than_the_best(self):
        """By the weights 1, 0.995, 0.95 and 0.5."""
        records = [a_host(name, free_ram_mb=free) for name, free in (
            ('a', 20000), ('b', 19900), ('c', 19000), ('d', 10000))]

        assert {band: set(for_each_seed(a_scheduler(
            *records, nova_sched__spread_near_equal=band), pick))
            for band in (None, 0, 0.01, 0.06)} == {
                None: {'a'}, 0: {'a'}, 0.01: {'a', 'b'},
                0.06: {'a', 'b', 'c'}}

    def test_may_be_any_of_equal_weight_where_nothing_is_to_be_nearer(self):
        records = [a_host(name, free_ram_mb=9000) for name in 'ab']

        assert set(for_each_seed(a_scheduler(
            *records, nova_sched__spread_near_equal=0), pick)) == {'a', 'b'}

    @pytest.mark.parametrize('options', [
        {'host_subset_size': 4}, {'shuffle_best_same_weighed_hosts': True},
        {'host_subset_size': 2, 'shuffle_best_same_weighed_hosts': True}])
    def test_is_the_same_for_the_same_seed(self, options):
        scheduler = a_scheduler(*(a_host(name) for name in 'abcdefgh'),
                                **options)

        def answer(seed):
            scheduler.seed = seed
            return with_alternates(scheduler, requests.a_request(), uuids(3))

        for seed in range(20):
            assert answer(seed) == answer(seed)
        assert len({str(answer(seed)) for seed in range(20)}) > 1

    def test_has_a_seed_of_its_own_for_each_request(self):
        scheduler = a_scheduler(a_host('a'))
        seeds = set()
        for _ in range(10):
            picks(scheduler, requests.a_request())
            seeds.add(scheduler.decision.seed)

        assert len(seeds) == 10

    def test_on_record_is_the_drawn_one(self):
        scheduler = a_scheduler(*hosts_by_ram('abcd'), host_subset_size=4)
        for scheduler.seed in range(20):
            host = pick(scheduler, requests.a_request())
            [recorded] = scheduler.decision.picks

            assert recorded.host == host
            assert scheduler.decision.weighing.parts(0)[0].raw == (
                30000.0 - 100 * 'abcd'.index(host))


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

    def test_may_be_none(self):
        scheduler = a_scheduler(a_host('a'))

        assert with_alternates(scheduler, requests.a_request(),
                               uuids(1)) == [['a']]

    def test_have_passed_the_filters(self):
        scheduler = a_scheduler(a_host('a'), a_host('b', free_ram_mb=-60000))

        assert with_alternates(scheduler, requests.a_request(),
                               uuids(1)) == [['a']]

    def test_of_several_instances_are_filtered_once_more(self):
        """With all that the request's instances have changed."""
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

    def test_consume_nothing(self):
        scheduler = a_scheduler(*hosts_by_ram('ab'))

        for _ in range(2):
            with_alternates(scheduler, requests.a_request(), uuids(1))

        assert picks(scheduler, requests.a_request()) == ['a']

    def test_keep_their_order_behind_a_drawn_pick(self):
        """Those that were not drawn, though of the subset, come first."""
        answers = for_each_seed(
            a_scheduler(*hosts_by_ram('abcd'), host_subset_size=3,
                        scheduler__max_attempts=9),
            lambda *asked: tuple(with_alternates(*asked, uuids(1))[0]))

        assert set(answers) == {('a', 'b', 'c', 'd'), ('b', 'a', 'c', 'd'),
                           ('c', 'a', 'b', 'd')}
