"""The caching scheduler: requests do not wait for a database."""

import threading

import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched import objects
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import requests
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.in_flight import a_server
from tests.builders.in_flight import hosts_with_room
from tests.builders.numa import a_cell
from tests.builders.numa import a_guest
from tests.builders.numa import cells_text
from tests.builders.numa import guest_cell
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_requests
from tests.builders.pci import pci_stats

OLD, FIRST, SECOND = (clouds.a_uuid(number) for number in (77, 1, 2))

#: Seconds for which a thread is expected to wait.
MOMENT = 0.3


@pytest.fixture
def one_host(cloud):
    """A started driver on one host with room for four of ``a_server``."""
    hosts_with_room(cloud, 1, 4)
    return a_driver(cloud)


@pytest.fixture
def two_hosts(cloud):
    """Hosts h0, which every weigher prefers, and h1."""
    cloud.load_nodes(
        clouds.a_compute_node('h0', memory_mb=64000, free_ram_mb=64000),
        clouds.a_compute_node('h1', memory_mb=4000, free_ram_mb=4000))
    return cloud


def a_driver(cloud, **options):
    return cloud.driver('caching_scheduler', **options)


def refresh(driver):
    driver.run_periodic_tasks(context.get_admin_context())


def free_mb(driver):
    """Free memory of each host that requests see, MiB."""
    return list(drivers.free_ram_mb(driver).values())


def in_group(policy, instance, **group):
    """A request for the instance; it alone is named as a member."""
    return a_server(instance_uuid=instance, group={
        'policy': policy, 'members': [instance], 'hosts': [], **group})


class TestRequests:
    def test_need_no_database(self, cloud, one_host):
        one_host.host_manager.close()
        cloud.path.unlink()

        assert picks(one_host, a_server()) == ['h0']

    def test_with_a_group_read_only_where_its_members_are(self, cloud):
        cloud.load(['a', 'b'], instances=[clouds.an_instance('a', uuid=OLD)])
        driver = a_driver(cloud)
        cloud.execute('DROP TABLE compute_nodes')
        cloud.execute('DROP TABLE services')

        assert picks(driver, requests.a_request(group={
            'policy': 'anti-affinity', 'members': [OLD]})) == ['b']

    def test_see_services_go_down_by_the_clock(self, cloud, monkeypatch):
        """Without a read: cached heartbeats age."""
        cloud.load(['a'])
        driver = a_driver(cloud, DEFAULT__service_down_time=100)
        assert picks(driver, requests.a_request()) == ['a']
        now = driver.host_manager.now() + 101
        monkeypatch.setattr(driver.host_manager, 'now', lambda: now)

        with pytest.raises(exception.NoValidHost, match='service down'):
            select(driver, requests.a_request())

    def test_see_nothing_new_before_the_next_refresh(self, cloud, one_host):
        cloud.execute('UPDATE services SET disabled = 1')
        assert picks(one_host, a_server()) == ['h0']

        refresh(one_host)

        with pytest.raises(exception.NoValidHost, match='service disabled'):
            select(one_host, a_server())


class TestConsumption:

    def test_outlives_a_refresh_also_for_numa_cells_and_devices(self, cloud):
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
        assert left.objects('pci_stats')[0].free_by_node.total() == 1

    @pytest.mark.parametrize('spec', [
        {'num_instances': 5}, {'memory_mb': 4001},
        {'force_hosts': ['no-such']}])
    def test_is_undone_for_a_refused_request(self, one_host, spec):
        with pytest.raises(exception.NoValidHost):
            select(one_host, a_server(**spec))

        assert free_mb(one_host) == [4000]

    def test_is_undone_after_an_error_of_a_plug_in(self, cloud):
        cloud.load(['a'])
        driver = a_driver(cloud, available_filters=[
            'tests.unit.scheduler.test_manager_records.'
            'BreakingFilter'], enabled_filters=['BreakingFilter'])

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


def test_failed_refresh_leaves_the_cache_as_it_was(cloud, one_host):
    cloud.execute('ALTER TABLE services RENAME TO moved')
    with pytest.raises(exception.DatabaseUnavailable):
        refresh(one_host)

    assert picks(one_host, a_server()) == ['h0']


class TestGroups:
    """On hosts that no weigher prefers for the next member."""

    def test_without_a_uuid_are_remembered_by_their_members(self, two_hosts):
        def asked(*members, **where):
            spec = a_server(instance_uuid=members[-1], **where)
            spec.instance_group = objects.InstanceGroup(
                policy='affinity', members=list(members), hosts=[])
            return spec
        driver = a_driver(two_hosts)
        picks(driver, asked(FIRST, force_hosts=['h1']), [FIRST])

        assert picks(driver, asked(FIRST, SECOND), [SECOND]) == ['h1']

    def test_need_no_database_where_no_rule_asks(self, two_hosts):
        """Rules alone look at the members."""
        driver = a_driver(
            two_hosts, enabled_filters=['RamFilter'],
            weight_classes=['nova.scheduler.weights.ram.RAMWeigher'])
        driver.stop()
        two_hosts.path.unlink()

        assert picks(driver, in_group('affinity', FIRST), [FIRST]) == ['h0']


class TestTakeOver:
    def test_shares_nothing_with_the_driver_before(self, two_hosts):
        """The old driver may yet read that an instance shows."""
        driver, heir = a_driver(two_hosts), a_driver(two_hosts)
        picks(driver, a_server(force_hosts=['h1'], instance_uuid=FIRST),
              [FIRST])
        heir.take_over(driver)
        two_hosts.execute('INSERT INTO instances (uuid, host, node, deleted) '
                          "VALUES (?, 'h1', 'h1', 0)", FIRST)
        two_hosts.execute("UPDATE compute_nodes SET free_ram_mb = 3000, "
                          "running_vms = 1 WHERE host = 'h1'")

        refresh(driver)
        refresh(heir)

        assert drivers.free_ram_mb(heir)['h1'] == 3000

    def test_keeps_the_reads_of_the_new_driver(self, two_hosts):
        """Also of hosts with picks."""
        driver = a_driver(two_hosts)
        picks(driver, a_server(force_hosts=['h1']))
        two_hosts.execute('UPDATE compute_nodes SET free_ram_mb = 3500, '
                          "vcpus = 77 WHERE host = 'h1'")
        heir = a_driver(two_hosts)

        heir.take_over(driver)

        columns = heir.host_manager.view().table.columns
        assert columns['vcpus_total'].tolist() == [16, 77]
        assert drivers.free_ram_mb(heir) == {'h0': 64000, 'h1': 2500}


def test_refresh_late_refresh_does_not_undo_newer_one(two_hosts, monkeypatch):
    """Two refreshes at a time: of periodic work and of a reload."""
    driver = a_driver(two_hosts)
    cache = driver.host_manager._cache
    newer = threading.Thread(target=refresh, args=[driver])
    patched = cache._patched

    def overtaken(*args):
        if threading.current_thread() is threading.main_thread():
            two_hosts.execute('UPDATE compute_nodes SET vcpus = 78')
            newer.start()
            # It ends, or waits for the other refresh.
            newer.join(MOMENT)
        return patched(*args)
    two_hosts.execute('UPDATE compute_nodes SET vcpus = 77')
    monkeypatch.setattr(cache, '_patched', overtaken)

    refresh(driver)
    newer.join(30)
    assert not newer.is_alive()

    columns = driver.host_manager.view().table.columns
    assert columns['vcpus_total'].tolist() == [78, 78]
