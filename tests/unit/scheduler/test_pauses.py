"""A request for many instances lets others go first now and then."""

import threading

import pytest

from nova_sched import exception
from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.hosts.decision import Decision
from nova_sched.inventory import decision_lock
from nova_sched.objects import bounds
from nova_sched.scheduler import filter_scheduler
from nova_sched.scheduler import filters
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import requests
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.in_flight import a_boot
from tests.builders.in_flight import a_server
from tests.builders.in_flight import between
from tests.builders.in_flight import hosts_with_room
from tests.builders.in_flight import uuids
from tests.builders.placement import Placement

LONG = 10


@pytest.fixture(params=['filter_scheduler', 'caching_scheduler'])
def driver_name(request):
    return request.param


@pytest.fixture(autouse=True)
def one_at_a_time(monkeypatch):
    """Others go first after each instance."""
    monkeypatch.setattr(decision_lock, 'PORTION', 0)


class TestOthers:
    def test_are_answered_before_its_last_instance(self, cloud, driver_name):
        hosts_with_room(cloud, 1, 3)
        driver, found = cloud.driver(driver_name), []
        names = uuids(2)
        between(driver, None, lambda: found.extend(picks(driver, a_server())))

        assert picks(driver, a_boot(names), names) == ['h0', 'h0']
        assert found == ['h0']
        assert drivers.free_ram_mb(driver) == {'h0': 0}

    def test_see_what_it_holds(self, cloud, driver_name):
        hosts_with_room(cloud, 1, 3)
        driver, refused = cloud.driver(driver_name), []
        names = uuids(3)

        def ask_for_more():
            with pytest.raises(exception.NoValidHost):
                picks(driver, a_server(num_instances=2))
            refused.append(True)
        between(driver, None, None, ask_for_more)

        assert picks(driver, a_boot(names), names) == ['h0'] * 3
        assert refused == [True]

    def test_may_take_what_it_lacks_then(self, cloud, driver_name):
        """It is refused, and they have all that it held."""
        hosts_with_room(cloud, 1, 3)
        driver, record, names = cloud.driver(driver_name), Decision(), uuids(3)
        between(driver, None, lambda: picks(driver, a_server()))

        with pytest.raises(exception.NoValidHost):
            select(driver, a_boot(names), names, record=record)

        assert record.reason.startswith('2 of 3 instances could be placed')
        assert drivers.free_ram_mb(driver) == {'h0': 2000}
        assert picks(driver, a_server(num_instances=2)) == ['h0', 'h0']

    @pytest.mark.parametrize('version', ['1.8', '1.15'])
    def test_of_its_group_are_seen(self, cloud, driver_name, version):
        """Though the host that they took would be the best.

        By callers of before Rocky, who tell hosts, and after, who do not.
        """
        cloud.load_nodes(*(clouds.a_compute_node(
            f'h{slots}', memory_mb=9000, free_ram_mb=1000 * slots)
            for slots in (6, 4, 1)))
        driver, names, found = cloud.driver(driver_name, weight_classes=[
            'nova_sched.scheduler.weights.ram.RAMWeigher']), uuids(3), []

        def wanted():
            group = requests.a_group('anti-affinity', names)
            group.wire_version = '1.11' if version == '1.15' else '1.10'
            return {'group': group, 'wire_version': version}
        between(driver, None, lambda: found.extend(picks(driver, a_server(
            instance_uuid=names[2], **wanted()), names[2:])))

        assert picks(driver, a_boot(names[:2], **wanted()),
                     names[:2]) == ['h6', 'h1']
        assert found == ['h4']


    def test_go_first_as_soon_as_a_portion_is_over(self, cloud, driver_name,
                                                   monkeypatch):
        """Though nobody loses patience."""
        monkeypatch.setattr(decision_lock, 'PATIENCE', 3 * LONG)
        hosts_with_room(cloud, 1, 9)
        driver, names, answers = cloud.driver(driver_name), uuids(5), []
        ranked, asking = driver.ranker.ranked, threading.get_ident()
        waiting = threading.Thread(
            target=lambda: answers.append(picks(driver, a_server())))
        queue = driver.host_manager._placements._decision_lock._queue

        def slowly(hosts, spec_obj, index, record, *request):
            if threading.get_ident() == asking:
                if index == 1:
                    waiting.start()
                    while not queue:
                        waiting.join(0.01)
                if index == 3:
                    # It has decided, and may still be on its way back.
                    waiting.join(LONG)
                    assert answers
            return ranked(hosts, spec_obj, index, record, *request)
        driver.ranker.ranked = slowly

        assert picks(driver, a_boot(names), names) == ['h0'] * 5
        waiting.join(LONG)


    def test_of_its_group_may_be_more_than_a_caller_may_name(
            self, cloud, driver_name):
        hosts_with_room(cloud, 1, 9)
        driver, *names = cloud.driver(driver_name), *uuids(2)
        named = [str(number) for number in range(bounds.GROUP_MEMBERS - 1)]
        for name in names:
            assert picks(driver, a_server(instance_uuid=name, group={
                'policy': 'affinity', 'members': [*named, name]}),
                [name]) == ['h0']


class TestTheAnswer:
    @pytest.mark.parametrize('wanted', [
        {}, {'group': 'affinity'}, {'group': 'anti-affinity'},
        {'group': 'soft-anti-affinity'}])
    @pytest.mark.parametrize('named', [True, False, 'claimed'])
    def test_is_that_of_one_portion(self, cloud, driver_name, wanted, named,
                                    monkeypatch):
        """Also where what it has placed counts in Placement only."""
        hosts_with_room(cloud, 4, 4)
        offer = (Placement([uuid for [uuid] in cloud.rows(
            'SELECT uuid FROM compute_nodes')]).offer()
            if named == 'claimed' else PLACEMENT_NOT_USED)
        names, answers = uuids(3), []
        for portion in (0, LONG):
            monkeypatch.setattr(decision_lock, 'PORTION', portion)
            driver = cloud.driver(driver_name)
            group = wanted and requests.a_group(wanted['group'],
                                                names if named else [])
            record = Decision(seed=1)
            answers.append((drivers.hosts_of(select(
                driver, a_boot(names, group=group or None),
                names if named else None, return_alternates=True,
                offer=offer, record=record)), record.steps, [
                    weighed.weights.tolist() for weighed in record.weighed],
                drivers.free_ram_mb(driver)))

        assert answers[0] == answers[1]
        assert len(answers[0][0]) == 3

    def test_has_alternates_that_are_nobodys_pick(self, cloud, driver_name):
        """Also of the portions before the last."""
        hosts_with_room(cloud, 4, 1)
        driver, names = cloud.driver(driver_name), uuids(3)

        answer = drivers.with_alternates(driver, a_boot(names), names)

        chosen = {hosts[0] for hosts in answer}
        assert len(chosen) == 3
        assert [set(hosts[1:]) for hosts in answer] == [
            {'h0', 'h1', 'h2', 'h3'} - chosen] * 3

    def test_is_the_same_number_of_tries(self, cloud, driver_name):
        hosts_with_room(cloud, 2, 9)
        driver, record, names = cloud.driver(driver_name), Decision(), uuids(5)
        between(driver, *[lambda: picks(driver, a_server())] * 5)

        select(driver, a_boot(names), names, record=record)

        assert record.tries == 1
        assert len(record.picks) == 5
        assert sum(drivers.free_ram_mb(driver).values()) == 8000


class TestIsDecidedOnceMore:
    def test_when_hosts_come_in_between(self, cloud, driver_name):
        """Nothing is in flight of the try before."""
        hosts_with_room(cloud, 1, 9)
        driver, record, names = cloud.driver(driver_name), Decision(), uuids(3)

        def grow():
            cloud.load_nodes(*(clouds.a_compute_node(
                name, memory_mb=9000, free_ram_mb=ram)
                for name, ram in (('a', 0), ('h0', 9000))), services=[
                    clouds.a_service(name, id=number)
                    for number, name in enumerate(('a', 'h0'), 7)])
            driver.host_manager.refresh()
        between(driver, None, grow)

        assert picks_of(driver, names, record) == ['h0'] * 3
        assert record.tries == 2
        assert drivers.free_ram_mb(driver) == {'a': 0, 'h0': 6000}

    def test_not_when_a_host_reports(self, cloud, driver_name):
        hosts_with_room(cloud, 1, 9)
        driver, record, names = cloud.driver(driver_name), Decision(), uuids(3)

        def report():
            cloud.execute('UPDATE compute_nodes SET free_ram_mb = 2500')
            driver.host_manager.refresh()
        between(driver, None, None, report)

        with pytest.raises(exception.NoValidHost):
            picks_of(driver, names, record)
        assert record.tries == 1
        assert drivers.free_ram_mb(driver) == {'h0': 2500}

    def test_when_another_took_what_a_portion_chose(self, cloud, driver_name,
                                                    monkeypatch):
        """Two slow instances of one request: all of it is given back."""
        hosts_with_room(cloud, 1, 9)
        driver, record, names = cloud.driver(driver_name), Decision(), uuids(3)
        ranked = driver.ranker.ranked
        monkeypatch.setattr(decision_lock, 'PATIENCE', 0)

        def overtaken(hosts, spec_obj, index, record, *request):
            if index == 1:
                driver.ranker.ranked = ranked
                thread = threading.Thread(
                    target=picks, args=(driver, a_server()))
                thread.start()
                thread.join(LONG)
            return ranked(hosts, spec_obj, index, record, *request)
        driver.ranker.ranked = overtaken

        assert picks_of(driver, names, record) == ['h0'] * 3
        assert record.tries == 2
        assert len(record.picks) == 3
        assert drivers.free_ram_mb(driver) == {'h0': 5000}

    @pytest.mark.parametrize('count, free', [(3, {'h0': 2000}),
                                             (6, {'h0': 5000})])
    def test_by_a_driver_that_takes_over(self, cloud, driver_name, count,
                                         free):
        """What it got there is all that is in flight there."""
        hosts_with_room(cloud, 1, 5)
        old, new = cloud.driver(driver_name), cloud.driver(driver_name)
        names = uuids(count)
        between(old, None, lambda: new.take_over(old))

        if count == 3:
            assert picks(old, a_boot(names), names) == ['h0'] * 3
        else:
            with pytest.raises(exception.NoValidHost):
                picks(old, a_boot(names), names)
        assert drivers.free_ram_mb(new) == free


    @pytest.mark.parametrize('heir', [True, False])
    def test_and_refused_it_has_nothing_of_the_try_before(
            self, cloud, driver_name, heir):
        hosts_with_room(cloud, 1, 9)
        driver, new = cloud.driver(driver_name), cloud.driver(driver_name)
        last, names = new if heir else driver, uuids(3)

        def end():
            if heir:
                new.take_over(driver)
            cloud.load_nodes(clouds.a_compute_node('a', free_ram_mb=0),
                             clouds.a_compute_node('h0', free_ram_mb=9000))
            cloud.execute('UPDATE services SET disabled = 1')
            last.host_manager.refresh()
        between(driver, None, end)

        with pytest.raises(exception.NoValidHost, match='0 of 2 hosts'):
            picks(driver, a_boot(names), names)
        assert drivers.free_ram_mb(last) == {'a': 0, 'h0': 9000}


def picks_of(driver, names, record):
    return [chosen[0] for chosen in drivers.hosts_of(
        select(driver, a_boot(names), names, record=record))]


class TestACallThatIsRepeated:
    def test_takes_its_room_once(self, cloud, driver_name):
        """In one turn: others see all that the first call took until then."""
        hosts_with_room(cloud, 1, 4)
        driver, names, seen = cloud.driver(driver_name), uuids(3), []
        picks(driver, a_boot(names), names)
        between(driver, *[lambda: seen.append(
            drivers.free_ram_mb(driver)['h0'])] * 3)

        assert picks(driver, a_boot(names), names) == ['h0'] * 3
        assert seen == [1000]
        assert drivers.free_ram_mb(driver) == {'h0': 1000}


    def test_and_refused_leaves_what_the_first_call_took(self, cloud,
                                                         driver_name):
        """Its hosts have reported less meanwhile, but it may be running."""
        hosts_with_room(cloud, 1, 3)
        driver, names = cloud.driver(driver_name), uuids(3)
        picks(driver, a_boot(names), names)
        cloud.execute('UPDATE compute_nodes SET free_ram_mb = 2000')
        driver.host_manager.refresh()

        with pytest.raises(exception.NoValidHost):
            picks(driver, a_boot(names), names)
        assert drivers.free_ram_mb(driver) == {'h0': -1000}

    def test_meanwhile_keeps_what_it_took(self, cloud, driver_name):
        """Though the first call is refused in the end."""
        hosts_with_room(cloud, 1, 4)
        driver, names = cloud.driver(driver_name), uuids(5)
        between(driver, None, None, lambda: picks(
            driver, a_server(instance_uuid=names[0]), names[:1]))

        with pytest.raises(exception.NoValidHost):
            picks(driver, a_boot(names), names)
        assert drivers.free_ram_mb(driver) == {'h0': 3000}


class MarksFilter(filters.BaseHostFilter):
    """Leaves something on the state of each host, once a request."""

    run_filter_once_per_request = True

    def host_passes(self, host_state, spec_obj):
        host_state.limits['vcpu'], host_state.mark = 7, 'seen'
        return True


class MarkedFilter(filters.BaseHostFilter):
    """Looks at it, for each instance."""

    run_filter_once_per_request = False

    def host_passes(self, host_state, spec_obj):
        return host_state.mark == 'seen'


def test_what_plug_ins_keep_of_a_host_stays_with_the_request(cloud,
                                                             driver_name):
    hosts_with_room(cloud, 1, 9)
    driver, names = cloud.driver(
        driver_name, enabled_filters=['MarksFilter', 'MarkedFilter'],
        available_filters=[f'{__name__}.MarksFilter',
                           f'{__name__}.MarkedFilter']), uuids(3)

    answer = select(driver, a_boot(names), names)

    assert [chosen[0].limits.to_dict() for chosen in answer] == [
        {'vcpu': 7}] * 3


@pytest.mark.parametrize('remembers, hints', [
    (True, {'_nova_check_type': ['rebuild']}), (False, {})])
def test_what_nobody_remembers_is_placed_at_once(
        cloud, driver_name, remembers, hints):
    """The next portion would not know of it: a rebuild's, and a shadow's."""
    hosts_with_room(cloud, 1, 2)
    driver, names, taken = cloud.driver(driver_name), uuids(2), []
    driver.host_manager.remembers = remembers
    between(driver, *[lambda: taken.append(True)] * 2)

    assert picks(driver, a_boot(names, hints=hints), names) == ['h0', 'h0']
    assert taken == [True]
    assert drivers.free_ram_mb(driver) == {'h0': 2000}


def test_nobody_is_asked_for_is_refused(cloud, driver_name):
    hosts_with_room(cloud, 1, 9)

    with pytest.raises(exception.NoValidHost, match='uuids is empty'):
        select(cloud.driver(driver_name), a_server(), [])


def test_one_that_is_decided_alone_lets_others_go_first_too(
        cloud, driver_name, monkeypatch):
    monkeypatch.setattr(filter_scheduler, 'TRIES', 1)
    monkeypatch.setattr(decision_lock, 'EXCLUSIVE', 3 * LONG)
    hosts_with_room(cloud, 1, 9)
    driver, names, found = cloud.driver(driver_name), uuids(3), []
    between(driver, None, lambda: found.extend(picks(driver, a_server())))

    assert picks(driver, a_boot(names), names) == ['h0'] * 3
    assert found == ['h0']
