"""The caching scheduler: no request waits for a database."""

import threading
import time

from oslo_utils import uuidutils
import pytest

from nova_sched import context
from nova_sched import exception
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import requests
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.numa import a_cell
from tests.builders.numa import a_guest
from tests.builders.numa import cells_text
from tests.builders.numa import guest_cell
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_requests
from tests.builders.pci import pci_stats

LATER = '2035-01-01 00:00:00'
OLD = clouds.a_uuid(77)


@pytest.fixture
def one_host(cloud):
    """A started driver on one host with room for four of ``a_server``."""
    cloud.load_nodes(clouds.a_compute_node(
        'a', memory_mb=4000, free_ram_mb=4000))
    return a_driver(cloud)


def a_driver(cloud, **options):
    return cloud.driver('caching_scheduler', **options)


def a_server(**kwargs):
    """A request for an instance that nobody has asked for before."""
    return requests.a_request(**{'memory_mb': 1000,
                                 'instance_uuid': uuidutils.generate_uuid(),
                                 **kwargs})


def refresh(driver):
    driver.run_periodic_tasks(context.get_admin_context())


def free_mb(driver):
    """Free memory of each host that requests see, MiB."""
    return list(drivers.free_ram_mb(driver).values())


def appear(cloud, host, *uuids):
    """What a compute service does that takes instances: both tables."""
    for uuid in uuids:
        cloud.execute('INSERT INTO instances (uuid, host, node, deleted) '
                      'VALUES (?, ?, ?, 0)', uuid, host, host)
    cloud.execute('UPDATE compute_nodes SET free_ram_mb = free_ram_mb - ?, '
                  'running_vms = running_vms + ? WHERE host = ?',
                  1000 * len(uuids), len(uuids), host)


class TestRequests:
    def test_need_no_database(self, cloud, one_host):
        one_host.host_manager.close()
        cloud.path.unlink()

        assert picks(one_host, a_server()) == ['a']

    def test_with_a_group_read_only_where_its_members_are(self, cloud):
        cloud.load(['a', 'b'], instances=[clouds.an_instance('a', uuid=OLD)])
        driver = a_driver(cloud)
        cloud.execute('DROP TABLE compute_nodes')
        cloud.execute('DROP TABLE services')

        assert picks(driver, requests.a_request(group={
            'policy': 'anti-affinity', 'members': [OLD]})) == ['b']

    def test_see_services_go_down_by_the_clock(self, cloud, monkeypatch):
        """Without a read: a heartbeat ages while it is in the cache."""
        cloud.load(['a'])
        driver = a_driver(cloud, DEFAULT__service_down_time=100)
        assert picks(driver, requests.a_request()) == ['a']
        now = driver.host_manager.now() + 101
        monkeypatch.setattr(driver.host_manager, 'now', lambda: now)

        with pytest.raises(exception.NoValidHost, match='service down'):
            select(driver, requests.a_request())

    def test_see_nothing_new_before_the_next_refresh(self, cloud, one_host):
        cloud.execute('UPDATE services SET disabled = 1')
        assert picks(one_host, a_server()) == ['a']

        refresh(one_host)

        with pytest.raises(exception.NoValidHost, match='service disabled'):
            select(one_host, a_server())


class TestConsumption:
    def test_is_seen_by_later_requests(self, one_host):
        for _ in range(4):
            assert picks(one_host, a_server()) == ['a']

        with pytest.raises(exception.NoValidHost, match='RamFilter'):
            select(one_host, a_server())

    def test_outlives_a_refresh(self, one_host):
        """The compute node has not reported yet what it got."""
        select(one_host, a_server(num_instances=3))

        refresh(one_host)

        assert free_mb(one_host) == [1000]

    def test_of_cells_and_devices_outlives_a_refresh(self, cloud):
        cloud.load_nodes(clouds.a_compute_node(
            'a', numa_topology=cells_text(a_cell(pages=[(4, 524288)])),
            pci_stats=pci_stats(a_pool(count=2))))
        driver = a_driver(cloud)
        select(driver, requests.a_request(
            numa_topology=a_guest(guest_cell(floating=3)),
            pci_requests=pci_requests(a_pci_request())))

        refresh(driver)

        left = driver.host_manager.view().table.snapshot(None).block()
        assert left.objects('numa_topology')[0].cells[0].cpu_usage == 3
        assert left.objects('pci_stats')[0].free_devices == 1

    def test_outlives_the_driver_when_another_takes_over(self, cloud,
                                                         one_host):
        """As at a reload of the configuration."""
        picks(one_host, a_server())
        heir = a_driver(cloud)

        heir.take_over(one_host)

        assert free_mb(heir) == [3000]

    def test_of_requests_that_the_one_before_still_decides_is_kept(
            self, cloud, one_host):
        heir = a_driver(cloud)
        heir.take_over(one_host)

        picks(one_host, a_server())

        assert free_mb(heir) == [3000]

    def test_ends_when_the_instance_shows_on_the_host(self, cloud, one_host):
        first, second = a_server(), a_server()
        for spec in (first, second):
            select(one_host, spec)
        appear(cloud, 'a', first.instance_uuid)

        refresh(one_host)

        assert free_mb(one_host) == [2000]

    def test_stays_when_a_node_reports_without_the_instance(self, cloud,
                                                            one_host):
        select(one_host, a_server())
        cloud.execute('UPDATE compute_nodes SET free_ram_mb = 3500, '
                      'updated_at = ?', LATER)

        refresh(one_host)

        assert free_mb(one_host) == [2500]

    def test_ends_with_its_lifetime(self, cloud):
        cloud.load_nodes(clouds.a_compute_node(
            'a', memory_mb=4000, free_ram_mb=4000))
        driver = a_driver(cloud, nova_sched__pick_lifetime=0)
        select(driver, a_server())
        time.sleep(0.01)

        refresh(driver)

        assert free_mb(driver) == [4000]

    @pytest.mark.parametrize('spec', [
        {'num_instances': 5}, {'memory_mb': 4001},
        {'force_hosts': ['no-such']}])
    def test_of_a_refused_request_is_none(self, one_host, spec):
        with pytest.raises(exception.NoValidHost):
            select(one_host, requests.a_request(**{'memory_mb': 1000,
                                                   **spec}))

        assert free_mb(one_host) == [4000]

    def test_of_a_failing_plug_in_is_none(self, cloud):
        cloud.load(['a'])
        driver = a_driver(cloud, available_filters=[
            'tests.unit.scheduler.test_filter_scheduler_refusals.'
            'FaultyFilter'], enabled_filters=['FaultyFilter'])

        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                select(driver, a_server())

        assert free_mb(driver) == [32256]

    def test_outlives_hosts_that_come_and_go(self, cloud):
        cloud.load(['b', 'c'])
        driver = a_driver(cloud)
        select(driver, a_server(num_instances=2))
        cloud.execute("UPDATE compute_nodes SET host = 'a', "
                      "hypervisor_hostname = 'a' WHERE host = 'b'")
        cloud.execute("UPDATE services SET host = 'a', last_seen_up = "
                      "'2030-01-01 00:00:07' WHERE host = 'b'")

        refresh(driver)

        assert free_mb(driver) == [32256, 31256]

    def test_of_a_group_is_a_placement_that_later_requests_see(self, cloud):
        """Though the database does not show the new instance yet."""
        cloud.load(['a', 'b'])
        driver, members = a_driver(cloud), [OLD, clouds.a_uuid(78)]

        found = [picks(driver, requests.a_request(group={
            'policy': 'anti-affinity', 'members': members}), [uuid])[0]
            for uuid in members]

        assert found == ['a', 'b']


class TestFailedRefresh:
    def test_leaves_the_cache_as_it_was(self, cloud, one_host):
        cloud.execute('ALTER TABLE services RENAME TO moved')
        with pytest.raises(exception.DatabaseUnavailable):
            refresh(one_host)

        assert picks(one_host, a_server()) == ['a']


class TestConcurrentRequests:
    @pytest.mark.parametrize('asks', [
        {'group': {'policy': 'anti-affinity', 'members': [OLD]}},
        {'hints': {'same_host': [OLD]}}, {'hints': {'different_host': OLD}}])
    def test_do_not_wait_for_what_others_look_up(self, one_host, asks):
        """Where the instances are that a request names."""
        asked, answered = threading.Event(), threading.Event()

        def locate(uuids, needed):
            asked.set()
            assert answered.wait(10)
            return {}
        one_host.host_manager._reader.locate_instances = locate
        other = threading.Thread(
            target=select, args=(one_host, a_server(**asks)))
        other.start()
        assert asked.wait(10)

        assert picks(one_host, a_server()) == ['a']

        answered.set()
        other.join()

    def test_never_overcommit(self, cloud):
        """Ten hosts with room for three each, wanted by eight threads."""
        cloud.load_nodes(*(clouds.a_compute_node(
            f'h{number}', memory_mb=3500, free_ram_mb=3500)
            for number in range(10)))
        driver, got, refused = a_driver(cloud), [], []
        start = threading.Barrier(8)

        def ask():
            start.wait()
            for _ in range(6):
                try:
                    got.extend(picks(driver, a_server()))
                except exception.NoValidHost as error:
                    refused.append(error)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            refresh(driver)
        for thread in threads:
            thread.join(30)

        assert sorted(got) == sorted(
            f'h{number}' for number in range(10) for _ in range(3))
        assert len(refused) == 8 * 6 - 30
        assert free_mb(driver) == [500] * 10
