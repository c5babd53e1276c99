"""What was placed without a claim counts until it shows on its host."""

import collections
import copy
import threading
import time

from oslo_utils import uuidutils
import pytest

from nova_sched import exception
from nova_sched.db import cells
from nova_sched.hosts.decision import Decision
from nova_sched.scheduler import filters
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import requests
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.drivers import with_alternates
from tests.builders.in_flight import Compute
from tests.builders.in_flight import a_server
from tests.builders.in_flight import between
from tests.builders.in_flight import hosts_with_room

DRIVERS = ['filter_scheduler', 'caching_scheduler']


@pytest.fixture(params=DRIVERS)
def driver_name(request):
    return request.param


class SlowFilter(filters.BaseHostFilter):
    """Waits at requests with the hint slow, until it is over."""

    begun, over = threading.Event(), threading.Event()

    def host_passes(self, host_state, spec_obj):
        if spec_obj.get_scheduler_hint('slow') and not self.over.is_set():
            self.begun.set()
            self.over.wait(60)
        return host_state.free_ram_mb >= 1000


class TestBurst:
    def test_no_first_choice_is_refused(self, cloud, driver_name):
        """40 slots, 48 requests from 8 callers, taken 50 ms later."""
        hosts_with_room(cloud, 10, 4)
        driver, compute = cloud.driver(driver_name), Compute(cloud)
        refused, timers, start = [], [], threading.Barrier(8)

        def ask():
            start.wait()
            for _ in range(6):
                spec = a_server()
                try:
                    [host] = picks(driver, spec, [spec.instance_uuid])
                except exception.NoValidHost as error:
                    refused.append(error)
                else:
                    timers.append(threading.Timer(
                        0.05, compute.take, (spec.instance_uuid, host)))
                    timers[-1].start()

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in [*threads, *timers]:
            thread.join(30)
        for timer in timers:
            timer.join(30)

        assert compute.refused == 0
        assert len(timers) == 40
        assert len(refused) == 8

    def test_one_is_not_taken_for_another_that_its_host_reports(
            self, cloud, driver_name):
        """The host of the second one is written before it is reported."""
        hosts_with_room(cloud, 1, 2)
        driver, compute = cloud.driver(driver_name), Compute(cloud)
        first, second = a_server(), a_server()
        for spec in (first, second):
            select(driver, spec, [spec.instance_uuid])
        compute.take(first.instance_uuid, 'h0')
        cloud.execute('INSERT INTO instances (uuid, host, node, deleted) '
                      'VALUES (?, ?, ?, 0)', second.instance_uuid, 'h0', 'h0')
        driver.run_periodic_tasks(None)

        with pytest.raises(exception.NoValidHost):
            picks(driver, a_server(), ['third'])

    @pytest.mark.parametrize('version', ['1.8', '1.15'])
    @pytest.mark.parametrize('policy, hosts', [('anti-affinity', 8),
                                               ('affinity', 1)])
    def test_no_group_is_broken(self, cloud, driver_name, policy, hosts,
                                version):
        """Eight members at once, of callers of before Rocky and after."""
        hosts_with_room(cloud, 9, 9)
        driver, members = cloud.driver(driver_name), [
            uuidutils.generate_uuid() for _ in range(8)]
        found, start = {}, threading.Barrier(8)

        def ask(uuid):
            group = requests.a_group(policy, members)
            group.wire_version = '1.11' if version == '1.15' else '1.10'
            start.wait()
            [found[uuid]] = picks(driver, a_server(
                instance_uuid=uuid, group=group, wire_version=version),
                [uuid])

        threads = [threading.Thread(target=ask, args=(uuid,))
                   for uuid in members]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)

        assert len(found) == 8
        assert len(set(found.values())) == hosts

    def test_a_member_that_its_host_reports_is_still_one_of_its_group(
            self, cloud, driver_name):
        """Of callers who asked where the group is before it was there."""
        hosts_with_room(cloud, 2, 4)
        driver, compute = cloud.driver(driver_name), Compute(cloud)
        members = [uuidutils.generate_uuid() for _ in range(2)]

        def ask(uuid):
            group = requests.a_group('anti-affinity', [uuid])
            group.wire_version = '1.10'
            [host] = picks(driver, a_server(instance_uuid=uuid, group=group),
                           [uuid])
            compute.take(uuid, host)
            driver.run_periodic_tasks(None)
            return host

        assert sorted(map(ask, members)) == ['h0', 'h1']


    def test_a_member_that_shows_while_another_waits_is_seen_by_it(
            self, cloud, driver_name):
        """It is neither in flight any more, nor was it found in the look-up.
        """
        cloud.load_nodes(*(clouds.a_compute_node(
            host, memory_mb=free, free_ram_mb=free)
            for host, free in (('h0', 9000), ('h1', 3000))))
        driver, compute = cloud.driver(driver_name), Compute(cloud)
        members = [uuidutils.generate_uuid() for _ in range(2)]

        def ask(uuid):
            group = requests.a_group('anti-affinity', members)
            group.wire_version = '1.11'
            return picks(driver, a_server(instance_uuid=uuid, group=group),
                         [uuid])

        def come_first():
            assert ask(members[0]) == ['h0']
            compute.take(members[0], 'h0')
            driver.host_manager.refresh()
            assert not driver.host_manager.state.pending()

        between(driver, come_first)
        assert ask(members[1]) == ['h1']


class TestRepeatedCall:
    def test_does_not_count_twice(self, cloud, driver_name):
        """The caller of the first one has gone away."""
        hosts_with_room(cloud, 1, 1)
        driver, spec = cloud.driver(driver_name), a_server()
        for _ in range(3):
            assert picks(driver, spec, [spec.instance_uuid]) == ['h0']

        with pytest.raises(exception.NoValidHost):
            select(driver, a_server())

    def test_of_an_old_caller_for_several_does_not_count_twice(
            self, cloud, driver_name):
        """It names the first of the instances only."""
        hosts_with_room(cloud, 1, 3)
        driver, spec = cloud.driver(driver_name), a_server(num_instances=3)
        for _ in range(2):
            assert picks(driver, spec) == ['h0'] * 3

    def test_may_go_elsewhere(self, cloud, driver_name):
        """After a failure on the first host, which is free again then."""
        hosts_with_room(cloud, 2, 1)
        driver, spec = cloud.driver(driver_name), a_server()
        assert picks(driver, spec, [spec.instance_uuid]) == ['h0']
        again = copy.deepcopy(spec)
        again.ignore_hosts = ['h0']
        assert picks(driver, again, [spec.instance_uuid]) == ['h1']

        assert drivers.free_ram_mb(driver) == {'h0': 1000, 'h1': 0}

    def test_for_one_of_a_group_leaves_the_others_in_it(self, cloud,
                                                        driver_name):
        """A later member is kept from both, by a caller who knows neither."""
        hosts_with_room(cloud, 2, 4)
        driver, first, other, late = cloud.driver(driver_name), *(
            uuidutils.generate_uuid() for _ in range(3))

        def ask(uuid):
            return picks(driver, a_server(instance_uuid=uuid, group={
                'policy': 'anti-affinity', 'members': [uuid]}), [uuid])

        assert ask(first) == ['h0']
        assert ask(other) == ask(other) == ['h1']
        with pytest.raises(exception.NoValidHost):
            ask(late)


class TestInstances:
    @pytest.mark.parametrize('hint, host', [('same_host', 'h0'),
                                            ('different_host', 'h1')])
    def test_in_flight_are_known_to_hints(self, cloud, driver_name, hint,
                                          host):
        hosts_with_room(cloud, 2, 4)
        driver = cloud.driver(driver_name, enabled_filters=[
            'SameHostFilter', 'DifferentHostFilter'])
        first = a_server(force_hosts=['h0'])
        select(driver, first, [first.instance_uuid])

        assert picks(driver, a_server(
            hints={hint: [first.instance_uuid]})) == [host]

    def test_in_flight_are_seen_on_their_host(self, cloud, driver_name):
        hosts_with_room(cloud, 1, 4)
        driver, spec = cloud.driver(driver_name), a_server()
        select(driver, spec, [spec.instance_uuid])

        found = driver.host_manager.instances()

        assert list(found.on_host('h0')) == [spec.instance_uuid]


class TestRebuild:
    def test_takes_nothing(self, cloud, driver_name):
        hosts_with_room(cloud, 1, 2)
        driver = cloud.driver(driver_name)

        select(driver, a_server(hints={'_nova_check_type': ['rebuild']}))

        assert drivers.free_ram_mb(driver) == {'h0': 2000}


class TestRecord:
    def test_names_the_picks_that_counted_and_the_state(self, cloud,
                                                        driver_name):
        hosts_with_room(cloud, 2, 4)
        driver, spec = cloud.driver(driver_name), a_server()
        before = time.time()
        select(driver, spec, [spec.instance_uuid])
        record = Decision()

        select(driver, a_server(), record=record)

        assert record.state.in_flight == 1
        [(cell, read)] = record.state.reads
        assert cell == cells.SINGLE_CELL_UUID
        assert before - 60 < read <= record.state.clock <= time.time()
        assert record.seed

    def test_says_enough_to_decide_again(self, cloud, driver_name):
        """State, request, clock, seed and what was in flight."""
        hosts_with_room(cloud, 6, 4)
        driver = cloud.driver(driver_name, host_subset_size=6)
        for _ in range(4):
            select(driver, a_server())
        entries = driver.host_manager.state.pending().values()
        spec, record = a_server(num_instances=3), Decision()
        answer = with_alternates_of(driver, spec, record)

        again = cloud.driver(driver_name, host_subset_size=6)
        again.host_manager.state.add(entries)
        again.new_seed = lambda: record.seed

        assert with_alternates_of(again, spec, Decision()) == answer


def with_alternates_of(driver, spec, record):
    return drivers.hosts_of(select(driver, spec, return_alternates=True,
                                   record=record))


class TestDecidedTwice:
    @pytest.mark.parametrize('wanted', [
        {'group': {'policy': 'anti-affinity', 'members': [], 'hosts': []}},
        {'group': {'policy': 'affinity', 'hosts': ['h1']}},
        {'hints': {'a': ['b']}}, {'num_instances': 2}], ids=str)
    def test_a_request_gives_the_same_answer_and_stays_as_it_was(
            self, cloud, driver_name, wanted):
        hosts_with_room(cloud, 4, 4)
        driver, spec = cloud.driver(driver_name), a_server(**wanted)
        before = copy.deepcopy(spec).obj_to_primitive()
        uuids = [spec.instance_uuid, uuidutils.generate_uuid()]

        first = with_alternates(driver, spec, uuids)
        second = with_alternates(driver, spec, uuids)

        assert first == second
        assert spec.obj_to_primitive() == before
        assert spec.config_options is None


class TestTurns:
    def test_a_slow_rule_does_not_hold_up_the_others(self, cloud,
                                                     driver_name):
        SlowFilter.begun.clear()
        SlowFilter.over.clear()
        hosts_with_room(cloud, 2, 5)
        driver = cloud.driver(
            driver_name, enabled_filters=['SlowFilter'],
            available_filters=[f'{__name__}.SlowFilter'])
        slow = threading.Thread(target=select, args=(
            driver, a_server(hints={'slow': ['yes']})))
        slow.start()
        assert SlowFilter.begun.wait(60)
        begin = time.monotonic()

        counted = collections.Counter(
            picks(driver, a_server())[0] for _ in range(8))

        assert counted == {'h0': 4, 'h1': 4}
        assert not SlowFilter.over.is_set()
        assert time.monotonic() - begin < 30
        SlowFilter.over.set()
        slow.join(60)

    def test_what_another_took_meanwhile_is_decided_once_more(self, cloud,
                                                              driver_name):
        hosts_with_room(cloud, 2, 1)
        driver, record = cloud.driver(driver_name), Decision()
        ranked = driver.ranker.ranked

        def overtaken(*args):
            driver.ranker.ranked = ranked
            assert picks(driver, a_server()) == ['h0']
            return ranked(*args)

        driver.ranker.ranked = overtaken
        [[selection]] = select(driver, a_server(), record=record)

        assert selection.service_host == 'h1'
        assert record.tries == 2
        assert [pick.host for pick in record.picks] == ['h1']
        assert drivers.free_ram_mb(driver) == {'h0': 0, 'h1': 0}
