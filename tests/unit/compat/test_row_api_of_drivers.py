"""Overrides of the steps of Nova's driver are called, and count.

They are in tests/data/row_plug_ins.py, or in the test.
"""

import json

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
from tests.builders.row_api import ask


@pytest.fixture
def driver_of(a_driver, plug_ins):
    """Function: return a driver of a class with these members."""
    def driver_of(base=None, options=(), **members):
        plug_ins.Own = type(
            'Own', (base or plug_ins.filter_scheduler.FilterScheduler,),
            {**members, '__module__': 'row_plug_ins'})
        return a_driver('Own', **dict(options))
    return driver_of


class TestSteps:
    def test_every_step_is_called(self, a_driver, plug_ins, caplog):
        """And logs as Nova's do."""
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

        driver = a_driver('StepsScheduler', 'DocumentedManager')
        caplog.set_level('DEBUG')
        ask(driver)
        assert [line.split(' ram')[0] for line in caplog.messages
                if line.startswith(('Filtered', 'Weighed', 'Selected'))] == [
            'Filtered [(a, a)', 'Weighed [WeighedHost [host: (b, b)',
            'Selected host: (c, c)']

    def test_consumption_counts(self, a_driver):
        """Seven CPUs beside the flavor's five."""
        driver = a_driver('StepsScheduler', filter_scheduler__enabled_filters=[
            'CoreFilter', 'ComputeFilter'])

        assert [hosts[0] for hosts in ask(
            driver, 3, flavor=a_flavor(vcpus=5))] == ['c', 'b', 'a']

    def test_request_is_decided_in_one_slice(self, a_driver, monkeypatch):
        monkeypatch.setattr(decision_lock, 'SLICE', 0)
        driver = a_driver('StepsScheduler')
        ask(driver, 2)

        assert driver.host_manager.view().in_flight == 2
        assert driver.sufficient[1] == 2

    @pytest.mark.parametrize('name', ['StepsScheduler', 'LenientScheduler'])
    def test_too_few_hosts_are_refused_with_reasons(self, a_driver, name):
        """Also if the driver would accept them."""
        driver = a_driver(name)

        with pytest.raises(exception.NoValidHost, match='3 RamFilter'):
            ask(driver, flavor=a_flavor(memory_mb=99999))
        assert name[0] == 'L' or driver.sufficient[:2] == ([], 1)

    def test_driver_may_find_hosts_insufficient(self, a_driver):
        driver = a_driver('StrictScheduler')

        assert ask(driver) == [['b']]
        with pytest.raises(exception.NoValidHost, match='not apart'):
            ask(driver, 2)
        assert driver.host_manager.view().in_flight == 1

    def test_its_options_reach_filters(self, a_driver, monkeypatch):
        driver, seen = a_driver('OptionsScheduler'), []
        monkeypatch.setattr(
            type(driver.ranker.filters[0]), 'mask',
            lambda self, hosts, spec: seen.append(
                spec.config_options) or hosts.rows >= 0)
        ask(driver)

        assert seen == [{'racks': 3}]

    def test_instances_join_their_group(self, a_driver):
        driver = a_driver('QueensScheduler',
                          filter_scheduler__enabled_filters=[
                              'ServerGroupAntiAffinityFilter'])

        uuids = [a_uuid() for _ in range(3)]
        group = a_group(policy='anti-affinity', hosts=[], members=uuids)

        assert sorted(hosts_of(select(driver, a_request(
            num_instances=3, instance_group=group), uuids))) == [
            ['a'], ['b'], ['c']]

    def test_missing_method_is_refused_with_an_alternative(self, a_driver):
        with pytest.raises(AttributeError,
                           match='no sync_instance_info to call: the hosts'):
            ask(a_driver('AskingScheduler'))

    def test_states_of_several_readings_are_narrowed(self, driver_of,
                                                     plug_ins):
        """Nova's steps go by host states, whichever call returned them."""
        def _get_all_host_states(self, context, spec_obj, summaries):
            read = self.host_manager.get_all_host_states
            return [next(state for state in read(context)
                         if state.host == host) for host in 'abc']

        driver = driver_of(plug_ins.QueensScheduler,
                           _get_all_host_states=_get_all_host_states)

        assert ask(driver, ignore_hosts=['b']) == [['a', 'c']]
        assert ask(driver, force_hosts=['c'])[0][0] == 'c'

    def test_alternates_may_be_generated(self, driver_of, plug_ins):
        base = plug_ins.filter_scheduler.FilterScheduler

        def _get_alternate_hosts(self, *args, **kwargs):
            yield from base._get_alternate_hosts(self, *args, **kwargs)

        assert ask(driver_of(_get_alternate_hosts=_get_alternate_hosts),
                   2) == [['b'], ['b']]

    def test_fewer_hosts_than_picks_leave_nothing_in_flight(self, driver_of,
                                                            plug_ins):
        base = plug_ins.filter_scheduler.FilterScheduler
        driver = driver_of(
            _get_alternate_hosts=lambda self, *args, **kwargs:
            base._get_alternate_hosts(self, *args, **kwargs)[:1])

        with pytest.raises(exception.NoValidHost, match='1 of 2 instances'):
            ask(driver, 2)
        assert not driver.host_manager.view().in_flight
        assert ask(driver) == [['b']]

    def test_late_failure_leaves_nothing_in_flight(self, driver_of, plug_ins):
        def _schedule(self, *args, **kwargs):
            plug_ins.filter_scheduler.FilterScheduler._schedule(
                self, *args, **kwargs)
            raise plug_ins.exception.NoValidHost(reason='not now')

        driver = driver_of(_schedule=_schedule)

        with pytest.raises(exception.NoValidHost, match='not now'):
            ask(driver)
        assert not driver.host_manager.view().in_flight


class TestLookups:
    """Lists of objects, in a host manager's own get_all_host_states."""

    @pytest.mark.parametrize('driver', [
        None, 'StepsScheduler', 'OwnScheduler', 'QueensScheduler',
        'KiloScheduler'])
    def test_know_all_hosts(self, a_driver, cloud, driver):
        uuid, zone = a_uuid(), an_aggregate(hosts=['a'], name='first')
        cloud.load(['a', 'b', 'c'], aggregates=[zone],
                   instances=[an_instance('a', uuid=uuid)])
        made = a_driver(driver, 'ListingManager')
        ask(made)

        everywhere = ['a', 'b', 'c']
        assert made.host_manager.seen == 2 * [
            [everywhere, everywhere, [uuid], ['first'], ['first']]]

    def test_read_hosts_once_per_request(self, a_driver, cloud, monkeypatch):
        """After the request they are an error."""
        made, reads = a_driver('OwnScheduler', 'ListingManager'), []
        refresh = made.host_manager.refresh
        monkeypatch.setattr(
            made.host_manager, 'refresh',
            lambda *args: reads.append(args) or refresh(*args))
        ask(made)
        assert len(reads) == 2

        cloud.execute("DELETE FROM compute_nodes WHERE host = 'c'")
        ask(made)
        assert [nodes for nodes, *_ in made.host_manager.seen] == [
            ['a', 'b'], ['a', 'b']]
        with pytest.raises(current_hosts.NoCurrentHosts):
            made.host_manager.look(None)


class TestWithPlacement:
    """Hosts are narrowed and claimed as without overrides."""

    def selected(self, driver, placement, count=1, others=()):
        """Call a driver; others: providers with a summary alone."""
        providers = [*placement.candidates().providers, *others]
        return select(
            driver, a_request(num_instances=count),
            [a_uuid(number) for number in range(count)],
            offer=placement.offer(summaries=dict.fromkeys(providers)),
            return_alternates=True, record=Decision())

    @pytest.fixture
    def uuids(self, cloud, plug_ins):
        """Host -> uuid of its provider."""
        return dict(cloud.rows('SELECT host, uuid FROM compute_nodes'))

    def test_candidates_are_passed_on_and_claimed(self, a_driver, uuids):
        driver = a_driver('StepsScheduler')
        placement = Placement([uuids['a'], uuids['b'], a_uuid(77)])

        assert hosts_of(self.selected(driver, placement, 2)) == [
            ['b', 'a'], ['b', 'a']]
        assert driver.summaries.keys() == {
            uuids['a'], uuids['b'], a_uuid(77)}
        assert driver.sufficient == (
            ['b', 'b'], 2, [a_uuid(0), a_uuid(1)])
        assert placement.claimed == [
            (a_uuid(0), uuids['b']), (a_uuid(1), uuids['b'])]

    def test_host_that_is_no_candidate_is_not_selected(self, a_driver, uuids):
        assert hosts_of(self.selected(
            a_driver(manager='KiloManager'),
            Placement([uuids['a'], uuids['b']]))) == [['a']]

    def test_refusal_by_an_override_releases_claims(self, a_driver, uuids):
        placement = Placement([uuids['b']])

        with pytest.raises(exception.NoValidHost, match='not apart'):
            self.selected(a_driver('StrictScheduler'), placement, 2)
        assert sorted(placement.released) == [a_uuid(0), a_uuid(1)]

    def test_next_host_is_tried_after_a_refused_claim(self, a_driver, uuids):
        placement = Placement(uuids.values(), refuses=[uuids['c']])

        assert hosts_of(self.selected(
            a_driver('StepsScheduler'), placement)) == [['b', 'c']]

    def test_selection_names_the_claimed_request(self, driver_of, plug_ins,
                                                 uuids):
        """Whatever candidates filters leave for later instances.

        A host with a provider summary and no candidate is skipped.

        Queens' signature of the method does not receive the claim.
        """
        def host_passes(self, host_state, spec_obj):
            if (host_state.host, spec_obj.instance_uuid) != ('b', a_uuid(1)):
                return True
            host_state.allocation_candidates = []
            return False

        def _get_alternate_hosts(
                self, selected_hosts, spec_obj, hosts, index, num_alts,
                alloc_reqs_by_rp_uuid=None, allocation_request_version=None):
            return plug_ins.filter_scheduler.FilterScheduler\
                ._get_alternate_hosts(
                    self, selected_hosts, spec_obj, hosts, index, num_alts,
                    alloc_reqs_by_rp_uuid, allocation_request_version)

        plug_ins.Once = type('Once', (plug_ins.filters.BaseHostFilter,), {
            'host_passes': host_passes, '__module__': 'row_plug_ins'})
        driver = driver_of(
            _get_alternate_hosts=_get_alternate_hosts, options={
                'filter_scheduler__enabled_filters': ['Once'],
                'filter_scheduler__available_filters': ['row_plug_ins.Once']})

        assert [[json.loads(chosen.allocation_request)['allocations'].keys()
                 for chosen in hosts] for hosts in self.selected(
            driver, Placement([uuids['a'], uuids['b']]), 2,
            others=[uuids['c']])] == [
            [{uuids['b']}], [{uuids['a']}]]
