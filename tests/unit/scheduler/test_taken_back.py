"""What a request held is given back, and gone for everybody."""

import threading

import pytest

from nova_sched import exception
from nova_sched.hosts import instances
from nova_sched.hosts.decision import Decision
from nova_sched.inventory import decision_lock
from nova_sched.scheduler import filters
from tests.builders import drivers
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.in_flight import a_boot
from tests.builders.in_flight import a_server
from tests.builders.in_flight import hosts_with_room
from tests.builders.in_flight import in_thread
from tests.builders.in_flight import uuids

LONG = 10


@pytest.fixture(params=['filter_scheduler', 'caching_scheduler'])
def driver_name(request):
    return request.param


@pytest.fixture(autouse=True)
def one_at_a_time(monkeypatch):
    """Others go first after each instance."""
    monkeypatch.setattr(decision_lock, 'PORTION', 0)


def test_what_is_given_back_meanwhile_is_nowhere_any_more(cloud, driver_name,
                                                          monkeypatch):
    """A member of a group that another request had seen, and tries again."""
    monkeypatch.setattr(decision_lock, 'PATIENCE', 0)
    hosts_with_room(cloud, 2, 1)
    driver, (member, other) = cloud.driver(driver_name), uuids(2)
    group = {'policy': 'anti-affinity', 'members': [member, other]}
    picks(driver, a_server(instance_uuid=member, group=dict(group),
                           force_hosts=['h1']), [member])
    ranked, manager = driver.ranker.ranked, driver.host_manager

    def overtaken(*args):
        driver.ranker.ranked = ranked
        driver.take_back(manager._placements.pending().values())
        in_thread(picks, driver, a_server(force_hosts=['h0']))
        return ranked(*args)
    driver.ranker.ranked = overtaken

    assert picks(driver, a_server(instance_uuid=other, group=dict(group)),
                 [other]) == ['h1']


def test_what_is_placed_before_its_hosts_are_looked_at_is_seen(
        cloud, driver_name, monkeypatch):
    """By rules that ask where it is: in the table alone it is no conflict."""
    monkeypatch.setattr(decision_lock, 'PATIENCE', 0)
    hosts_with_room(cloud, 1, 4)
    driver, (named, other) = cloud.driver(driver_name, enabled_filters=[
        'DifferentHostFilter']), uuids(2)
    start_over = instances.Instances.start_over

    def overtaken(found, pending):
        start_over(found, pending)
        monkeypatch.setattr(instances.Instances, 'start_over', start_over)
        in_thread(picks, driver, a_server(instance_uuid=named), [named])
    monkeypatch.setattr(instances.Instances, 'start_over', overtaken)

    with pytest.raises(exception.NoValidHost):
        picks(driver, a_server(instance_uuid=other, hints={
            'different_host': [named]}), [other])


def test_what_is_given_back_waits_for_who_decides_alone(cloud, driver_name,
                                                        monkeypatch):
    """Whoever decides alone must not have to decide once more."""
    monkeypatch.setattr(decision_lock, 'EXCLUSIVE', LONG)
    hosts_with_room(cloud, 1, 9)
    driver = cloud.driver(driver_name)
    picks(driver, a_server())
    taken = list(driver.host_manager._placements.pending().values())

    with driver.host_manager.lock(exclusive=1):
        thread = threading.Thread(target=driver.take_back, args=(taken,))
        thread.start()
        thread.join(0.1)
        assert drivers.free_ram_mb(driver) == {'h0': 8000}
    thread.join(LONG)
    assert drivers.free_ram_mb(driver) == {'h0': 9000}


def test_what_is_given_back_makes_others_decide_once_more(cloud, driver_name):
    """What they decided may have depended on it: a member of their group."""
    hosts_with_room(cloud, 2, 4)
    driver, record = cloud.driver(driver_name), Decision()
    [member, other] = uuids(2)
    group = {'policy': 'affinity', 'members': [member, other]}
    picks(driver, a_server(instance_uuid=member, group=dict(group),
                           force_hosts=['h1']), [member])
    ranked, manager = driver.ranker.ranked, driver.host_manager

    def overtaken(*args):
        driver.ranker.ranked = ranked
        driver.take_back(manager._placements.pending().values())
        return ranked(*args)
    driver.ranker.ranked = overtaken

    select(driver, a_server(instance_uuid=other, group=dict(group)), [other],
           record=record)

    assert record.tries == 2


class FailsAtTheThirdFilter(filters.BaseHostFilter):
    """Fails once two instances have their host."""

    run_filter_once_per_request = False

    def host_passes(self, host_state, spec_obj):
        if host_state.num_instances == 2:
            raise RuntimeError('a plug-in fails')
        return True


@pytest.mark.parametrize('alternates', [True, False])
def test_what_fails_gives_back_what_it_holds(cloud, driver_name, alternates):
    """At its third instance, or at its alternates when all are placed."""
    hosts_with_room(cloud, 1, 9)
    driver = cloud.driver(
        driver_name, enabled_filters=['FailsAtTheThirdFilter'],
        available_filters=[f'{__name__}.FailsAtTheThirdFilter'])
    names = uuids(2 if alternates else 3)

    with pytest.raises(RuntimeError, match='a plug-in fails'):
        select(driver, a_boot(names), names, return_alternates=alternates)

    assert drivers.free_ram_mb(driver) == {'h0': 9000}
