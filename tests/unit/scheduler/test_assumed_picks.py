"""Picks without a claim count until the instance shows on its host."""

import copy
import threading
import time

from oslo_utils import uuidutils
import pytest

from nova_sched import exception
from nova_sched.db import cells
from nova_sched.hosts.decision import Decision
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


class TestBurst:
    def test_no_first_choice_is_refused(self, cloud, driver_name):
        """40 slots, 48 requests of 8 callers, instances built after 50 ms."""
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
        """Eight members at once, of callers before Rocky and after."""
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

    def test_a_member_that_shows_during_a_decision_counts(
            self, cloud, driver_name):
        """It is no longer in flight, and was not in the earlier look-up."""
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
        """The first caller may have gone away."""
        hosts_with_room(cloud, 1, 1)
        driver, spec = cloud.driver(driver_name), a_server()
        for _ in range(3):
            assert picks(driver, spec, [spec.instance_uuid]) == ['h0']

        with pytest.raises(exception.NoValidHost):
            select(driver, a_server())

    def test_without_uuids_does_not_count_twice(
            self, cloud, driver_name):
        """Such a caller names only the first instance."""
        hosts_with_room(cloud, 1, 3)
        driver, spec = cloud.driver(driver_name), a_server(num_instances=3)
        for _ in range(2):
            assert picks(driver, spec) == ['h0'] * 3

    def test_for_a_member_keeps_the_other_members(self, cloud, driver_name):
        """A later member avoids both, though its caller names neither."""
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


class TestRebuild:
    def test_takes_nothing(self, cloud, driver_name):
        hosts_with_room(cloud, 1, 2)
        driver = cloud.driver(driver_name)

        select(driver, a_server(hints={'_nova_check_type': ['rebuild']}))

        assert drivers.free_ram_mb(driver) == {'h0': 2000}


class TestRecord:
    def test_has_the_picks_in_flight_and_the_state(self, cloud, driver_name):
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


class TestDecidedTwice:
    @pytest.mark.parametrize('wanted', [
        {'group': {'policy': 'anti-affinity', 'members': [], 'hosts': []}},
        {'group': {'policy': 'affinity', 'hosts': ['h1']}},
        {'hints': {'a': ['b']}}, {'num_instances': 2}], ids=str)
    def test_a_request_is_answered_alike_and_not_changed(
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


class TestConflict:

    def test_a_room_that_another_request_took_is_decided_again(self, cloud,
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
