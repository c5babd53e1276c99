"""Picks without a claim count until the instance shows on its host."""

import copy
import itertools
import time

from oslo_utils import uuidutils
import pytest

from nova_sched import exception
from nova_sched.db import cells
from nova_sched.hosts.decision import Decision
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import pci
from tests.builders import requests
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.in_flight import Compute
from tests.builders.in_flight import a_server
from tests.builders.in_flight import between
from tests.builders.in_flight import hosts_with_room
from tests.builders.placement import Placement

DRIVERS = ['filter_scheduler', 'caching_scheduler']


@pytest.fixture(params=DRIVERS)
def driver_name(request):
    return request.param


def test_member_that_shows_in_a_decision_counts(cloud, driver_name):
    """It is no longer in flight, and was not in the earlier look-up."""
    cloud.load_nodes(*(clouds.a_compute_node(
        host, memory_mb=free, free_ram_mb=free)
        for host, free in (('h0', 9000), ('h1', 3000))))
    driver, compute = cloud.driver(driver_name), Compute(cloud)
    members = [uuidutils.generate_uuid() for _ in range(2)]

    def ask(uuid):
        group = requests.a_group('anti-affinity', members)
        group.wire_version = '1.11'
        return picks(driver, a_server(instance_uuid=uuid, group=group), [uuid])

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

    def test_without_uuids_does_not_count_twice(self, cloud, driver_name):
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


def test_rebuild_takes_nothing(cloud, driver_name):
    hosts_with_room(cloud, 1, 2)
    driver = cloud.driver(driver_name)

    select(driver, a_server(hints={'_nova_check_type': ['rebuild']}))

    assert drivers.free_ram_mb(driver) == {'h0': 2000}


def test_record_has_the_picks_in_flight_and_the_state(cloud, driver_name):
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


@pytest.mark.parametrize('wanted', [
    {'group': {'policy': 'anti-affinity', 'members': [], 'hosts': []}},
    {'group': {'policy': 'affinity', 'hosts': ['h1']}},
    {'hints': {'a': ['b']}}, {'num_instances': 2}], ids=str)
def test_request_is_answered_alike_and_not_changed(cloud, driver_name, wanted):
    hosts_with_room(cloud, 4, 4)
    driver, spec = cloud.driver(driver_name), a_server(**wanted)
    before = copy.deepcopy(spec).obj_to_primitive()
    uuids = [spec.instance_uuid, uuidutils.generate_uuid()]

    first = drivers.with_alternates(driver, spec, uuids)
    second = drivers.with_alternates(driver, spec, uuids)

    assert first == second
    assert spec.obj_to_primitive() == before
    assert spec.config_options is None


def test_room_that_is_gone_is_decided_again(cloud, driver_name):
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


HOSTS = [f'h{number}' for number in range(4)]
PROVIDERS = {host: clouds.a_uuid(number) for number, host in enumerate(HOSTS)}


@pytest.fixture
def driver(cloud):
    """The filter scheduler on hosts with ever less free memory."""
    cloud.load_nodes(*(clouds.a_compute_node(
        host, uuid=PROVIDERS[host], free_ram_mb=30000 - 100 * number)
        for number, host in enumerate(HOSTS)))
    return cloud.driver('filter_scheduler')


def placement(**kwargs):
    return Placement(list(PROVIDERS.values()), **kwargs)


def claimed(offering):
    """The hosts that were claimed, in order."""
    by_provider = {uuid: host for host, uuid in PROVIDERS.items()}
    return [by_provider[provider] for _, provider in offering.claimed]


def members(count=2):
    return [uuidutils.generate_uuid() for _ in range(count)]


def ask(driver, offering, uuids, group, policy='anti-affinity'):
    """The hosts of instances that are members of a group."""
    group = requests.a_group(policy, group)
    group.wire_version = '1.11'
    spec = a_server(instance_uuid=uuids[0], num_instances=len(uuids),
                    group=group)
    return [chosen[0] for chosen in drivers.hosts_of(select(
        driver, spec, list(uuids), offer=offering.offer()))]


def in_flight(driver):
    return driver.host_manager.state.pending()


@pytest.mark.parametrize('policy, hosts', [
    ('anti-affinity', ['h0', 'h1']), ('affinity', ['h0', 'h0'])])
def test_a_member_is_seen_by_the_next_one(driver, policy, hosts):
    """The database shows neither, because they are being built."""
    group = members()

    assert [ask(driver, placement(), [uuid], group, policy)
            for uuid in group] == [[host] for host in hosts]


def test_a_member_is_seen_before_it_is_claimed(driver):
    offering, group, found = placement(), members(), []
    claim = offering.claim

    def claim_late(*args):
        offering.claim = claim
        found.extend(ask(driver, offering, group[1:], group))
        return claim(*args)

    offering.claim = claim_late
    assert ask(driver, offering, group[:1], group) == ['h0']
    assert found == ['h1']
    assert claimed(offering) == ['h1', 'h0']


def test_the_next_host_follows_a_refusal(driver):
    offering, group = placement(refuses=[PROVIDERS['h0']]), members()

    assert [ask(driver, offering, [uuid], group) for uuid in group] == [
        ['h1'], ['h2']]
    assert sorted(in_flight(driver)) == sorted(group)


def test_an_instance_refused_everywhere_is_forgotten(driver):
    offering, group = placement(refuses=PROVIDERS.values()), members()

    with pytest.raises(exception.NoValidHost):
        ask(driver, offering, group[:1], group)

    assert not in_flight(driver)
    assert ask(driver, placement(), group[1:], group) == ['h0']


def test_instances_without_a_group_are_not_assumed(driver):
    select(driver, a_server(), [uuidutils.generate_uuid()],
           offer=placement().offer())

    assert not in_flight(driver)


STAMPS = itertools.count()


def report(cloud, host, size=0):
    """Change the host's row, by an instance of some size or otherwise."""
    cloud.execute('UPDATE compute_nodes SET free_ram_mb = free_ram_mb - ?, '
                  'updated_at = ? WHERE host = ?', size,
                  f'2035-01-01 00:00:00.{next(STAMPS):06}', host)


def moved(cloud, uuid, host):
    """Move an instance to a host."""
    cloud.execute('DELETE FROM instances WHERE uuid = ?', uuid)
    cloud.execute('INSERT INTO instances (uuid, host, node, deleted) '
                  'VALUES (?, ?, ?, 0)', uuid, host, host)


def free(driver):
    driver.run_periodic_tasks(None)
    driver.host_manager.refresh()
    return drivers.free_ram_mb(driver)


class TestOddInstances:
    @pytest.mark.parametrize('uuid', ['\ud800', 'nul\0', 'x' * 5000, 'ä'])
    def test_with_invalid_uuids_end_with_their_lifetime(
            self, cloud, driver_name, uuid, monkeypatch):
        hosts_with_room(cloud, 1, 4)
        driver = cloud.driver(driver_name, nova_sched__pick_lifetime=100)
        assert picks(driver, a_server(), [uuid]) == ['h0']
        report(cloud, 'h0')
        assert free(driver) == {'h0': 3000}
        monkeypatch.setattr(driver.host_manager.state, '_monotonic',
                            lambda: time.monotonic() + 101)

        assert free(driver) == {'h0': 4000}

    def test_named_twice_count_once(self, cloud, driver_name):
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

    def test_moving_instance_counts_on_its_new_host(self, cloud, driver_name):
        """While it still shows on its source host."""
        driver, uuid = self.placed(cloud, driver_name)
        moved(cloud, uuid, 'h1')
        for _ in range(2):
            report(cloud, 'h0')
            assert free(driver) == {'h0': 3000, 'h1': 4000}
        moved(cloud, uuid, 'h0')
        report(cloud, 'h0', 1000)

        assert free(driver) == {'h0': 3000, 'h1': 4000}

    def test_instance_on_alternate_counts_there(self, cloud, driver_name):
        driver, uuid = self.placed(cloud, driver_name)
        report(cloud, 'h0')
        assert free(driver) == {'h0': 3000, 'h1': 4000}
        moved(cloud, uuid, 'h1')
        report(cloud, 'h1', 1000)
        report(cloud, 'h0')

        assert free(driver) == {'h0': 4000, 'h1': 3000}


def test_devices_stay_taken_while_other_hosts_report(cloud, driver_name):
    cloud.load_nodes(clouds.a_compute_node(
        'h0', pci_stats=pci.pci_stats(pci.a_pool())),
        clouds.a_compute_node('h1'))
    driver = cloud.driver(
        driver_name, enabled_filters=['PciPassthroughFilter'])

    def ask():
        return picks(driver, a_server(
            pci_requests=pci.pci_requests(pci.a_pci_request())))

    assert ask() == ['h0']
    report(cloud, 'h1')
    free(driver)
    with pytest.raises(exception.NoValidHost):
        ask()


class TestTakeOver:
    def test_a_late_request_is_decided_by_new_driver(self, cloud, driver_name):
        """The new driver has already given its room away."""
        hosts_with_room(cloud, 2, 1)
        old, new = cloud.driver(driver_name), cloud.driver(driver_name)
        ranked = old.ranker.ranked

        def overtaken(*args):
            old.ranker.ranked = ranked
            new.take_over(old)
            assert picks(new, a_server()) == ['h0']
            return ranked(*args)
        old.ranker.ranked = overtaken

        assert picks(old, a_server()) == ['h1']
        assert drivers.free_ram_mb(new) == {'h0': 0, 'h1': 0}

    def test_two_in_a_row_keep_all_picks(self, cloud, driver_name):
        hosts_with_room(cloud, 1, 4)
        first, second, third = (cloud.driver(driver_name) for _ in range(3))
        second.take_over(first)
        third.take_over(second)

        picks(first, a_server())

        assert drivers.free_ram_mb(third) == {'h0': 3000}

    def test_members_that_show_are_still_members(self, cloud, driver_name):
        """For callers that looked up the group before."""
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


@pytest.mark.parametrize('wanted', [
    {'hints': {'different_host': ['A']}},
    {'group': {'policy': 'anti-affinity', 'members': ['A', 'B']}}],
    ids=['hint', 'group'])
def test_pick_between_look_up_and_decision_counts(cloud, driver_name, wanted):
    hosts_with_room(cloud, 2, 4)
    driver = cloud.driver(driver_name, enabled_filters=[
        'DifferentHostFilter', 'ServerGroupAntiAffinityFilter'])
    between(driver, lambda: picks(driver, a_server(
        instance_uuid='A', force_hosts=['h0']), ['A']))

    assert picks(driver, a_server(instance_uuid='B', **wanted),
                 ['B']) == ['h1']
