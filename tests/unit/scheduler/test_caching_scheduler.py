"""The caching scheduler: no request waits for a database."""

import threading
import time

import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched.scheduler import caching_scheduler
from tests.builders import clouds
from tests.builders import hosts
from tests.builders import requests
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.hosts import a_host
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
    return requests.a_request(memory_mb=1000, **kwargs)


def refresh(driver):
    driver.run_periodic_tasks(context.get_admin_context())


def free_mb(driver):
    """Free memory of each host in the cache, MiB."""
    return driver._table.snapshot(None).block().objects('free_ram_mb')


class TestRequests:
    def test_need_no_database(self, cloud, one_host):
        one_host.host_manager.cache._reader.close()
        cloud.path.unlink()

        assert picks(one_host, a_server()) == ['a']

    def test_with_a_group_read_only_where_its_members_are(self, cloud):
        cloud.load(['a', 'b'], instances=[clouds.an_instance('a', uuid=OLD)])
        driver = a_driver(cloud)
        cloud.execute('DROP TABLE compute_nodes')
        cloud.execute('DROP TABLE services')

        assert picks(driver, requests.a_request(group={
            'policy': 'anti-affinity', 'members': [OLD]})) == ['b']

    def test_see_services_go_down_by_the_clock(self, cloud):
        """Without a read: a heartbeat ages while it is in the cache."""
        cloud.load(['a'])
        driver = a_driver(cloud, DEFAULT__service_down_time=2,
                          DEFAULT__report_interval=0)
        assert picks(driver, requests.a_request()) == ['a']
        time.sleep(2.1)

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

        left = driver._table.snapshot(None).block()
        assert left.objects('numa_topology')[0].cells[0].cpu_usage == 3
        assert left.objects('pci_stats')[0].free_devices == 1

    def test_outlives_the_driver_when_another_takes_over(self, cloud,
                                                         one_host):
        """As at a reload of the configuration."""
        picks(one_host, a_server())
        heir = a_driver(cloud)

        heir.take_over(one_host)

        assert free_mb(heir) == [3000]

    def test_is_made_by_the_driver_that_took_over(self, cloud, one_host):
        """A request that waited for the one before is decided there."""
        heir = a_driver(cloud)
        heir.take_over(one_host)

        picks(one_host, a_server())

        assert free_mb(heir) == [3000]

    def test_ends_with_a_newer_report_of_the_node(self, cloud, one_host):
        select(one_host, a_server(num_instances=3))
        cloud.execute('UPDATE compute_nodes SET free_ram_mb = 2500, '
                      'updated_at = ?', LATER)

        refresh(one_host)

        assert free_mb(one_host) == [2500]

    def test_stays_when_a_node_reports_something_older(self, cloud,
                                                       one_host):
        select(one_host, a_server(num_instances=3))
        cloud.execute('UPDATE compute_nodes SET free_ram_mb = 3500, '
                      "updated_at = '2020-01-01 00:00:00'")

        refresh(one_host)

        assert free_mb(one_host) == [1000]

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

    def test_of_the_other_hosts_stays_when_one_reports(self, cloud):
        cloud.load(['a', 'b'])
        driver = a_driver(cloud)
        select(driver, a_server(num_instances=2))
        assert free_mb(driver) == [31256, 31256]
        cloud.execute("UPDATE compute_nodes SET updated_at = ? "
                      "WHERE host = 'a'", LATER)

        refresh(driver)

        assert free_mb(driver) == [32256, 31256]

    def test_outlives_hosts_that_come_and_go(self, cloud):
        cloud.load(['b', 'c'])
        driver = a_driver(cloud)
        select(driver, a_server(num_instances=2))
        cloud.execute("UPDATE compute_nodes SET host = 'a', "
                      "hypervisor_hostname = 'a', updated_at = ? "
                      "WHERE host = 'b'", LATER)
        cloud.execute("UPDATE services SET host = 'a' WHERE host = 'b'")

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

    def test_of_a_group_is_forgotten_once_the_node_reported(self, cloud):
        cloud.load(['a'])
        driver = a_driver(cloud)
        spec = {'policy': 'anti-affinity', 'members': [OLD]}
        assert picks(driver, requests.a_request(group=spec), [OLD]) == ['a']
        cloud.execute('UPDATE compute_nodes SET updated_at = ?', LATER)
        refresh(driver)

        assert picks(driver, requests.a_request(group=spec),
                     [clouds.a_uuid(78)]) == ['a']


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

        def locate(uuids):
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


class TestCarryOver:
    def carried(self, old, new):
        table, kept = caching_scheduler.carry_over(
            hosts.table(*old), hosts.table(*new))
        table._check()
        block = table.snapshot(None).block()
        return dict(zip(block.objects('host'), block.objects('free_ram_mb'),
                        strict=True)), kept

    def test_takes_the_newer_of_both_for_each_host(self):
        old = [a_host(name, updated=5.0, free_ram_mb=1) for name in 'abc']
        new = [a_host('a', updated=4.0, free_ram_mb=2),
               a_host('b', updated=5.0, free_ram_mb=2),
               a_host('c', updated=6.0, free_ram_mb=2)]

        assert self.carried(old, new) == ({'a': 1, 'b': 2, 'c': 2}, {'a'})

    def test_finds_hosts_whatever_their_rows(self):
        old = [a_host(name, updated=5.0, free_ram_mb=number)
               for number, name in enumerate('bdf')]
        new = [a_host(name, updated=1.0, free_ram_mb=99) for name in 'abcdeg']

        assert self.carried(old, new) == (
            {'a': 99, 'b': 0, 'c': 99, 'd': 1, 'e': 99, 'g': 99}, {'b', 'd'})

    @pytest.mark.parametrize('old, new, found', [
        ([], [a_host('a', free_ram_mb=7)], {'a': 7}),
        ([a_host('a')], [], {}), ([], [], {}),
        ([a_host('a')], [a_host('b', free_ram_mb=7)], {'b': 7})])
    def test_of_nothing_in_common_is_the_new_table(self, old, new, found):
        assert self.carried(old, new) == (found, set())

    def test_keeps_nodes_of_one_host_apart(self):
        old = [a_host('a', nodename=name, updated=5.0, free_ram_mb=number)
               for number, name in enumerate(('n1', 'n2'))]
        new = [a_host('a', nodename='n2', updated=1.0, free_ram_mb=99)]

        assert self.carried(old, new) == ({'a': 1}, {'a'})

    def test_changes_neither_table(self):
        old = hosts.table(a_host('a', updated=5.0, free_ram_mb=1))
        new = hosts.table(a_host('a', updated=4.0, free_ram_mb=2))

        caching_scheduler.carry_over(old, new)

        assert old.columns['free_ram_mb'].tolist() == [1]
        assert new.columns['free_ram_mb'].tolist() == [2]
