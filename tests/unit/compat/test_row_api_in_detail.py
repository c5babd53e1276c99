"""Overrides of Nova's methods of one release or another, as Nova calls them.
"""

import json

import pytest

from nova_sched import exception
from nova_sched.compat.row_api import nova_host_manager
from nova_sched.hosts.decision import Decision
from nova_sched.scheduler.filters.ram_filter import RamFilter
from tests.builders.clouds import a_uuid
from tests.builders.drivers import select
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.placement import Placement
from tests.builders.requests import a_flavor
from tests.builders.requests import a_request
from tests.builders.row_api import ask
from tests.builders.rules import configured


@pytest.fixture
def named(plug_ins):
    """Decorator of a class: drivers may be made of it; returns its name."""
    def named(cls):
        cls.__module__ = plug_ins.__name__
        setattr(plug_ins, cls.__name__, cls)
        return cls.__name__
    return named


class TestOfAHostManager:
    @pytest.fixture
    def nova(self, plug_ins):
        return plug_ins.host_manager

    def test_host_states_may_be_made_without_a_cell(
            self, a_driver, nova, named):
        """As before Pike."""
        class Mitaka(nova.HostManager):
            def host_state_cls(self, host, node, **kwargs):
                assert kwargs['compute'].host == host
                return nova.HostState(host, node)

        assert ask(a_driver(manager=named(Mitaka))) == [['b']]

    def test_a_class_of_host_states_may_know_no_cell(
            self, a_driver, nova, named):
        """As before Mitaka."""
        class State(nova.HostState):
            def __init__(self, host, node, compute=None):
                super().__init__(host, node, compute=compute)

        class Kilo(nova.HostManager):
            host_state_cls = State

        assert ask(a_driver(manager=named(Kilo))) == [['b']]

    def test_it_may_take_all_hosts_for_those_of_some_uuids(
            self, a_driver, nova, named):
        class Rocky(nova.HostManager):
            def get_host_states_by_uuids(self, context, compute_uuids,
                                         spec_obj):
                return (state for state in self.get_all_host_states(context)
                        if state.host != 'b')

        assert ask(a_driver(manager=named(Rocky))) == [['a']]

    def test_the_methods_of_host_states_of_kilo_are_asked(
            self, a_driver, nova, named):
        """They are neither those of Mitaka nor called by these."""
        class State(nova.HostState):
            def update_from_compute_node(self, compute):
                super().update_from_compute_node(compute)
                if compute.host == 'b':
                    self.free_ram_mb = 9000

            def update_service(self, service):
                super().update_service(service)
                self.rack = service['host']

            def consume_from_instance(self, instance):
                super().consume_from_instance(instance)
                self.free_ram_mb -= 2 * instance['memory_mb']
                assert self.rack == self.host

        class Kilo(nova.HostManager):
            def host_state_cls(self, host, node, **kwargs):
                return State(host, node)

        driver = a_driver(manager=named(Kilo))

        assert ask(driver, 3, flavor=a_flavor(memory_mb=2000)) == [
            ['b'], ['a'], ['c']]

    def test_a_share_of_an_amount_counts_without_its_fraction(
            self, a_driver, nova, named):
        """Three tenths of 16384 MB are 4915.2."""
        class State(nova.HostState):
            def _update_from_compute_node(self, compute):
                super()._update_from_compute_node(compute)
                self.free_ram_mb = compute.free_ram_mb * 0.3

        class Sharing(nova.HostManager):
            host_state_cls = State

        driver = a_driver(manager=named(Sharing))

        assert ask(driver, 2, flavor=a_flavor(memory_mb=2457)) == [
            ['b'], ['b']]
        with pytest.raises(exception.NoValidHost, match='3 RamFilter'):
            ask(driver, flavor=a_flavor(memory_mb=4916))


class TestOfADriver:
    def test_hosts_of_several_readings_are_narrowed_as_ever(
            self, a_driver, plug_ins, named):
        """Nova's steps go by host states alone, wherever these are from."""
        class Rereading(plug_ins.QueensScheduler):
            def _get_all_host_states(self, context, spec_obj, summaries):
                read = self.host_manager.get_all_host_states
                return [next(state for state in read(context)
                             if state.host == host) for host in 'abc']

        driver = a_driver(named(Rereading))

        assert ask(driver, ignore_hosts=['b']) == [['a', 'c']]
        assert ask(driver, force_hosts=['c'])[0][0] == 'c'

    def test_a_pick_names_what_was_claimed_whatever_filters_leave_later(
            self, a_driver, plug_ins, cloud, named):
        """The method's form of Queens does not take what was claimed."""
        class Once(plug_ins.filters.BaseHostFilter):
            def host_passes(self, host_state, spec_obj):
                if (host_state.host, spec_obj.instance_uuid) != (
                        'b', a_uuid(1)):
                    return True
                host_state.allocation_candidates = []
                return False

        class Queens(plug_ins.filter_scheduler.FilterScheduler):
            def _get_alternate_hosts(
                    self, selected_hosts, spec_obj, hosts, index, num_alts,
                    alloc_reqs_by_rp_uuid=None,
                    allocation_request_version=None):
                return super()._get_alternate_hosts(
                    selected_hosts, spec_obj, hosts, index, num_alts,
                    alloc_reqs_by_rp_uuid, allocation_request_version)

        uuids = dict(cloud.rows('SELECT host, uuid FROM compute_nodes'))
        placement = Placement([uuids['a'], uuids['b']])
        driver = a_driver(
            named(Queens), filter_scheduler__enabled_filters=[named(Once)],
            filter_scheduler__available_filters=['row_plug_ins.Once'])

        found = select(
            driver, a_request(num_instances=2), [a_uuid(0), a_uuid(1)],
            offer=placement.offer(summaries=dict.fromkeys(uuids.values())),
            return_alternates=True, record=Decision())

        assert [[json.loads(chosen.allocation_request)['allocations'].keys()
                 for chosen in each] for each in found] == [
            [{uuids['b']}], [{uuids['a']}]]

    def test_less_than_was_chosen_leaves_nothing_in_flight(
            self, a_driver, plug_ins, named):
        class Forgetful(plug_ins.filter_scheduler.FilterScheduler):
            def _get_alternate_hosts(self, *args, **kwargs):
                return super()._get_alternate_hosts(*args, **kwargs)[:1]

        driver = a_driver(named(Forgetful))

        with pytest.raises(exception.NoValidHost, match='1 of 2 instances'):
            ask(driver, 2)
        assert not driver.host_manager.view().in_flight
        assert ask(driver) == [['b']]

    def test_it_may_generate_what_it_answers(
            self, a_driver, plug_ins, named):
        class Generating(plug_ins.filter_scheduler.FilterScheduler):
            def _get_alternate_hosts(self, *args, **kwargs):
                yield from super()._get_alternate_hosts(*args, **kwargs)

        assert ask(a_driver(named(Generating)), 2) == [['b'], ['b']]

    def test_its_steps_are_told_as_ever(self, a_driver, caplog):
        driver = a_driver('StepsScheduler', 'DocumentedManager')
        caplog.set_level('DEBUG')
        ask(driver)

        assert [line.split(' ram')[0] for line in caplog.messages
                if line.startswith(('Filtered', 'Weighed', 'Selected'))] == [
            'Filtered [(a, a)', 'Weighed [WeighedHost [host: (b, b)',
            'Selected host: (c, c)']

    def test_what_fails_after_all_leaves_nothing_in_flight(
            self, a_driver, plug_ins, named):
        class Late(plug_ins.filter_scheduler.FilterScheduler):
            def _schedule(self, *args, **kwargs):
                super()._schedule(*args, **kwargs)
                raise plug_ins.exception.NoValidHost(reason='not now')

        driver = a_driver(named(Late))

        with pytest.raises(exception.NoValidHost, match='not now'):
            ask(driver)
        assert not driver.host_manager.view().in_flight


class TestOfADriverThatTakesItsStepsAlone:
    def test_host_states_have_the_limits_that_filters_leave(self):
        """As in Nova: it answers with them, and consumes by them."""
        block = hosts(a_host(), a_host(free_ram_mb=-20000))
        rules = [configured(RamFilter)]

        [state] = nova_host_manager.FilterHandler().get_filtered_objects(
            rules, block.states(), a_request())

        assert state.limits == {'memory_mb': 49152}
