"""The chance scheduler: any host that is up."""

import pytest

from nova_sched import exception
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import FilterStep
from tests.builders import clouds
from tests.builders import requests
from tests.builders.drivers import CELL1
from tests.builders.drivers import CELL2
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.drivers import with_alternates

TWO_CELLS = {'a': CELL1, 'b': CELL2, 'c': CELL1, 'd': CELL2}


@pytest.fixture
def chance(cloud):
    """Function: a started chance driver on hosts; keywords of a_cloud."""
    def chance(hosts, max_attempts=3, **lists):
        cloud.load(list(hosts), **lists)
        return cloud.driver('chance_scheduler',
                            scheduler__max_attempts=max_attempts)
    return chance


class TestPicks:
    def test_are_different_hosts_while_there_are_enough(self, chance):
        driver = chance('abc')

        for _ in range(5):
            assert sorted(picks(driver, requests.a_request(
                num_instances=3))) == ['a', 'b', 'c']
        found = picks(driver, requests.a_request(num_instances=60))
        assert len(found) == 60
        assert set(found) == {'a', 'b', 'c'}

    @pytest.mark.parametrize('request_', [
        {'memory_mb': 10 ** 9}, {'force_hosts': ['a']}])
    def test_may_be_any_host(self, chance, request_):
        """Sizes and forced hosts do not count."""
        driver = chance('ab')

        assert {picks(driver, requests.a_request(**request_))[0]
                for _ in range(30)} == {'a', 'b'}

    def test_leave_out_hosts_disabled_down_or_forced_down(self, chance):
        driver = chance('abcd', services=[
            clouds.a_service('a', disabled=True),
            clouds.a_service('b', forced_down=True),
            clouds.a_service('c', last_seen_up='2020-01-01T00:00:00'),
            clouds.a_service('d')])

        assert picks(driver, requests.a_request(num_instances=4)) == ['d'] * 4

    def test_leave_out_ignored_hosts_by_their_exact_case(self, chance):
        driver, record = chance('aB'), Decision()

        [[selection]] = select(driver, requests.a_request(
            ignore_hosts=['a', 'b']), record=record)

        [pick] = record.picks
        assert pick.host == selection.service_host == 'B'
        assert pick.instance_uuid == requests.INSTANCE_UUID
        assert record.funnel.steps == [FilterStep(0, 'service up', 2, 2),
                                       FilterStep(0, 'ignore_hosts', 2, 1)]

    def test_may_be_any_node_of_the_host(self, chance):
        driver = chance('a', compute_nodes=[
            clouds.a_compute_node('a', hypervisor_hostname=node)
            for node in ('n1', 'n2')])

        assert {select(driver, requests.a_request())[0][0].nodename
                for _ in range(30)} == {'n1', 'n2'}


@pytest.mark.parametrize(('hosts', 'disabled', 'request_', 'uuids', 'words'), [
    ('', True, {}, None, 'Is the appropriate service running?'),
    ('ab', True, {}, None, 'Is the appropriate service running?'),
    ('ab', False, {'ignore_hosts': ['a', 'b']}, None,
     'Could not find another compute'),
    ('a', False, {}, [], 'The list of instance uuids is empty')])
def test_a_refusal_has_novas_reason(chance, hosts, disabled, request_, uuids,
                                    words):
    """In the text for any caller."""
    driver = chance(hosts, services=[
        clouds.a_service(host, disabled=disabled) for host in hosts])

    with pytest.raises(exception.NoValidHost) as refused:
        select(driver, requests.a_request(**request_), uuids)
    assert refused.value.kwargs['reason'].endswith(words)
    assert uuids == [] or {
        refused.value.for_caller(text).kwargs['reason']
        for text in ('nova', 'filters')} == {words}


class TestAlternates:
    @pytest.mark.parametrize('most, count', [(1, 1), (3, 3), (9, 5)])
    def test_are_one_fewer_than_the_attempts_if_there_are_so_many(
            self, chance, most, count):
        [found] = with_alternates(chance('abcde', max_attempts=most),
                                  requests.a_request())

        assert len(found) == len(set(found)) == count

    def test_are_the_pick_of_no_instance(self, chance):
        driver = chance('abcd')

        for _ in range(5):
            found = with_alternates(driver,
                                    requests.a_request(num_instances=2))
            assert [len(names) for names in found] == [3, 3]
            assert not {names[0] for names in found} & {
                name for names in found for name in names[1:]}
        assert [len(names) for names in with_alternates(
            driver, requests.a_request(num_instances=4))] == [1] * 4

    def test_are_in_the_cell_of_the_pick(self, chance):
        driver = chance(
            TWO_CELLS, cells=[{'uuid': CELL1, 'name': 'one'},
                              {'uuid': CELL2, 'name': 'two'}],
            host_mappings=[{'host': host, 'cell_uuid': cell}
                           for host, cell in TWO_CELLS.items()])

        for _ in range(5):
            [[pick, alternate]] = with_alternates(driver, requests.a_request())
            assert TWO_CELLS[pick] == TWO_CELLS[alternate]

    def test_are_in_random_order(self, chance):
        driver, orders = chance('abc'), set()
        while len(orders) < 3 * 2:
            [found] = with_alternates(driver, requests.a_request())
            assert len({*found}) == 3
            orders.add(tuple(found))

    def test_are_returned_on_request(self, chance):
        [chosen] = select(chance('ab'), requests.a_request())

        assert len(chosen) == 1
