"""The host manager: services that are up, ratios, aggregates, overviews."""

import pytest

from nova_sched.scheduler import host_manager
from nova_sched.scheduler import ironic_host_manager
from tests.builders import clouds


@pytest.fixture
def manager(cloud):
    """Function: a HostManager; options as of rules.a_conf."""
    def manager(**options):
        return host_manager.HostManager(cloud.conf(**options))
    return manager


def snapshot(manager):
    """A snapshot of the hosts as they are now."""
    manager.refresh()
    return manager.snapshot(manager.view().table, manager.instances())


def up(cloud, manager, **service):
    """Whether a host with this service is up; times as SQL modifiers."""
    cloud.load(['a'])
    for name, value in service.items():
        if isinstance(value, str):
            cloud.execute(f"UPDATE services SET {name} = "
                          f"datetime('now', '{value}')")
        else:
            cloud.execute(f'UPDATE services SET {name} = ?', value)
    return snapshot(manager).value('service_up', 0)


class ThirdPartyManager(host_manager.HostManager):
    """Changes nothing."""


class TestNames:
    @pytest.mark.parametrize('name, cls', [
        ('host_manager', host_manager.HostManager),
        ('nova.scheduler.host_manager.HostManager',
         host_manager.HostManager),
        ('ironic_host_manager', ironic_host_manager.IronicHostManager),
        ('nova.scheduler.ironic_host_manager.IronicHostManager',
         ironic_host_manager.IronicHostManager),
        (f'{__name__}.ThirdPartyManager', ThirdPartyManager),
    ])
    def test_and_class_paths_lead_to_a_host_manager(self, cloud, name, cls):
        driver = cloud.driver(scheduler__host_manager=name)

        assert type(driver.host_manager) is cls

class TestServices:
    @pytest.mark.parametrize('service, found', [
        ({'last_seen_up': '-10 seconds'}, True),
        ({'last_seen_up': '-57 seconds'}, True),
        ({'last_seen_up': '-62 seconds'}, False),
        ({'last_seen_up': '+55 seconds'}, True),
        ({'last_seen_up': '+65 seconds'}, False),
        # Never seen.
        ({'last_seen_up': None, 'created_at': '-10 seconds'}, True),
        ({'last_seen_up': None, 'created_at': '-99 seconds'}, False),
        ({'last_seen_up': None, 'created_at': None}, False),
        ({'forced_down': 1}, False), ({'forced_down': None}, True),
        ({'disabled': 1}, True)])
    def test_are_up_by_last_heartbeat(self, cloud, manager, service, found):
        assert up(cloud, manager(), **service) is found

    def test_are_up_for_as_long_as_the_option_says(self, cloud, manager):
        patient = manager(DEFAULT__service_down_time=600)

        assert up(cloud, patient, last_seen_up='-590 seconds')


def test_instances_are_those_the_database_has_on_the_host(cloud, manager):
    cloud.load(['a', 'b'], instances=[
        clouds.an_instance('a', uuid=clouds.a_uuid(1), vcpus=3),
        clouds.an_instance('b', uuid=clouds.a_uuid(2)),
        clouds.an_instance('a', uuid=clouds.a_uuid(3), deleted=3)])

    found = snapshot(manager()).state(0).instances

    assert list(found) == [clouds.a_uuid(1)]
    assert found[clouds.a_uuid(1)].vcpus == 3


class TestRatios:
    @pytest.mark.parametrize('value', [None, 0.0])
    def test_missing_in_rows_come_from_options(self, cloud, manager, value):
        """Compute nodes report none before Mitaka, and 0.0 later."""
        cloud.load_nodes(clouds.a_compute_node(
            'a', ram_allocation_ratio=value, cpu_allocation_ratio=value,
            disk_allocation_ratio=value))
        made = manager(DEFAULT__ram_allocation_ratio=1.25,
                       DEFAULT__cpu_allocation_ratio=9.0,
                       DEFAULT__disk_allocation_ratio=2.5)

        state = snapshot(made).state(0)

        assert (state.ram_allocation_ratio, state.cpu_allocation_ratio,
                state.disk_allocation_ratio) == (1.25, 9.0, 2.5)

def test_aggregates_are_those_of_this_moment(cloud, manager):
    """Without a read of the hosts; also aggregates without hosts."""
    made = manager()
    cloud.load(['a'], aggregates=[clouds.an_aggregate(hosts=['a'])])
    assert len(made.aggregates()) == 1

    cloud.execute("INSERT INTO aggregates (id, name, created_at) "
                  "VALUES (77, 'empty', datetime('now'))")

    assert [aggregate.name for aggregate in made.aggregates()][1:] == ['empty']


class TestOldestCompute:
    @pytest.mark.parametrize('other, least', [
        ('version = 73', 73), ('version = NULL', 0),
        ('version = 60, forced_down = 1', 74)])
    def test_is_the_least_version_of_all(self, cloud, manager, other, least):
        """0 if a service reports none; forced down services do not count."""
        cloud.load(['a', 'b'])
        cloud.execute('UPDATE services SET version = 74')
        cloud.execute(f"UPDATE services SET {other} WHERE host = 'b'")
        made = manager()
        made.refresh()

        assert made.oldest_compute() == least

    def test_is_unknown_without_hosts(self, cloud, manager):
        cloud.load(0)
        made = manager()
        made.refresh()

        assert made.oldest_compute() is None


def test_find_nodes_by_host_or_node_or_both(cloud, manager):
    cloud.load_nodes(
        clouds.a_compute_node('a', hypervisor_hostname='n1'),
        clouds.a_compute_node('a', hypervisor_hostname='n2'),
        clouds.a_compute_node('b', hypervisor_hostname='n3'))
    made = manager()

    assert [[node.nodename for node in made.find_nodes(*names)]
            for names in (('a', None), (None, 'n3'), ('a', 'n2'),
                          ('b', 'n2'))] == [
        ['n1', 'n2'], ['n3'], ['n2'], []]


class TestOverviews:
    def test_count_services_up_and_down(self, cloud, manager):
        cloud.load(['a', 'b', 'c'])
        cloud.execute("UPDATE services SET forced_down = 1 WHERE host = 'b'")
        manager = manager()
        manager.refresh()
        seen = manager.overview()
        assert (seen.up, seen.down, seen.ahead, seen.lost) == (2, 1, [], {})
        assert [age >= 0 for age in seen.ages.values()] == [True]

    @pytest.mark.parametrize('skips', [False, True])
    @pytest.mark.parametrize('seconds, up', [(30, 3), (600, 2)])
    def test_name_hosts_whose_heartbeats_are_of_the_future(
            self, cloud, manager, seconds, up, skips):
        cloud.load(['a', 'b', 'c'])
        cloud.execute("UPDATE services SET last_seen_up = "
                      f"datetime('now', '+{seconds} seconds') "
                      "WHERE host = 'b'")
        manager = manager()
        if skips:
            manager.skip_heartbeats()
        manager.refresh()
        seen = manager.overview()
        assert (seen.up, seen.down, seen.ahead) == (up, 3 - up, ['b'])
        assert seconds - 10 < seen.by_seconds < seconds + 10

    def test_are_as_of_the_last_read(self, cloud, manager, monkeypatch):
        """Hosts are not down because they were not read since."""
        cloud.load(['a'])
        manager = manager()
        manager.refresh()
        monkeypatch.setattr(manager, 'now', lambda: host_manager.time.time()
                            + 1000)
        seen = manager.overview()
        assert seen.up == 1
        assert min(seen.ages.values()) >= 1000

    def test_are_empty_before_the_first_read(self, cloud, manager):
        seen = manager().overview()
        assert (seen.up, seen.down, seen.ages) == (0, 0, {})
