"""Drivers written for Kilo, Mitaka and Pike serve; see tests/data."""

import sys

import pytest

from nova_sched import exception
from nova_sched.objects import Selection
from nova_sched.scheduler import driver as drivers
from nova_sched.scheduler import loading as plugins
from tests.builders import http_placement
from tests.unit.compat.test_nova_drivers import DATA
from tests.unit.compat.test_nova_drivers import A
from tests.unit.compat.test_nova_drivers import ask
from tests.unit.compat.test_nova_drivers import claimed
from tests.unit.compat.test_nova_drivers import manager  # noqa: F401
from tests.unit.compat.test_nova_drivers import server  # noqa: F401


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch):
    """Their module can be imported, and is imported anew by each test."""
    monkeypatch.syspath_prepend(DATA)
    yield
    sys.modules.pop('older_drivers', None)


@pytest.fixture
def endpoint(manager):  # noqa: F811
    """Function: the RPC endpoint before the driver of that name."""
    def endpoint(name, placement=False):
        return manager(name, placement, module='older_drivers')
    return endpoint


class TestOfKilo:
    def test_is_asked_by_two_dicts(self, endpoint):
        door = endpoint('KiloScheduler')

        assert ask(door, 2) == [['a'], ['b']]
        [(request_spec, properties)] = door.driver.given
        assert request_spec['num_instances'] == 2
        assert request_spec['instance_type']['memory_mb'] > 0
        assert 'ignore_hosts' not in properties

    def test_asks_placement_nothing_that_it_could_not_claim(
            self, endpoint, server):  # noqa: F811
        assert ask(endpoint('KiloScheduler', placement=True)) == [['a']]
        assert server.asked == []

    def test_hands_on_what_it_changed(self, endpoint):
        assert ask(endpoint('KiloFilterScheduler'))[0][0] == 'b'

    def test_gets_weighed_hosts_of_its_steps(self, endpoint):
        door = endpoint('KiloStepsScheduler')

        assert ask(door)[0][0] == 'a'
        assert [weighed.obj.host for weighed in door.driver.weighed] == ['a']

    def test_may_be_as_its_own_with_limits(self, endpoint):
        door = endpoint('KiloWholeScheduler')

        assert ask(door) == [['a']]
        assert door.driver.limits == [{'memory_mb': 32768, 'disk_gb': 500}]

    def test_keeps_claims_and_alternates_of_hosts_it_names_itself(
            self, endpoint, server):  # noqa: F811
        """Of them its dicts cannot tell."""
        door = endpoint('KiloWholeScheduler', placement=True)

        assert ask(door) == [['a', 'b']]
        assert claimed(server) == [A]

    def test_may_change_what_it_is_given(self, endpoint):
        with pytest.raises(exception.NoValidHost):
            ask(endpoint('KiloWritingScheduler'))

    def test_may_read_the_operator_s_options(self, endpoint):
        door = endpoint('KiloOptionsScheduler')

        assert ask(door)[0][0] == 'a'
        assert door.driver.read == {}

    def test_need_not_make_what_it_derives_from(self, endpoint):
        door = endpoint('ForgetfulScheduler')

        assert ask(door) == [['a']]
        assert door.driver.given == ['a']

    def test_may_take_instances_out_of_the_states_it_is_given(
            self, endpoint):
        assert ask(endpoint('KiloPackingScheduler'), 4) == [
            ['a'], ['b'], ['c'], ['a']]


class TestOfMitaka:
    def test_is_asked_by_the_request(self, endpoint):
        assert ask(endpoint('MitakaScheduler'), 2) == [['c'], ['c']]

    def test_gets_dicts_and_keeps_alternates_and_claims(
            self, endpoint, server):  # noqa: F811
        door = endpoint('MitakaFilterScheduler', placement=True)

        assert ask(door) == [['a', 'b']]
        assert [(one['host'], one['nodename'])
                for one in door.driver.answers] == [('a', 'a')]
        assert claimed(server) == [A]

    def test_may_change_its_answer(self, endpoint):
        assert ask(endpoint('MovingScheduler')) == [['c']]

    def test_may_not_change_it_where_placement_holds_what_was_claimed(
            self, endpoint, server):  # noqa: F811
        """It is given back, and the driver's author told what to do."""
        holding = http_placement.remembering(server)
        with pytest.raises(ValueError, match=(
                r"MovingScheduler returned host 'c', node 'c' for "
                r"instance .* claimed .* 'a'.* USES_ALLOCATION_CANDIDATES")):
            ask(endpoint('MovingScheduler', placement=True))
        assert claimed(server)[0] == A
        assert holding == {}

    def test_may_change_it_where_it_decides_without_placement(
            self, endpoint, server):  # noqa: F811
        door = endpoint('MovingAloneScheduler', placement=True)

        assert ask(door) == [['c']]
        assert server.asked == []

    def test_is_on_record_with_what_it_answers(self, endpoint):
        door = endpoint('MovingScheduler')
        ask(door)

        [record] = door.recorder.decisions
        assert [(pick.host, pick.nodename) for pick in record.picks] == [
            ('c', 'c')]
        assert record.alternates == 0

    def test_that_finds_too_many_places_as_many_as_were_asked_for(
            self, endpoint):
        door = endpoint('GenerousScheduler')

        assert ask(door, 2) == [['a'], ['b']]
        [record] = door.recorder.decisions
        assert [pick.host for pick in record.picks] == ['a', 'b']

    def test_that_names_no_host_that_is_there_fails_by_name(self, endpoint):
        with pytest.raises(ValueError, match="LostScheduler chose host 'z'"):
            ask(endpoint('LostScheduler'))

    def test_that_finds_too_few_ends_in_no_valid_host(self, endpoint):
        with pytest.raises(exception.NoValidHost):
            ask(endpoint('ShortScheduler'))


class TestOfPike:
    def test_answers_with_host_states(self, endpoint):
        assert ask(endpoint('PikeScheduler'), 2) == [['b'], ['b']]

    def test_gets_host_states_and_keeps_claims(
            self, endpoint, server):  # noqa: F811
        door = endpoint('PikeFilterScheduler', placement=True)

        assert ask(door) == [['a', 'b']]
        assert [state.host for state in door.driver.answers] == ['a']
        assert A in door.driver.given[0]
        assert claimed(server) == [A]

    def test_may_not_answer_with_other_hosts_than_were_claimed(
            self, endpoint, server):  # noqa: F811
        holding = http_placement.remembering(server)
        with pytest.raises(ValueError, match='MovingPikeScheduler returned'):
            ask(endpoint('MovingPikeScheduler', placement=True))
        assert holding == {}

    def test_may_answer_with_others_where_nothing_was_claimed(self, endpoint):
        assert ask(endpoint('MovingPikeScheduler')) == [['c']]

    def test_gets_a_state_of_a_host_that_went_away_meanwhile(self, endpoint):
        """With what was decided, and nothing that was read."""
        door = endpoint('PikeFilterScheduler')
        door.driver.host_manager.get_all_host_states = lambda context: iter(
            ())

        assert ask(door)[0][0] == 'a'
        [state] = door.driver.answers
        assert (state.host, state.nodename, state.uuid) == ('a', 'a', A)
        assert state.limits['memory_mb'] == 32768


@pytest.mark.parametrize(('name', 'takes'), [
    ('OddStepsScheduler', r'_schedule takes \(self, request\)'),
    ('OddScheduler', r'select_destinations takes \(self\)')])
def test_of_no_release_is_refused_at_start_with_what_there_are(
        endpoint, name, takes):
    with pytest.raises(exception.ConfigurationError, match=(
            takes + r'.*\(self, context, request_spec, filter_properties\) '
            r'\(Nova Juno to Liberty\).*'
            r'\(self, context, spec_obj\) \(Nova Mitaka')):
        endpoint(name)


class TestOfQueens:
    def test_is_asked_through_its_schedule(self, endpoint):
        assert ask(endpoint('ReversingScheduler')) == [['c', 'b', 'a']]

    def test_that_finds_too_few_ends_in_no_valid_host(self, endpoint):
        door = endpoint('EmptyScheduler')

        assert ask(door) == [['a']]
        with pytest.raises(exception.NoValidHost):
            ask(door, 2)


def test_says_which_services_are_up(endpoint, cloud):
    driver = endpoint('MitakaScheduler').driver
    states = {state.host: state for state
              in driver.host_manager.get_all_host_states(None)}
    is_up = driver.servicegroup_api.service_is_up
    forced = dict(states['a'].service, forced_down=True)

    assert is_up(states['a'].service)
    assert not is_up(forced)
    assert driver.hosts_up(None, 'compute') == ['a', 'b', 'c']
    assert driver.hosts_up(None, 'conductor') == []


def test_a_selection_is_made_of_a_host_state(endpoint):
    driver = endpoint('MitakaScheduler').driver
    state = next(driver.host_manager.get_all_host_states(None))
    state.limits['memory_mb'] = 12
    made = Selection.from_host_state(state, {'allocations': {}}, '1.36')

    assert (made.service_host, made.nodename, made.compute_node_uuid) == (
        'a', 'a', A)
    assert made.limits.memory_mb == 12
    assert made.allocation_request == '{"allocations": {}}'
    assert made.allocation_request_version == '1.36'


class OwnForm(drivers.Scheduler):
    """Of this service's, in a form that it is not asked in."""

    def select_destinations(self, context, request_spec, filter_properties):
        """As in Kilo."""


def test_one_of_this_service_s_own_is_refused_in_older_forms(tmp_path):
    with pytest.raises(exception.ConfigurationError,
                       match=r'derive from nova\.scheduler\.driver'):
        plugins.driver_class(f'{__name__}.OwnForm')


def test_of_pike_may_be_as_its_own(endpoint):
    door = endpoint('PikeWholeScheduler')

    assert ask(door)[0][0] == 'a'
    assert door.driver.names == ['a']


def test_of_ocata_reads_hosts_by_two_arguments(endpoint):
    assert ask(endpoint('OcataScheduler')) == [['a']]
