"""The chance scheduler: any host that is up."""

import pytest

from nova_sched import exception
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import FilterStep
from tests.builders import clouds
from tests.builders import requests
from tests.builders.drivers import CELL1
from tests.builders.drivers import CELL2
from tests.builders.drivers import hosts_of
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.drivers import with_alternates


@pytest.fixture
def chance(cloud):
    """Function: a started chance driver on hosts; keywords of a_cloud."""
    def chance(hosts, max_attempts=3, **lists):
        cloud.load(hosts, **lists)
        return cloud.driver('chance_scheduler',
                            scheduler__max_attempts=max_attempts)
    return chance


def refusal(driver, spec):
    with pytest.raises(exception.NoValidHost) as refused:
        select(driver, spec)
    reason = refused.value.kwargs['reason']
    assert {refused.value.for_caller(text).kwargs['reason']
            for text in ('nova', 'filters')} == {reason}
    return reason


class TestPicks:
    def test_are_different_hosts_while_there_are_enough(self, chance):
        driver = chance(['a', 'b', 'c'])

        for _ in range(20):
            assert sorted(picks(driver, requests.a_request(
                num_instances=3))) == ['a', 'b', 'c']

    def test_repeat_hosts_when_there_are_too_few(self, chance):
        driver = chance(['a', 'b'])

        found = picks(driver, requests.a_request(num_instances=60))

        assert len(found) == 60
        assert set(found) == {'a', 'b'}

    def test_may_be_any_host_that_is_up(self, chance):
        """Whether the request fits there or not."""
        driver = chance(['a', 'b', 'c'])

        assert {picks(driver, requests.a_request(memory_mb=10 ** 9))[0]
                for _ in range(80)} == {'a', 'b', 'c'}

    def test_are_as_many_as_there_are_uuids(self, chance):
        driver = chance(['a', 'b', 'c'])

        assert len(picks(driver, requests.a_request(),
                         [clouds.a_uuid(1), clouds.a_uuid(2)])) == 2

    def test_leave_out_hosts_that_are_disabled_down_or_forced_down(
            self, chance):
        driver = chance(['a', 'b', 'c', 'd'], services=[
            clouds.a_service('a', disabled=True),
            clouds.a_service('b', forced_down=True),
            clouds.a_service('c', last_seen_up='2020-01-01T00:00:00'),
            clouds.a_service('d')])

        assert picks(driver, requests.a_request(num_instances=4)) == [
            'd'] * 4

    def test_leave_out_ignored_hosts_by_their_exact_case(self, chance):
        driver = chance(['a', 'B'])

        assert picks(driver, requests.a_request(
            num_instances=8, ignore_hosts=['a', 'b'])) == ['B'] * 8

    def test_pay_no_heed_to_forced_hosts(self, chance):
        driver = chance(['a', 'b'])

        assert {picks(driver, requests.a_request(force_hosts=['a']))[0]
                for _ in range(60)} == {'a', 'b'}

    def test_are_of_any_node_of_the_host(self, cloud, chance):
        driver = chance(['a'], compute_nodes=[
            clouds.a_compute_node('a', hypervisor_hostname=node)
            for node in ('n1', 'n2')])

        assert {select(driver, requests.a_request())[0][0].nodename
                for _ in range(60)} == {'n1', 'n2'}


class TestAnswer:
    def test_says_all_of_a_host_but_no_limits(self, chance):
        driver = chance(['a'], compute_nodes=[
            clouds.a_compute_node('a', uuid=clouds.a_uuid(5))])

        [[selection]] = select(driver, requests.a_request())

        assert selection.compute_node_uuid == clouds.a_uuid(5)
        assert selection.cell_uuid == clouds.CELL_UUID
        assert selection.limits.to_dict() == {}
        assert selection.allocation_request == 'null'
        assert selection.allocation_request_version is None

    def test_is_on_record(self, chance):
        """With how many hosts each step leaves, once for all instances."""
        driver, record = chance(['a', 'b', 'c']), Decision()
        [[selection]] = select(driver, requests.a_request(
            ignore_hosts=['c']), record=record)

        [pick] = record.picks
        assert pick.host == selection.service_host
        assert pick.instance_uuid == requests.INSTANCE_UUID
        assert record.funnel.steps == [FilterStep(0, 'service up', 3, 3),
                                FilterStep(0, 'ignore_hosts', 3, 2)]

    def test_of_an_empty_list_of_uuids_is_a_refusal(self, chance):
        driver = chance(['a'])

        with pytest.raises(exception.NoValidHost):
            select(driver, requests.a_request(), [])


class TestRefusal:
    @pytest.mark.parametrize('hosts', [[], ['a', 'b']])
    def test_asks_whether_the_service_runs_when_no_host_is_up(self, chance,
                                                              hosts):
        driver = chance(hosts, services=[
            clouds.a_service(host, disabled=True) for host in hosts])

        assert refusal(driver, requests.a_request()) == (
            'Is the appropriate service running?')

    def test_says_when_all_that_are_up_are_ignored(self, chance):
        driver = chance(['a', 'b'])

        assert refusal(driver, requests.a_request(
            ignore_hosts=['a', 'b'])) == 'Could not find another compute'


class TestAlternates:
    @pytest.mark.parametrize('most, count', [(1, 1), (3, 3), (9, 5)])
    def test_are_one_fewer_than_the_attempts_if_there_are_so_many(
            self, chance, most, count):
        driver = chance(list('abcde'), max_attempts=most)

        [found] = with_alternates(driver, requests.a_request())

        assert len(found) == len(set(found)) == count

    def test_are_the_pick_of_no_instance(self, chance):
        driver = chance(list('abcd'))

        for _ in range(20):
            found = with_alternates(driver,
                                    requests.a_request(num_instances=2))
            chosen = {names[0] for names in found}
            assert [len(names) for names in found] == [3, 3]
            assert not chosen & {
                name for names in found for name in names[1:]}

    def test_are_none_when_every_host_is_picked(self, chance):
        driver = chance(['a', 'b'])

        assert sorted(with_alternates(
            driver, requests.a_request(num_instances=2))) == [['a'], ['b']]

    def test_are_in_the_cell_of_the_pick(self, chance):
        cells = {'a': CELL1, 'b': CELL2, 'c': CELL1, 'd': CELL2}
        driver = chance(
            list(cells), cells=[{'uuid': CELL1, 'name': 'one'},
                                {'uuid': CELL2, 'name': 'two'}],
            host_mappings=[{'host': host, 'cell_uuid': cell}
                           for host, cell in cells.items()])

        for _ in range(20):
            [found] = with_alternates(driver, requests.a_request())
            assert len(found) == 2
            assert cells[found[0]] == cells[found[1]]

    def test_may_be_any_other_host_in_any_order(self, chance):
        driver, orders = chance(list('abcd')), set()
        while len(orders) < 4 * 3 * 2:
            [found] = with_alternates(driver, requests.a_request())
            assert len({*found}) == 3
            orders.add(tuple(found))

    def test_are_none_unless_asked_for(self, chance):
        driver = chance(['a', 'b'])

        assert [len(names) for names in hosts_of(
            select(driver, requests.a_request()))] == [1]


class TestCasts:
    def test_of_aggregates_are_taken(self, chance):
        """All drivers have hosts that may be in aggregates."""
        driver = chance(['a'])

        driver.update_aggregates([])
        driver.delete_aggregate(None)

        assert picks(driver, requests.a_request()) == ['a']
