"""Claimed members of server groups, which Placement does not know."""

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
