"""A slow request does not delay others."""

import contextlib
import threading

from oslo_utils import uuidutils
import pytest

from nova_sched import exception
from nova_sched.hosts.decision import Decision
from nova_sched.inventory import decision_lock
from nova_sched.scheduler import filters
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.in_flight import a_server
from tests.builders.in_flight import hosts_with_room

LONG = 10


@pytest.fixture(params=['filter_scheduler', 'caching_scheduler'])
def driver_name(request):
    return request.param


def in_thread(target, *args):
    thread = threading.Thread(target=target, args=args, daemon=True)
    thread.start()
    return thread


def ends(target, *args):
    """Whether a function returns in another thread."""
    thread = in_thread(target, *args)
    thread.join(LONG)
    return not thread.is_alive()


class StuckFilter(filters.BaseHostFilter):
    """Waits at requests with the hint stuck, until it is over."""

    begun, over = threading.Event(), threading.Event()

    def host_passes(self, host_state, spec_obj):
        if spec_obj.get_scheduler_hint('stuck'):
            self.begun.set()
            self.over.wait(3 * LONG)
        return host_state.free_ram_mb >= 1000


def test_for_many_instances_does_not_delay_others(cloud, driver_name):
    StuckFilter.begun.clear()
    StuckFilter.over.clear()
    hosts_with_room(cloud, 2, 5)
    driver = cloud.driver(
        driver_name, enabled_filters=['StuckFilter'],
        available_filters=[f'{__name__}.StuckFilter'])

    def ask_for_many():
        with contextlib.suppress(exception.NoValidHost):
            select(driver, a_server(num_instances=5000,
                                    hints={'stuck': ['yes']}))

    stuck = in_thread(ask_for_many)
    assert StuckFilter.begun.wait(LONG)
    try:
        assert ends(select, driver, a_server())
    finally:
        StuckFilter.over.set()
        stuck.join(LONG)


def test_is_decided_again_and_then_stands(cloud, driver_name, monkeypatch):
    """Another request takes its choice each time."""
    monkeypatch.setattr(decision_lock, 'PATIENCE', 0.0)
    hosts_with_room(cloud, 1, 9)
    driver, record = cloud.driver(driver_name), Decision()
    ranked, own, answered = driver.ranker.ranked, threading.get_ident(), []

    def slowly(*args):
        if threading.get_ident() == own:
            answered.append(ends(select, driver, a_server()))
        return ranked(*args)

    driver.ranker.ranked = slowly
    assert select(driver, a_server(), record=record)

    assert answered == [True, True]
    assert record.tries == 2
    assert [pick.host for pick in record.picks] == ['h0']


def another_while_instances_are_read(driver):
    """A list that gets whether another request ended during a read."""
    reader, others = driver.host_manager._reader, []
    read = reader.instances_on

    def reading(*args):
        reader.instances_on = read
        others.append(ends(select, driver, a_server()))
        return read(*args)

    reader.instances_on = reading
    return others


@pytest.mark.parametrize('name, query, are_read', [
    ('JsonFilter', ['["not", ["=", "$instances.x", 1]]'], True),
    ('JsonFilter', ['["in", 1, 1, "$instances"]'], True),
    ('JsonFilter', ['["=", "$instances_path", 1, 1]'], False),
    ('JsonFilter', ['["=", "$instances"'], False),
    ('TypeAffinityFilter', [], True)])
def test_instances_are_read_before_the_turn(
        cloud, driver_name, name, query, are_read, monkeypatch):
    """The decision lock waits long here."""
    monkeypatch.setattr(decision_lock, 'PATIENCE', 3 * LONG)
    hosts_with_room(cloud, 2, 5)
    driver = cloud.driver(driver_name, enabled_filters=[name])
    others = another_while_instances_are_read(driver)

    with contextlib.suppress(exception.InvalidInput):
        select(driver, a_server(hints={'query': query}))

    assert others == [True] * are_read


def test_for_a_group_looks_up_all_members_at_once(cloud, driver_name):
    """Not one by one under the lock; also future members."""
    hosts_with_room(cloud, 3, 5)
    driver, names = cloud.driver(driver_name), [
        uuidutils.generate_uuid() for _ in range(3)]
    reader, asked = driver.host_manager._reader, []
    locate = reader.locate_instances

    def located(uuids, *args):
        asked.append(set(uuids))
        return locate(uuids, *args)
    reader.locate_instances = located

    picks(driver, a_server(num_instances=3, group={
        'policy': 'anti-affinity', 'members': names[:1]}), names)

    assert asked == [set(names)]
