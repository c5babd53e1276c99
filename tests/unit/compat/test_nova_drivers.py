"""Drivers that were written for Nova serve where Nova is not installed.

They are in tests/data/queens_drivers.py.
"""

import pathlib
import sys

import oslo_messaging as messaging
import pytest

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.compat import driver_signatures
from nova_sched.compat import nova_names
from nova_sched.compat.nova import conf as nova_conf
from nova_sched.context import RequestContext
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import Pick
from nova_sched.rpc import call_scope
from nova_sched.scheduler import driver as drivers
from nova_sched.scheduler import loading
from nova_sched.scheduler import loading as plugins
from tests.builders import http_placement
from tests.builders import notifications
from tests.builders import requests
from tests.builders import rules
from tests.builders.clouds import a_compute_node
from tests.builders.clouds import a_uuid
from tests.builders.drivers import door
from tests.builders.http_server import Answer
from tests.builders.services import wait_for

A, B, C = a_uuid(1), a_uuid(2), a_uuid(3)
DATA = pathlib.Path(__file__).parents[2] / 'data'


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch):
    """Their module can be imported, and is imported anew by each test."""
    monkeypatch.syspath_prepend(DATA)
    yield
    sys.modules.pop('queens_drivers', None)
    nova_conf.follow(rules.a_conf())


@pytest.fixture
def server():
    """A Placement that offers the hosts a and b; a is used more."""
    candidates = http_placement.candidates(
        *map(http_placement.a_candidate, (A, B)))
    candidates.body['provider_summaries'][A]['resources']['VCPU']['used'] = 1
    with http_placement.placement() as server:
        server.on('GET', '/allocation_candidates', candidates)
        server.on('GET', '/resource_providers/',
                  Answer(body={'traits': ['HW_CPU_X86_AVX']}))
        yield server


@pytest.fixture
def manager(cloud, server, tmp_path):
    """Function: the RPC endpoint before the driver of that name.

    placement: whether the configuration names one.
    """
    cloud.load_nodes(*(a_compute_node(host, uuid=uuid) for host, uuid
                       in zip('abc', (A, B, C), strict=True)))

    def manager(name, placement=True, module='queens_drivers'):
        path = tmp_path / 'nova.conf'
        path.write_text(
            '[DEFAULT]\nhost = here\ntransport_url = fake://\n'
            f'control_exchange = {tmp_path}\n'
            f'[database]\nconnection = {cloud.url}\n'
            f'[scheduler]\ndriver = {module}.{name}\n'
            '[oslo_messaging_notifications]\ndriver = messagingv2\n'
            + ('[placement]\nauth_type = none\n'
               f'endpoint_override = {server.url}\n' if placement else ''))
        conf = config.new_conf([], [str(path)])
        driver = loading.load_driver(conf)
        driver.start()
        return door(driver, conf=conf)
    return manager


def ask(manager, count=1):
    """Host names, one list an instance, for a request as of 4.5."""
    try:
        found = manager.select_destinations(
            RequestContext(user_id='u'), return_objects=True,
            spec_obj=requests.a_request(num_instances=count)
            .obj_to_primitive(), return_alternates=True,
            instance_uuids=[a_uuid() for _ in range(count)])
    except messaging.ExpectedException as error:
        raise error.exc_info[1] from None
    return [[one['nova_object.data']['service_host'] for one in chosen]
            for chosen in found]


def claimed(server):
    """The providers that were claimed of, one a claim."""
    return [next(iter(call.body['allocations'])) for call in server.asked
            if call.method == 'PUT' and call.body['allocations']]


def given_back(server):
    """The paths of the allocations that were deleted."""
    return http_placement.written(server, claims=False)


class TestAFilterScheduler:
    """One that derives from Nova's and asks Placement itself."""

    def test_is_given_what_placement_offers_in_three(self, manager):
        endpoint = manager('QuietScheduler')

        assert ask(endpoint) == [['a', 'b']]
        [(requests_of, summaries, version)] = endpoint.driver.given
        assert requests_of == {
            uuid: [http_placement.a_candidate(uuid)] for uuid in (A, B)}
        assert summaries[A] == {
            'resources': {'VCPU': {'capacity': 16, 'used': 1}}, 'traits': []}
        assert version == '1.36'

    def test_narrows_the_hosts_by_what_it_hands_on(self, manager, server):
        server.on('GET', f'/resource_providers/{A}/traits',
                  Answer(body={'traits': ['CUSTOM_LOUD']}))
        endpoint = manager('QuietScheduler')

        assert ask(endpoint, 2) == [['b'], ['b']]
        assert http_placement.providers(server) == [B, B]

    def test_that_leaves_none_ends_in_no_valid_host(self, manager, server):
        server.on('GET', '/resource_providers/',
                  Answer(body={'traits': ['CUSTOM_LOUD']}))

        with pytest.raises(exception.NoValidHost):
            ask(manager('QuietScheduler'))

        assert claimed(server) == []

    def test_leaves_claims_on_record_and_given_back(self, manager, server):
        """As without it, though it knows nothing of records."""
        server.on('POST', '/allocations', http_placement.FULL)
        server.on('PUT', '/allocations/', http_placement.TAKEN,
                  http_placement.FULL, http_placement.FULL,
                  http_placement.TAKEN)
        endpoint = manager('QuietScheduler')

        with pytest.raises(exception.NoValidHost):
            ask(endpoint, 2)

        [record] = endpoint.recorder.decisions
        assert [claim.taken for claim in record.claims] == [
            True, False, False]
        assert len(http_placement.written(server, claims=False)) == 1

    def test_in_the_words_of_queens_claims_by_itself(self, manager, server):
        assert ask(manager('WordyScheduler'), 2) == [['a'], ['b']]
        assert claimed(server) == [A, B]
        assert given_back(server) == []

    @pytest.mark.parametrize('name', [
        'WordyScheduler', 'SufficingScheduler', 'CountingScheduler'])
    def test_of_too_few_hosts_has_each_claim_given_back_once(
            self, manager, server, name):
        holding = http_placement.remembering(server, most=2)

        with pytest.raises(exception.NoValidHost):
            ask(manager(name), 3)

        assert holding == {}
        assert len(given_back(server)) == 2

    @pytest.mark.parametrize(('name', 'error'), [
        ('MisspeltScheduler', AttributeError),
        ('MisspeltStepsScheduler', NameError),
        ('MisspeltEmptiestScheduler', AttributeError),
        ('LicensedScheduler', KeyError)])
    def test_that_fails_has_all_of_its_claims_given_back(
            self, manager, server, name, error):
        holding = http_placement.remembering(server)

        with pytest.raises(error):
            ask(manager(name), 2)

        assert http_placement.written(server, claims=True)
        assert holding == {}

    def test_whose_answer_is_lost_has_its_claims_given_back(
            self, manager, server):
        holding = http_placement.remembering(server)

        with call_scope.entered():
            ask(manager('WordyScheduler'))
            assert holding
            call_scope.reply_is_lost()

        assert holding == {}

    def test_leaves_alone_what_somebody_else_holds_since(
            self, manager, server, monkeypatch):
        """A claim is undone by the generation that it has left behind."""
        holding = http_placement.remembering(server)
        endpoint = manager('MisspeltScheduler')
        theirs = {C: {'resources': {'VCPU': 1}}}

        def fail(driver, *args):
            [uuid] = holding
            assert driver.placement_client.put(
                f'/allocations/{uuid}', {
                    'allocations': theirs, 'consumer_generation': 1,
                    'project_id': 'p', 'user_id': 'u'}, '1.28')
            raise KeyError('found')

        monkeypatch.setattr(type(endpoint.driver), '_get_alternate_hosts',
                            fail)
        with pytest.raises(KeyError):
            ask(endpoint)

        assert [*holding.values()] == [theirs]

    def test_tries_again_to_give_back_a_claim(self, manager, server):
        server.on('PUT', '/allocations/', http_placement.TAKEN,
                  http_placement.FULL, http_placement.FULL,
                  http_placement.error(409), http_placement.TAKEN)

        with pytest.raises(exception.NoValidHost):
            ask(manager('WordyScheduler'), 2)

        assert len(given_back(server)) == 2

    def test_is_given_nothing_where_placement_plays_no_part(self, manager):
        endpoint = manager('QuietScheduler', placement=False)

        assert ask(endpoint) == [['a', 'b', 'c']]
        assert endpoint.driver.given == [(None, None, None)]

    def test_may_ask_twice_for_one_request(self, manager, server):
        """The record is of the last try, with the claims of all."""
        server.on('POST', '/allocations', http_placement.FULL)
        server.on('PUT', '/allocations/', http_placement.TAKEN,
                  http_placement.FULL, http_placement.FULL,
                  http_placement.TAKEN)
        endpoint = manager('PersistentScheduler')

        assert [hosts[0] for hosts in ask(endpoint, 2)] == ['a', 'b']
        [record] = endpoint.recorder.decisions
        assert [(pick.index, pick.host) for pick in record.picks] == [
            (0, 'a'), (1, 'b')]
        assert [claim.taken for claim in record.claims] == [
            True, False, False, True, True]
        assert record.tries == 2

    def test_asks_once_in_one_try(self, manager):
        endpoint = manager('QuietScheduler')
        ask(endpoint)

        assert [record.tries for record
                in endpoint.recorder.decisions] == [1]

    def test_may_not_ask_from_another_thread_unawares(self, manager, server):
        with pytest.raises(RuntimeError, match='copy_context'):
            ask(manager('ThreadedScheduler'))
        assert claimed(server) == []

    def test_hands_over_to_its_successor(self, manager):
        """What it has placed counts after the configuration is read anew."""
        old = manager('QuietScheduler', placement=False)
        assert ask(old)[0][0] == 'a'
        new = manager('QuietScheduler', placement=False)
        new.driver.take_over(old.driver)

        assert ask(new)[0][0] == 'b'

    def test_sends_notifications_as_the_scheduler_s_host(self, manager):
        assert manager('QuietScheduler').driver.notifier.publisher_id == (
            'scheduler.here')


class TestADriverOfOnesOwn:
    """One that derives from Nova's base class, with arguments by position."""

    def test_decides_on_summaries_and_claims(self, manager, server):
        assert ask(manager('EmptiestScheduler')) == [['b']]

        [claim] = [call for call in server.asked if call.method == 'PUT']
        assert list(claim.body['allocations']) == [B]
        assert claim.body['user_id'] == 'a-user'
        assert claim.version == 'placement 1.36'

    def test_takes_the_next_where_a_claim_is_refused(self, manager, server):
        server.on('PUT', '/allocations/', http_placement.FULL,
                  http_placement.TAKEN)

        assert ask(manager('EmptiestScheduler')) == [['a']]

    def test_gives_back_what_it_has_claimed(self, manager, server):
        server.on('PUT', '/allocations/', http_placement.TAKEN,
                  http_placement.FULL)

        endpoint = manager('EmptiestScheduler')
        with pytest.raises(exception.NoValidHost):
            ask(endpoint, 2)

        # In its own words, which are not for callers.
        assert endpoint.recorder.decisions[-1].reason == 'all are full'
        assert [call.method for call in server.asked].count('DELETE') == 1

    def test_sends_notifications_of_its_own(self, manager):
        endpoint = manager('EmptiestScheduler')
        with notifications.consumer(endpoint.driver.conf) as heard:
            ask(endpoint)
            wait_for(lambda: heard.heard)

        [told] = heard.heard
        assert (told.publisher_id, told.event_type) == (
            'scheduler.here', 'emptiest.chosen')
        assert told.payload['host'] == 'b'

    def test_is_handed_the_hosts_that_it_names(self, manager):
        hosts = manager('EmptiestScheduler').driver.host_manager

        assert [state.host for state in hosts.get_host_states_by_uuids(
            RequestContext(), [C, A], None)] == ['a', 'c']
        assert len(list(hosts.get_all_host_states(RequestContext()))) == 3

    def test_is_handed_the_hosts_as_they_are_at_that_moment(
            self, manager, cloud):
        hosts = manager('EmptiestScheduler').driver.host_manager
        cloud.execute('DELETE FROM compute_nodes WHERE host = ?', 'b')

        assert [state.host for state in hosts.get_all_host_states(
            RequestContext())] == ['a', 'c']


class TestForm:
    """Of a class: whether it was written for Nova."""

    class Native(drivers.Scheduler):
        def select_destinations(self, context, spec_obj, instance_uuids,
                                return_alternates=False):
            """Takes no offer."""
            return []

    class Mixed(Native):
        """Of this service, but with Nova's arguments."""

        def select_destinations(self, context, spec_obj, instance_uuids,
                                alloc_reqs_by_rp_uuid, provider_summaries,
                                allocation_request_version=None,
                                return_alternates=False):
            return [[self.conf, allocation_request_version,
                     return_alternates]]

    class Older(Native):
        def select_destinations(self, context, spec_obj, instance_uuids,
                                alloc_reqs_by_rp_uuid, provider_summaries):
            """As in Pike."""

    def test_leaves_one_of_this_service_s_own_as_it_is(self):
        served = driver_signatures.adapt(drivers.HostScheduler, 'x')

        assert served is drivers.HostScheduler

    def test_of_one_that_takes_less_gives_it_less(self):
        served = driver_signatures.adapt(self.Native, 'x')

        assert issubclass(served, self.Native)
        assert not served.WANTS_SUMMARIES
        assert not served.USES_ALLOCATION_CANDIDATES
        assert served('the options').select_destinations(
            None, None, None, offer='an offer', record=None) == []

    def test_shows_in_the_names_of_arguments(self):
        served = driver_signatures.adapt(self.Mixed, 'x')

        assert issubclass(served, self.Mixed)
        assert served.WANTS_SUMMARIES
        assert served('the options').select_destinations(
            None, None, None, True) == [['the options', None, True]]

    def test_knows_what_it_is_asked_for_until_it_has_answered(self):
        class Asking(self.Mixed):
            def select_destinations(self, *args, alloc_reqs_by_rp_uuid=None):
                return [[driver_signatures.current().record]]

        served = driver_signatures.adapt(Asking, 'x')('the options')

        record = Decision()
        record.picked(Pick(0, None, 'a', 'a'))

        assert served.select_destinations(
            None, None, None, record=record) == [[record]]
        assert driver_signatures.current() is driver_signatures.NO_CALL

    def test_of_another_release_is_refused_at_the_start(self):
        with pytest.raises(exception.ConfigurationError,
                           match='Nova Queens to Wallaby'):
            driver_signatures.adapt(self.Older, '[scheduler] driver')


class Working:
    """Mixed into drivers with periodic work."""

    def run_periodic_tasks(self, context):
        """Something."""


@pytest.mark.parametrize('name', ['Scheduler', 'FilterScheduler'])
def test_a_class_with_periodic_work_has_it_done(manager, name):
    from nova.scheduler import driver
    from nova.scheduler import filter_scheduler

    base = getattr(driver if name == 'Scheduler' else filter_scheduler, name)
    own = {'run_periodic_tasks': Working.run_periodic_tasks}

    assert type('Busy', (base,), own).PERIODIC
    assert type('Busy', (Working, base), {}).PERIODIC
    assert not type('Idle', (base,), {}).PERIODIC
    assert not base.PERIODIC
    # Not where its author says otherwise, in whichever class.
    assert not type('Off', (base,), own | {'PERIODIC': False}).PERIODIC
    off = type('Off', (Working,), {'PERIODIC': False})
    assert not type('Off', (off, base), {}).PERIODIC


def test_what_is_said_of_a_class_reaches_all_that_it_derives_from(manager):
    from nova.scheduler import driver

    class Racks:
        def __init_subclass__(cls, rack, **kwargs):
            cls.rack = rack

    assert type('Own', (driver.Scheduler, Racks), {}, rack=7).rack == 7


def test_a_driver_may_lie_in_nova_s_tree(tmp_path, monkeypatch):
    """As a module beside ours, which stay what they are."""
    directory = tmp_path / 'nova' / 'scheduler'
    directory.mkdir(parents=True)
    (directory / 'solver_scheduler.py').write_text(
        'from nova.scheduler import filter_scheduler\n'
        'class SolverScheduler(filter_scheduler.FilterScheduler):\n'
        '    pass\n')
    monkeypatch.syspath_prepend(tmp_path)
    nova_names.provide(rules.a_conf())

    assert plugins.driver_class(
        'nova.scheduler.solver_scheduler.SolverScheduler').__name__ == (
            'SolverScheduler')
    for wrong in ('solver', 'filter_scheduler'):
        with pytest.raises(exception.ConfigurationError, match='no such'):
            plugins.driver_class(f'nova.scheduler.{wrong}.SolverScheduler')
