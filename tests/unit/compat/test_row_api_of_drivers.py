"""Overrides of the steps of Nova's driver are called, and count.

They are in tests/data/row_plug_ins.py.
"""


import pytest

from nova_sched import exception
from nova_sched.compat import current_hosts
from nova_sched.hosts.decision import Decision
from nova_sched.inventory import decision_lock
from tests.builders.clouds import a_uuid
from tests.builders.clouds import an_aggregate
from tests.builders.clouds import an_instance
from tests.builders.drivers import hosts_of
from tests.builders.drivers import select
from tests.builders.placement import Placement
from tests.builders.requests import a_flavor
from tests.builders.requests import a_group
from tests.builders.requests import a_request
from tests.builders.row_api import answered
from tests.builders.row_api import ask


class TestOfADriver:
    def test_every_step_is_asked(self, a_driver, plug_ins):
        driver = a_driver('StepsScheduler')

        assert ask(driver, 2, True) == [['c', 'b'], ['c', 'b']]
        assert plug_ins.CALLS == [
            '_get_all_host_states',
            '_get_sorted_hosts', '_consume_selected_host',
            '_get_sorted_hosts', '_consume_selected_host',
            '_ensure_sufficient_hosts', '_get_alternate_hosts',
            '_get_sorted_hosts']
        assert driver.summaries is None
        assert driver.sufficient[:2] == (['c', 'c'], 2)

    def test_what_it_consumes_is_consumed(self, a_driver):
        """Seven CPUs beside the flavor's one."""
        driver = a_driver('StepsScheduler', filter_scheduler__enabled_filters=[
            'CoreFilter', 'ComputeFilter'])

        assert [hosts[0] for hosts in ask(
            driver, 3, flavor=a_flavor(vcpus=5))] == ['c', 'b', 'a']

    def test_is_decided_in_one_slice(self, a_driver, monkeypatch):
        monkeypatch.setattr(decision_lock, 'SLICE', 0)
        driver = a_driver('StepsScheduler')
        ask(driver, 2)

        assert driver.host_manager.view().in_flight == 2
        assert driver.sufficient[1] == 2

    def test_too_few_hosts_end_in_the_reasons(self, a_driver):
        driver = a_driver('StepsScheduler')

        with pytest.raises(exception.NoValidHost, match='3 RamFilter'):
            ask(driver, flavor=a_flavor(memory_mb=99999))
        assert driver.sufficient[:2] == ([], 1)

    def test_it_may_find_hosts_insufficient(self, a_driver):
        driver = a_driver('StrictScheduler')

        assert ask(driver) == [['b']]
        with pytest.raises(exception.NoValidHost, match='not apart'):
            ask(driver, 2)
        assert driver.host_manager.view().in_flight == 1

    def test_less_than_was_asked_for_is_refused(self, a_driver):
        with pytest.raises(exception.NoValidHost, match='3 RamFilter'):
            ask(a_driver('LenientScheduler'),
                flavor=a_flavor(memory_mb=99999))

    def test_its_options_are_those_of_filters(self, a_driver, monkeypatch):
        driver, seen = a_driver('OptionsScheduler'), []
        monkeypatch.setattr(
            type(driver.ranker.filters[0]), 'mask',
            lambda self, hosts, spec: seen.append(
                spec.config_options) or hosts.rows >= 0)
        ask(driver)

        assert seen == [{'racks': 3}]

    def test_one_of_kilo_may_do_all_itself(self, a_driver):
        hosts, _ = answered(
            a_driver('KiloScheduler'), 3, flavor=a_flavor(memory_mb=6000))

        assert hosts == ['b', 'b', 'a']

    def test_one_of_queens_may_do_all_of_its_steps(self, a_driver):
        driver = a_driver('QueensScheduler')

        assert ask(driver, 2, flavor=a_flavor(memory_mb=8000)) == [
            ['b', 'a'], ['b', 'a']]

    def test_its_instances_join_their_group(self, a_driver):
        driver = a_driver('QueensScheduler',
                          filter_scheduler__enabled_filters=[
                              'ServerGroupAntiAffinityFilter'])

        uuids = [a_uuid() for _ in range(3)]
        group = a_group(policy='anti-affinity', hosts=[], members=uuids)

        assert sorted(hosts_of(select(driver, a_request(
            num_instances=3, instance_group=group), uuids))) == [
            ['a'], ['b'], ['c']]

    def test_what_is_not_there_to_call_says_what_is(self, a_driver):
        with pytest.raises(AttributeError,
                           match='no sync_instance_info to call: the hosts'):
            ask(a_driver('AskingScheduler'))


class TestLookingUp:
    """Lists of objects, in a host manager's own get_all_host_states."""

    @pytest.mark.parametrize('driver', [
        None, 'StepsScheduler', 'OwnScheduler', 'QueensScheduler',
        'KiloScheduler'])
    def test_knows_all_hosts(self, a_driver, cloud, driver):
        uuid, zone = a_uuid(), an_aggregate(hosts=['a'], name='first')
        cloud.load(['a', 'b', 'c'], aggregates=[zone],
                   instances=[an_instance('a', uuid=uuid)])
        made = a_driver(driver, 'ListingManager')
        ask(made)

        everywhere = ['a', 'b', 'c']
        assert made.host_manager.seen == 2 * [
            [everywhere, everywhere, [uuid], ['first'], ['first']]]

    def test_is_no_read_of_its_own_each_time(self, a_driver, monkeypatch):
        made, reads = a_driver('OwnScheduler', 'ListingManager'), []
        refresh = made.host_manager.refresh
        monkeypatch.setattr(
            made.host_manager, 'refresh',
            lambda *args: reads.append(args) or refresh(*args))
        ask(made)

        assert len(reads) == 2

    def test_knows_the_hosts_of_the_next_request(self, a_driver, cloud):
        made = a_driver('OwnScheduler', 'ListingManager')
        ask(made)
        cloud.execute("DELETE FROM compute_nodes WHERE host = 'c'")
        ask(made)

        assert [nodes for nodes, *_ in made.host_manager.seen] == [
            ['a', 'b'], ['a', 'b']]

    def test_ends_with_the_request(self, a_driver):
        made = a_driver('OwnScheduler', 'ListingManager')
        ask(made)

        with pytest.raises(current_hosts.NoCurrentHosts):
            made.host_manager.look(None)


class TestWithPlacement:
    """Hosts are narrowed and claimed as ever."""

    def asked(self, driver, placement, count=1):
        providers = placement.candidates().providers
        return hosts_of(select(
            driver, a_request(num_instances=count),
            [a_uuid(number) for number in range(count)],
            offer=placement.offer(summaries=dict.fromkeys(providers)),
            return_alternates=True, record=Decision()))

    @pytest.fixture
    def uuids(self, cloud, plug_ins):
        """Host -> uuid of its provider."""
        return dict(cloud.rows('SELECT host, uuid FROM compute_nodes'))

    def test_what_it_offers_is_named_and_claimed(self, a_driver, uuids):
        driver = a_driver('StepsScheduler')
        placement = Placement([uuids['a'], uuids['b'], a_uuid(77)])

        assert self.asked(driver, placement, 2) == [['b', 'a'], ['b', 'a']]
        assert driver.summaries.keys() == {
            uuids['a'], uuids['b'], a_uuid(77)}
        assert driver.sufficient == (
            ['b', 'b'], 2, [a_uuid(0), a_uuid(1)])
        assert placement.claimed == [
            (a_uuid(0), uuids['b']), (a_uuid(1), uuids['b'])]

    def test_a_host_that_it_does_not_offer_is_none(self, a_driver, uuids):
        driver = a_driver(manager='KiloManager')

        assert self.asked(driver, Placement([uuids['a'], uuids['b']])) == [
            ['a']]

    def test_what_an_override_refuses_is_given_back(self, a_driver, uuids):
        placement = Placement([uuids['b']])

        with pytest.raises(exception.NoValidHost, match='not apart'):
            self.asked(a_driver('StrictScheduler'), placement, 2)
        assert sorted(placement.released) == [a_uuid(0), a_uuid(1)]

    def test_a_claim_that_is_refused_goes_on_to_the_next(
            self, a_driver, uuids):
        placement = Placement(uuids.values(), refuses=[uuids['c']])

        assert self.asked(a_driver('StepsScheduler'), placement) == [
            ['b', 'c']]
