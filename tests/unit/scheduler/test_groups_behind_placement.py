"""Members of server groups that are claimed: Placement knows of no group."""

import threading

from oslo_utils import uuidutils
import pytest

from nova_sched import exception
from tests.builders import clouds
from tests.builders import requests
from tests.builders.drivers import hosts_of
from tests.builders.drivers import select
from tests.builders.in_flight import a_server
from tests.builders.placement import Placement

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
    return [chosen[0] for chosen in hosts_of(select(
        driver, spec, list(uuids), offer=offering.offer()))]


def in_flight(driver):
    return driver.host_manager.state.pending()


@pytest.mark.parametrize('policy, hosts', [
    ('anti-affinity', ['h0', 'h1']), ('affinity', ['h0', 'h0'])])
def test_a_member_is_seen_by_the_next_one(driver, policy, hosts):
    """The database shows neither, as while they are built."""
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


def test_members_that_are_asked_for_at_once_are_apart(driver):
    offering, group, found = placement(), members(4), []
    start = threading.Barrier(4)

    def work(uuid):
        start.wait()
        found.extend(ask(driver, offering, [uuid], group))

    threads = [threading.Thread(target=work, args=(uuid,)) for uuid in group]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert sorted(found) == HOSTS == sorted(claimed(offering))


def test_several_members_of_one_request_are_seen_by_another(driver):
    group = members(4)

    assert sorted([*ask(driver, placement(), group[:3], group),
                   *ask(driver, placement(), group[3:], group)]) == HOSTS


def test_a_host_that_is_refused_is_followed_by_the_next(driver):
    offering, group = placement(refuses=[PROVIDERS['h0']]), members()

    assert [ask(driver, offering, [uuid], group) for uuid in group] == [
        ['h1'], ['h2']]
    assert sorted(in_flight(driver)) == sorted(group)


def test_what_is_refused_everywhere_is_seen_by_nobody(driver):
    offering, group = placement(refuses=PROVIDERS.values()), members()

    with pytest.raises(exception.NoValidHost):
        ask(driver, offering, group[:1], group)

    assert not in_flight(driver)
    assert ask(driver, placement(), group[1:], group) == ['h0']


def test_who_is_in_no_group_is_left_to_placement(driver):
    select(driver, a_server(), [uuidutils.generate_uuid()],
           offer=placement().offer())

    assert not in_flight(driver)
