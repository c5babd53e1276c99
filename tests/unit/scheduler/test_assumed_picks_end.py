"""When picks without a claim end to count."""

import itertools
import time

from oslo_utils import uuidutils
import pytest

from nova_sched import exception
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import pci
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.in_flight import Compute
from tests.builders.in_flight import a_server
from tests.builders.in_flight import between
from tests.builders.in_flight import hosts_with_room

STAMPS = itertools.count()


@pytest.fixture(params=['filter_scheduler', 'caching_scheduler'])
def driver_name(request):
    return request.param


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

    def test_named_twice_count_once(
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

    def test_a_moving_instance_counts_on_its_new_host(self, cloud,
                                                      driver_name):
        """While it still shows on its source host."""
        driver, uuid = self.placed(cloud, driver_name)
        moved(cloud, uuid, 'h1')
        for _ in range(2):
            report(cloud, 'h0')
            assert free(driver) == {'h0': 3000, 'h1': 4000}
        moved(cloud, uuid, 'h0')
        report(cloud, 'h0', 1000)

        assert free(driver) == {'h0': 3000, 'h1': 4000}

    def test_an_instance_on_an_alternate_counts_there(
            self, cloud, driver_name):
        driver, uuid = self.placed(cloud, driver_name)
        report(cloud, 'h0')
        assert free(driver) == {'h0': 3000, 'h1': 4000}
        moved(cloud, uuid, 'h1')
        report(cloud, 'h1', 1000)
        report(cloud, 'h0')

        assert free(driver) == {'h0': 4000, 'h1': 3000}


class TestDevices:
    def test_stay_taken_while_other_hosts_report(self, cloud, driver_name):
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
    def test_a_late_request_is_decided_by_the_new_driver(
            self, cloud, driver_name):
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
def test_a_pick_between_look_up_and_decision_counts(cloud, driver_name,
                                                    wanted):
    hosts_with_room(cloud, 2, 4)
    driver = cloud.driver(driver_name, enabled_filters=[
        'DifferentHostFilter', 'ServerGroupAntiAffinityFilter'])
    between(driver, lambda: picks(driver, a_server(
        instance_uuid='A', force_hosts=['h0']), ['A']))

    assert picks(driver, a_server(instance_uuid='B', **wanted),
                 ['B']) == ['h1']
