"""Drivers written for Nova from Queens on (tests/data/queens_drivers.py)."""

import importlib

import pytest

from nova_sched import exception
from nova_sched.compat import driver_signatures
from nova_sched.compat import nova_names
from nova_sched.context import RequestContext
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import Pick
from nova_sched.rpc import call_scope
from nova_sched.scheduler import driver as drivers
from nova_sched.scheduler import loading
from tests.builders import http_placement
from tests.builders import notifications
from tests.builders import rules
from tests.builders.http_server import Answer
from tests.builders.services import wait_for
from tests.unit.compat.conftest import A
from tests.unit.compat.conftest import B
from tests.unit.compat.conftest import C
from tests.unit.compat.conftest import ask
from tests.unit.compat.conftest import claimed

FULL, TAKEN = http_placement.FULL, http_placement.TAKEN


@pytest.fixture
def endpoint(manager):
    """Function: return the RPC endpoint of a driver of queens_drivers."""
    def endpoint(name, has_placement=True):
        return manager(f'queens_drivers.{name}', has_placement)
    return endpoint


def released(server):
    """Paths of the deleted allocations."""
    return http_placement.written(server, claims=False)


def refuse_second_instance(server):
    """Have Placement refuse the second instance's claims, once each."""
    server.on('POST', '/allocations', FULL)
    server.on('PUT', '/allocations/', TAKEN, FULL, FULL, TAKEN)


class TestFilterScheduler:
    """A driver that derives from Nova's and queries Placement itself."""

    def test_receives_allocation_candidates_in_three_arguments(
            self, endpoint):
        door = endpoint('QuietScheduler')

        assert ask(door) == [['a', 'b']]
        [(candidates, summaries, version)] = door.driver.given
        assert candidates == {
            uuid: [http_placement.a_candidate(uuid)] for uuid in (A, B)}
        assert summaries[A] == {
            'resources': {'VCPU': {'capacity': 16, 'used': 1}}, 'traits': []}
        assert version == '1.36'
        assert [record.tries for record in door.recorder.decisions] == [1]

    def test_receives_no_candidates_without_placement(self, endpoint):
        door = endpoint('QuietScheduler', has_placement=False)

        assert ask(door) == [['a', 'b', 'c']]
        assert door.driver.given == [(None, None, None)]

    def test_narrows_hosts_by_the_summaries_it_passes_on(self, endpoint,
                                                         placement):
        placement.on('GET', f'/resource_providers/{A}/traits',
                     Answer(body={'traits': ['CUSTOM_LOUD']}))

        assert ask(endpoint('QuietScheduler'), 2) == [['b'], ['b']]
        assert http_placement.providers(placement) == [B, B]

    def test_no_host_left_is_no_valid_host(self, endpoint, placement):
        placement.on('GET', '/resource_providers/',
                     Answer(body={'traits': ['CUSTOM_LOUD']}))

        with pytest.raises(exception.NoValidHost):
            ask(endpoint('QuietScheduler'))
        assert claimed(placement) == []

    def test_claims_by_queens_own_calls(self, endpoint, placement):
        assert ask(endpoint('WordyScheduler'), 2) == [['a'], ['b']]
        assert claimed(placement) == [A, B]
        assert released(placement) == []

    @pytest.mark.parametrize('name', [
        'WordyScheduler', 'SufficingScheduler', 'CountingScheduler'])
    def test_too_few_hosts_release_each_claim_once(self, endpoint, placement,
                                                   name):
        holding = http_placement.remembering(placement, most=2)

        with pytest.raises(exception.NoValidHost):
            ask(endpoint(name), 3)

        assert holding == {}
        assert len(released(placement)) == 2

    @pytest.mark.parametrize(('name', 'error'), [
        ('MisspeltScheduler', AttributeError),
        ('MisspeltStepsScheduler', NameError),
        ('MisspeltEmptiestScheduler', AttributeError),
        ('LicensedScheduler', KeyError)])
    def test_failure_releases_all_claims(self, endpoint, placement, name,
                                         error):
        holding = http_placement.remembering(placement)

        with pytest.raises(error):
            ask(endpoint(name), 2)

        assert http_placement.written(placement, claims=True)
        assert holding == {}

    def test_lost_reply_releases_claims(self, endpoint, placement):
        holding = http_placement.remembering(placement)

        with call_scope.entered():
            ask(endpoint('WordyScheduler'))
            assert holding
            call_scope.reply_is_lost()

        assert holding == {}

    def test_release_is_retried_after_a_conflict(self, endpoint, placement):
        placement.on('PUT', '/allocations/', TAKEN, FULL, FULL,
                     http_placement.error(409), TAKEN)

        with pytest.raises(exception.NoValidHost):
            ask(endpoint('WordyScheduler'), 2)

        assert len(released(placement)) == 2

    def test_may_decide_a_request_twice(self, endpoint, placement):
        """The record is of the last try, with the claims of both."""
        refuse_second_instance(placement)
        door = endpoint('PersistentScheduler')

        assert [hosts[0] for hosts in ask(door, 2)] == ['a', 'b']
        [record] = door.recorder.decisions
        assert [(pick.index, pick.host) for pick in record.picks] == [
            (0, 'a'), (1, 'b')]
        assert [claim.taken for claim in record.claims] == [
            True, False, False, True, True]
        assert record.tries == 2

    def test_another_thread_needs_the_context(self, endpoint, placement):
        with pytest.raises(RuntimeError, match='copy_context'):
            ask(endpoint('ThreadedScheduler'))
        assert claimed(placement) == []

    def test_notifier_has_the_scheduler_s_publisher_id(self, endpoint):
        assert endpoint('QuietScheduler').driver.notifier.publisher_id == (
            'scheduler.here')


class TestDriverFromTheBaseClass:
    """A driver with other names for the arguments, in Nova's order."""

    def test_decides_by_summaries_and_claims(self, endpoint, placement):
        assert ask(endpoint('EmptiestScheduler')) == [['b']]

        [claim] = [call for call in placement.asked if call.method == 'PUT']
        assert list(claim.body['allocations']) == [B]
        assert claim.body['user_id'] == 'a-user'
        assert claim.version == 'placement 1.36'

    def test_releases_its_claims(self, endpoint, placement):
        """Its own reason is recorded, and not sent to the caller."""
        placement.on('PUT', '/allocations/', TAKEN, FULL)
        door = endpoint('EmptiestScheduler')

        with pytest.raises(exception.NoValidHost):
            ask(door, 2)

        assert door.recorder.decisions[-1].reason == 'all are full'
        assert [call.method for call in placement.asked].count('DELETE') == 1

    def test_sends_its_own_notifications(self, endpoint):
        door = endpoint('EmptiestScheduler')
        with notifications.consumer(door.driver.conf) as consumer:
            ask(door)
            wait_for(lambda: consumer.heard)

        [sent] = consumer.heard
        assert (sent.publisher_id, sent.event_type, sent.payload['host']) == (
            'scheduler.here', 'emptiest.chosen', 'b')

    def test_host_manager_reads_current_hosts(self, endpoint, cloud):
        hosts = endpoint('EmptiestScheduler').driver.host_manager
        call = RequestContext()

        assert [state.host for state in hosts.get_host_states_by_uuids(
            call, [C, A], None)] == ['a', 'c']
        assert len(list(hosts.get_all_host_states(call))) == 3
        cloud.execute('DELETE FROM compute_nodes WHERE host = ?', 'b')
        assert [state.host for state in hosts.get_all_host_states(
            call)] == ['a', 'c']


class Native(drivers.Scheduler):
    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False):
        """Takes no allocation candidates."""
        return []


class Mixed(Native):
    """A driver of this service with Nova's arguments."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            alloc_reqs_by_rp_uuid, provider_summaries,
                            allocation_request_version=None,
                            return_alternates=False):
        return [[self.conf, allocation_request_version, return_alternates]]


class Older(Native):
    def select_destinations(self, context, spec_obj, instance_uuids,
                            alloc_reqs_by_rp_uuid, provider_summaries):
        """As in Pike."""


class TestSignature:
    def test_driver_of_this_service_is_not_adapted(self):
        assert driver_signatures.adapt(drivers.HostScheduler, 'x') is (
            drivers.HostScheduler)

    @pytest.mark.parametrize(('cls', 'wants', 'args', 'kwargs', 'answer'), [
        (Native, False, (), {'offer': 'candidates', 'record': None}, []),
        (Mixed, True, (True,), {}, [['the options', None, True]])])
    def test_names_of_arguments_decide(self, cls, wants, args, kwargs,
                                       answer):
        adapted = driver_signatures.adapt(cls, 'x')

        assert issubclass(adapted, cls)
        assert adapted.WANTS_SUMMARIES is wants
        assert wants or not adapted.USES_ALLOCATION_CANDIDATES
        assert adapted('the options').select_destinations(
            None, None, None, *args, **kwargs) == answer

    def test_call_is_known_until_it_returns(self):
        class Reading(Mixed):
            def select_destinations(self, *args, alloc_reqs_by_rp_uuid=None):
                return [[driver_signatures.current().record]]

        record = Decision()
        record.picked(Pick(0, None, 'a', 'a'))

        assert driver_signatures.adapt(Reading, 'x')(
            'the options').select_destinations(
            None, None, None, record=record) == [[record]]
        assert driver_signatures.current() is driver_signatures.NO_CALL

    def test_another_release_is_refused_at_start(self):
        with pytest.raises(exception.ConfigurationError,
                           match='Nova Queens to Wallaby'):
            driver_signatures.adapt(Older, '[scheduler] driver')


class Working:
    def run_periodic_tasks(self, context):
        """Do nothing."""


@pytest.mark.parametrize(('module', 'name'), [
    ('driver', 'Scheduler'), ('filter_scheduler', 'FilterScheduler')])
def test_run_periodic_tasks_makes_a_class_periodic(module, name):
    """Unless a class sets PERIODIC."""
    nova_names.provide(rules.a_conf())
    base = getattr(importlib.import_module(f'nova.scheduler.{module}'), name)
    own = {'run_periodic_tasks': Working.run_periodic_tasks}
    off = type('Off', (Working,), {'PERIODIC': False})

    assert [bool(type('Own', bases, body).PERIODIC) for bases, body in (
        ((base,), own), ((Working, base), {}), ((base,), {}),
        ((base,), own | {'PERIODIC': False}), ((off, base), {}))] == [
            True, True, False, False, False]
    assert not base.PERIODIC


def test_class_arguments_reach_other_base_classes():
    nova_names.provide(rules.a_conf())
    from nova.scheduler import driver

    class Racks:
        def __init_subclass__(cls, rack, **kwargs):
            cls.rack = rack

    assert type('Own', (driver.Scheduler, Racks), {}, rack=7).rack == 7


def test_driver_in_nova_s_tree_is_found(tmp_path, monkeypatch):
    """As a module beside the modules of this service, which stay."""
    directory = tmp_path / 'nova' / 'scheduler'
    directory.mkdir(parents=True)
    (directory / 'solver_scheduler.py').write_text(
        'from nova.scheduler import filter_scheduler\n'
        'class SolverScheduler(filter_scheduler.FilterScheduler):\n'
        '    pass\n')
    monkeypatch.syspath_prepend(tmp_path)
    nova_names.provide(rules.a_conf())

    assert loading.driver_class(
        'nova.scheduler.solver_scheduler.SolverScheduler').__name__ == (
            'SolverScheduler')
    for wrong in ('solver', 'filter_scheduler'):
        with pytest.raises(exception.ConfigurationError, match='no such'):
            loading.driver_class(f'nova.scheduler.{wrong}.SolverScheduler')
