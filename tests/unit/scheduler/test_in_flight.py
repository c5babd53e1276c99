"""What was placed without a claim counts until it shows on its host."""

import collections
import copy
import itertools
import threading
import time

from oslo_utils import uuidutils
import pytest

from nova_sched import exception
from nova_sched.db import reader
from nova_sched.hosts.decision import Decision
from nova_sched.scheduler import filters
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import requests
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.drivers import with_alternates

STAMPS = itertools.count()
DRIVERS = ['filter_scheduler', 'caching_scheduler']


@pytest.fixture(params=DRIVERS)
def driver_name(request):
    return request.param


def hosts_with_room(cloud, count, slots):
    """Hosts h0, h1 ... with room for so many of ``a_server`` each."""
    cloud.load_nodes(*(clouds.a_compute_node(
        f'h{number}', memory_mb=1000 * slots, free_ram_mb=1000 * slots)
        for number in range(count)))


def a_server(**kwargs):
    return requests.a_request(**{'memory_mb': 1000,
                                 'instance_uuid': uuidutils.generate_uuid(),
                                 **kwargs})


class SlowFilter(filters.BaseHostFilter):
    """Waits at requests with the hint slow, until it is over."""

    begun, over = threading.Event(), threading.Event()

    def host_passes(self, host_state, spec_obj):
        if spec_obj.get_scheduler_hint('slow') and not self.over.is_set():
            self.begun.set()
            self.over.wait(10)
        return host_state.free_ram_mb >= 1000


class Compute:
    """Compute services that take what is sent to them, or refuse it.

    Like those of Nova: the instance gets its host, the host's usage is
    written, and an instance for which there is no room is refused.
    """

    def __init__(self, cloud):
        self._cloud, self._lock, self.refused = cloud, threading.Lock(), 0

    def take(self, uuid, host):
        with self._lock:
            [[free]] = self._cloud.rows(
                'SELECT free_ram_mb FROM compute_nodes WHERE host = ?', host)
            if free < 1000:
                self.refused += 1
                return
            self._cloud.execute('INSERT INTO instances (uuid, host, node, '
                                'deleted) VALUES (?, ?, ?, 0)',
                                uuid, host, host)
            self._cloud.execute(
                'UPDATE compute_nodes SET free_ram_mb = free_ram_mb - 1000, '
                'running_vms = running_vms + 1 WHERE host = ?', host)


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

        [counted] = record.in_flight
        assert (counted.key, counted.host) == (spec.instance_uuid, 'h0')
        [(cell, read)] = record.reads
        assert cell == reader.SINGLE_CELL_UUID
        assert before - 60 < read <= record.clock <= time.time()
        assert record.seed

    def test_says_enough_to_decide_again(self, cloud, driver_name):
        """State, request, clock, seed and what was in flight."""
        hosts_with_room(cloud, 6, 4)
        driver = cloud.driver(driver_name, host_subset_size=6)
        for _ in range(4):
            select(driver, a_server())
        spec, record = a_server(num_instances=3), Decision()
        answer = with_alternates_of(driver, spec, record)

        again = cloud.driver(driver_name, host_subset_size=6)
        again.host_manager._picks.add(record.in_flight)

        assert with_alternates_of(
            again, spec, Decision(seed=record.seed)) == answer


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
        assert spec.config_options == {}


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
        assert SlowFilter.begun.wait(10)
        begin = time.monotonic()

        counted = collections.Counter(
            picks(driver, a_server())[0] for _ in range(8))

        assert counted == {'h0': 4, 'h1': 4}
        assert not SlowFilter.over.is_set()
        assert time.monotonic() - begin < 5
        SlowFilter.over.set()
        slow.join(10)

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


def report(cloud, host, size=0):
    """The host's row changes, by an instance of some size or otherwise."""
    cloud.execute('UPDATE compute_nodes SET free_ram_mb = free_ram_mb - ?, '
                  'updated_at = ? WHERE host = ?', size,
                  f'2035-01-01 00:00:00.{next(STAMPS):06}', host)


def moved(cloud, uuid, host):
    """The instance is on that host from now on."""
    cloud.execute('DELETE FROM instances WHERE uuid = ?', uuid)
    cloud.execute('INSERT INTO instances (uuid, host, node, deleted) '
                  'VALUES (?, ?, ?, 0)', uuid, host, host)


def free(driver):
    driver.run_periodic_tasks(None)
    driver.host_manager.refresh()
    return drivers.free_ram_mb(driver)


class TestOddInstances:
    @pytest.mark.parametrize('uuid', ['\ud800', 'nul\0', 'x' * 5000, 'ä'])
    def test_that_no_database_can_be_asked_for_end_with_their_lifetime(
            self, cloud, driver_name, uuid):
        hosts_with_room(cloud, 1, 4)
        driver = cloud.driver(driver_name, nova_sched__pick_lifetime=1)
        assert picks(driver, a_server(), [uuid]) == ['h0']
        report(cloud, 'h0')
        assert free(driver) == {'h0': 3000}
        time.sleep(1.1)

        assert free(driver) == {'h0': 4000}

    def test_that_are_named_twice_count_once_and_leave_nothing(
            self, cloud, driver_name):
        hosts_with_room(cloud, 1, 4)
        driver = cloud.driver(driver_name, nova_sched__pick_lifetime=0)
        uuid = uuidutils.generate_uuid()
        select(driver, a_server(), [uuid, uuid])
        time.sleep(0.01)

        assert free(driver) == {'h0': 4000}

    def test_without_a_name_count_each(self, cloud, driver_name):
        hosts_with_room(cloud, 1, 2)
        driver = cloud.driver(driver_name)
        for _ in range(2):
            assert picks(driver, a_server(instance_uuid=None)) == ['h0']

        with pytest.raises(exception.NoValidHost):
            select(driver, a_server(instance_uuid=None))


class TestMoves:
    def placed(self, cloud, driver_name):
        """A driver that has placed an instance on h0, and the instance."""
        hosts_with_room(cloud, 2, 4)
        driver, spec = cloud.driver(driver_name), a_server()
        assert picks(driver, spec, [spec.instance_uuid]) == ['h0']
        return driver, spec.instance_uuid

    def test_an_instance_on_its_way_counts_where_it_goes(self, cloud,
                                                         driver_name):
        """It shows on the host that it comes from meanwhile."""
        driver, uuid = self.placed(cloud, driver_name)
        moved(cloud, uuid, 'h1')
        for _ in range(2):
            report(cloud, 'h0')
            assert free(driver) == {'h0': 3000, 'h1': 4000}
        moved(cloud, uuid, 'h0')
        report(cloud, 'h0', 1000)

        assert free(driver) == {'h0': 3000, 'h1': 4000}

    def test_an_instance_that_went_to_an_alternate_counts_there(
            self, cloud, driver_name):
        driver, uuid = self.placed(cloud, driver_name)
        report(cloud, 'h0')
        assert free(driver) == {'h0': 3000, 'h1': 4000}
        moved(cloud, uuid, 'h1')
        report(cloud, 'h1', 1000)
        report(cloud, 'h0')

        assert free(driver) == {'h0': 4000, 'h1': 3000}


class TestBetween:
    """What happens between a request's look-ups and its decision."""

    @pytest.mark.parametrize('wanted, host', [
        ({'hints': {'different_host': ['A']}}, 'h1'),
        ({'group': {'policy': 'anti-affinity', 'members': ['A', 'B']}},
         'h1')], ids=['hint', 'group'])
    def test_a_pick_is_seen(self, cloud, driver_name, wanted, host):
        hosts_with_room(cloud, 2, 4)
        driver = cloud.driver(driver_name, enabled_filters=[
            'DifferentHostFilter', 'ServerGroupAntiAffinityFilter'])
        look_up = driver._look_up

        def overtaken(asked):
            found = look_up(asked)
            driver._look_up = look_up
            assert picks(driver, a_server(
                instance_uuid='A', force_hosts=['h0']), ['A']) == ['h0']
            return found
        driver._look_up = overtaken

        assert picks(driver, a_server(instance_uuid='B', **wanted),
                     ['B']) == [host]

    def test_a_pick_that_ends_does_not_come_back(self, cloud, driver_name):
        hosts_with_room(cloud, 2, 4)
        driver = cloud.driver(driver_name, nova_sched__pick_lifetime=1)
        first = a_server(force_hosts=['h0'])
        select(driver, first, [first.instance_uuid])
        ranked = driver.ranker.ranked

        def later(*args):
            time.sleep(1.1)
            driver.host_manager.refresh()
            return ranked(*args)
        driver.ranker.ranked = later
        select(driver, a_server(force_hosts=['h1']))

        assert drivers.free_ram_mb(driver) == {'h0': 4000, 'h1': 3000}


class TestTakeOver:
    def test_a_request_that_is_late_is_decided_by_the_new_driver(
            self, cloud, driver_name):
        """Which has given its room away already."""
        hosts_with_room(cloud, 2, 1)
        old, new = cloud.driver(driver_name), cloud.driver(driver_name)
        ranked = old.ranker.ranked

        def overtaken(*args):
            new.take_over(old)
            assert picks(new, a_server()) == ['h0']
            return ranked(*args)
        old.ranker.ranked = overtaken

        assert picks(old, a_server()) == ['h1']
        assert drivers.free_ram_mb(new) == {'h0': 0, 'h1': 0}

    def test_nothing_is_lost_by_two_in_a_row(self, cloud, driver_name):
        hosts_with_room(cloud, 1, 4)
        first, second, third = (cloud.driver(driver_name) for _ in range(3))
        second.take_over(first)
        third.take_over(second)

        picks(first, a_server())

        assert drivers.free_ram_mb(third) == {'h0': 3000}

    def test_members_that_show_already_are_members_still(self, cloud,
                                                         driver_name):
        """For callers who asked where the group is before."""
        hosts_with_room(cloud, 2, 4)
        old, compute = cloud.driver(driver_name), Compute(cloud)
        uuid, other = (uuidutils.generate_uuid() for _ in range(2))
        [host] = picks(old, a_server(instance_uuid=uuid, group={
            'policy': 'affinity', 'members': [uuid]},
            force_hosts=['h1']), [uuid])
        compute.take(uuid, host)
        free(old)
        new = cloud.driver(driver_name)

        new.take_over(old)

        assert picks(new, a_server(instance_uuid=other, group={
            'policy': 'affinity', 'members': [other]}), [other]) == ['h1']


class TestAlone:
    def test_a_rule_that_reads_the_hosts_holds_up_nobody_for_ever(
            self, cloud, driver_name):
        hosts_with_room(cloud, 2, 4)
        driver = cloud.driver(driver_name)
        ranked, tries = driver.ranker.ranked, []

        def overtaken(*args):
            tries.append(args)
            if len(tries) < 3:
                driver.ranker.ranked = ranked
                picks(driver, a_server(force_hosts=['h0']))
                driver.ranker.ranked = overtaken
            else:
                reader = threading.Thread(target=driver.host_manager.refresh)
                reader.start()
                reader.join(10)
                assert not reader.is_alive()
            return ranked(*args)
        driver.ranker.ranked = overtaken
        record = Decision()

        select(driver, a_server(force_hosts=['h0']), record=record)

        assert record.tries == 3
        assert drivers.free_ram_mb(driver) == {'h0': 1000, 'h1': 4000}
