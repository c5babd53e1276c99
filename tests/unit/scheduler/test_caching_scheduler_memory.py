"""What the caching scheduler remembers beyond one request, and under which
locks."""

import threading

import pytest

from nova_sched import context
from nova_sched import objects
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.table import HostTable
from nova_sched.inventory import state
from tests.builders import clouds
from tests.builders import drivers
from tests.builders.drivers import picks
from tests.builders.in_flight import a_server

FIRST, SECOND = clouds.a_uuid(1), clouds.a_uuid(2)

#: Seconds for which a thread that must not get on is watched.
MOMENT = 0.3


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
    driver.run_periodic_tasks(context.RequestContext())


def in_group(policy, instance, **group):
    """A request for the instance; it alone is named as a member."""
    return a_server(instance_uuid=instance, group={
        'policy': policy, 'members': [instance], 'hosts': [], **group})


class Interference:
    """Something that happens at a moment of a call, in another thread.

    ``cut_in`` is called at that moment.  It returns when the other thread
    waits for the call to end, or is through because nothing holds it up.
    """

    def __init__(self, work):
        self._thread = threading.Thread(target=work)
        self.happened = False

    def cut_in(self):
        if not self.happened:
            self.happened = True
            self._thread.start()
            self._thread.join(MOMENT)

    def end(self):
        assert self.happened
        self._thread.join(30)
        assert not self._thread.is_alive()


class TestGroups:
    """Where no weigher would lead a group's next member."""

    @pytest.mark.parametrize('policy, first, then', [
        ('affinity', 'h1', 'h1'), ('anti-affinity', 'h0', 'h1')])
    @pytest.mark.parametrize('refreshed', [False, True])
    def test_are_remembered_for_callers_that_do_not_know_their_members(
            self, two_hosts, policy, first, then, refreshed):
        driver = a_driver(two_hosts)
        one = in_group(policy, FIRST)
        one.force_hosts = [first]
        assert picks(driver, one, [FIRST]) == [first]
        if refreshed:
            refresh(driver)

        assert picks(driver, in_group(policy, SECOND), [SECOND]) == [then]

    def test_without_a_uuid_are_remembered_by_their_members(self, two_hosts):
        def asked(*members, **where):
            spec = a_server(instance_uuid=members[-1], **where)
            spec.instance_group = objects.InstanceGroup(
                policy='affinity', members=list(members), hosts=[])
            return spec
        driver = a_driver(two_hosts)
        picks(driver, asked(FIRST, force_hosts=['h1']), [FIRST])

        assert picks(driver, asked(FIRST, SECOND), [SECOND]) == ['h1']

    def test_are_remembered_by_the_driver_that_takes_over(self, two_hosts):
        driver, heir = a_driver(two_hosts), a_driver(two_hosts)
        one = in_group('affinity', FIRST)
        one.force_hosts = ['h1']
        picks(driver, one, [FIRST])

        heir.take_over(driver)

        assert picks(heir, in_group('affinity', SECOND), [SECOND]) == ['h1']

    def test_need_no_database_where_no_rule_asks(self, two_hosts):
        """Where the members run is then of no interest."""
        driver = a_driver(
            two_hosts, enabled_filters=['RamFilter'],
            weight_classes=['nova.scheduler.weights.ram.RAMWeigher'])
        driver.stop()
        two_hosts.path.unlink()

        assert picks(driver, in_group('affinity', FIRST), [FIRST]) == ['h0']


class TestTakeOver:
    def test_shares_nothing_with_the_driver_before(self, two_hosts):
        """Which may yet read that an instance shows."""
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

    def test_keeps_what_the_new_driver_has_read(self, two_hosts):
        """Of the hosts that something is placed on, too."""
        driver = a_driver(two_hosts)
        picks(driver, a_server(force_hosts=['h1']))
        two_hosts.execute('UPDATE compute_nodes SET free_ram_mb = 3500, '
                          "vcpus = 77 WHERE host = 'h1'")
        heir = a_driver(two_hosts)

        heir.take_over(driver)

        columns = heir.host_manager.view().table.columns
        assert columns['vcpus_total'].tolist() == [16, 77]
        assert drivers.free_ram_mb(heir) == {'h0': 64000, 'h1': 2500}

    def test_loses_no_request_that_is_decided_meanwhile(self, two_hosts,
                                                        monkeypatch):
        """It counts with the new driver, whoever decides it."""
        driver, heir = a_driver(two_hosts), a_driver(two_hosts)
        late = Interference(lambda: picks(
            driver, a_server(force_hosts=['h1'])))
        add = state.SchedulingState.add

        def overtaken(self, found):
            add(self, found)
            late.cut_in()
        monkeypatch.setattr(state.SchedulingState, 'add', overtaken)

        heir.take_over(driver)
        late.end()

        assert drivers.free_ram_mb(heir)['h1'] == 3000

    def test_makes_what_others_decide_with_the_new_driver_anew(
            self, two_hosts):
        """They have not seen what it brought along."""
        driver, heir = a_driver(two_hosts), a_driver(two_hosts)
        for each in (driver, heir):
            picks(each, a_server(force_hosts=['h1']))
        ranked, record = heir.ranker.ranked, Decision()

        def overtaken(*args):
            heir.ranker.ranked = ranked
            heir.take_over(driver)
            return ranked(*args)
        heir.ranker.ranked = overtaken

        drivers.select(heir, a_server(force_hosts=['h1']), record=record)

        assert record.tries == 2
        assert drivers.free_ram_mb(heir)['h1'] == 1000


class TestRefresh:
    def test_loses_no_request_that_is_decided_meanwhile(self, two_hosts,
                                                        monkeypatch):
        """While what is in flight is put on the hosts as read."""
        driver = a_driver(two_hosts)
        two_hosts.execute('UPDATE compute_nodes SET vcpus = 77')
        ranked, copied = driver.ranker.ranked, HostTable.with_usage
        seen, go_on = threading.Event(), threading.Event()

        def slowly(*args):
            seen.set()
            assert go_on.wait(30)
            return ranked(*args)
        driver.ranker.ranked = slowly
        late = threading.Thread(target=picks, args=(
            driver, a_server(force_hosts=['h1'])))
        late.start()
        assert seen.wait(30)

        def overtaken(*args):
            if threading.current_thread() is threading.main_thread():
                go_on.set()
                late.join(MOMENT)
            return copied(*args)
        monkeypatch.setattr(HostTable, 'with_usage', overtaken)

        refresh(driver)
        late.join(30)

        assert not late.is_alive()
        assert drivers.free_ram_mb(driver)['h1'] == 3000
        columns = driver.host_manager.view().table.columns
        assert columns['vcpus_total'].tolist() == [77, 77]

    def test_that_is_late_does_not_undo_a_newer_one(self, two_hosts,
                                                    monkeypatch):
        """Two at a time: periodic work, and a reload or a second try."""
        driver = a_driver(two_hosts)
        cache = driver.host_manager._cache
        newer = Interference(lambda: refresh(driver))
        patched = cache._patched

        def overtaken(*args):
            if threading.current_thread() is threading.main_thread():
                two_hosts.execute('UPDATE compute_nodes SET vcpus = 78')
                newer.cut_in()
            return patched(*args)
        two_hosts.execute('UPDATE compute_nodes SET vcpus = 77')
        monkeypatch.setattr(cache, '_patched', overtaken)

        refresh(driver)
        newer.end()

        columns = driver.host_manager.view().table.columns
        assert columns['vcpus_total'].tolist() == [78, 78]
