"""Drivers written for Juno to Pike (tests/data/older_drivers.py)."""

import pytest

from nova_sched import exception
from nova_sched.objects import Selection
from nova_sched.scheduler import driver as drivers
from nova_sched.scheduler import loading
from tests.builders import http_placement
from tests.unit.compat.conftest import A
from tests.unit.compat.conftest import ask
from tests.unit.compat.conftest import claimed


@pytest.fixture
def endpoint(manager):
    """Function: return the RPC endpoint of a driver of older_drivers."""
    def endpoint(name, has_placement=False):
        return manager(f'older_drivers.{name}', has_placement)
    return endpoint


@pytest.mark.parametrize(('name', 'count', 'hosts'), [
    # Kilo: changed filter_properties, states that instances are taken from.
    ('KiloFilterScheduler', 1, [['b', 'c']]),
    ('KiloPackingScheduler', 4, [['a'], ['b'], ['c'], ['a']]),
    # Mitaka: a changed answer, more hosts than instances.
    ('MitakaScheduler', 2, [['c'], ['c']]),
    ('MovingScheduler', 1, [['c']]),
    ('OcataScheduler', 1, [['a']]),
    # Pike: answers of host states, which may be others than _schedule's.
    ('PikeScheduler', 2, [['b'], ['b']]),
    ('MovingPikeScheduler', 1, [['c']]),
    ('ReversingScheduler', 1, [['c', 'b', 'a']]),
    ('EmptyScheduler', 1, [['a']])])
def test_driver_of_a_release_selects_hosts(endpoint, name, count, hosts):
    assert ask(endpoint(name), count) == hosts


@pytest.mark.parametrize(('name', 'count'), [
    ('ShortScheduler', 1), ('EmptyScheduler', 2), ('KiloWritingScheduler', 1)])
def test_too_few_hosts_are_no_valid_host(endpoint, name, count):
    """KiloWritingScheduler increases the memory in the dict it receives."""
    with pytest.raises(exception.NoValidHost):
        ask(endpoint(name), count)


@pytest.mark.parametrize(('name', 'attribute', 'value'), [
    ('KiloOptionsScheduler', 'read', {}),
    ('KiloStepsScheduler', 'weighed', ['a']),
    ('KiloWholeScheduler', 'limits', [{'memory_mb': 32768, 'disk_gb': 500}]),
    ('ForgetfulScheduler', 'given', ['a']),
    ('PikeWholeScheduler', 'names', ['a'])])
def test_steps_return_what_they_do_in_that_release(endpoint, name, attribute,
                                                   value):
    """ForgetfulScheduler does not call its base class's constructor."""
    door = endpoint(name)

    assert ask(door)[0][0] == 'a'
    seen = getattr(door.driver, attribute)
    assert value == (
        [weighed.obj.host for weighed in seen] if attribute == 'weighed'
        else seen)


def test_kilo_driver_receives_two_dicts(endpoint):
    door = endpoint('KiloScheduler')

    assert ask(door, 2) == [['a'], ['b']]
    [(request_spec, properties)] = door.driver.given
    assert request_spec['num_instances'] == 2
    assert request_spec['instance_type']['memory_mb'] > 0
    assert 'ignore_hosts' not in properties


@pytest.mark.parametrize(('name', 'host'), [
    ('KiloScheduler', 'a'), ('MovingAloneScheduler', 'c')])
def test_driver_without_candidates_queries_no_placement(
        endpoint, placement, name, host):
    """As its release, which could not claim."""
    assert ask(endpoint(name, has_placement=True)) == [[host]]
    assert placement.asked == []


@pytest.mark.parametrize('name', [
    'KiloWholeScheduler', 'MitakaFilterScheduler', 'PikeFilterScheduler'])
def test_claims_and_alternates_are_kept(endpoint, placement, name):
    """Also where the driver's answer has no place for them."""
    door = endpoint(name, has_placement=True)

    assert ask(door) == [['a', 'b']]
    assert claimed(placement) == [A]
    if name == 'MitakaFilterScheduler':
        [answer] = door.driver.answers
        assert (answer['host'], answer['nodename']) == ('a', 'a')
    elif name == 'PikeFilterScheduler':
        assert [state.host for state in door.driver.answers] == ['a']
        assert A in door.driver.given[0]


@pytest.mark.parametrize('name', ['MovingScheduler', 'MovingPikeScheduler'])
def test_other_host_than_the_claimed_one_is_refused(endpoint, placement,
                                                    name):
    """The claim is released; the error names the remedy."""
    holding = http_placement.remembering(placement)
    with pytest.raises(ValueError, match=(
            rf"{name} returned host 'c', node 'c' for instance .* "
            r"claimed .* 'a'.* USES_ALLOCATION_CANDIDATES")):
        ask(endpoint(name, has_placement=True))
    assert claimed(placement)[0] == A
    assert holding == {}


@pytest.mark.parametrize(('name', 'count', 'hosts'), [
    ('MovingScheduler', 1, 'c'), ('GenerousScheduler', 2, 'ab')])
def test_answer_of_the_driver_is_recorded(endpoint, name, count, hosts):
    """Hosts beyond the number of instances are dropped."""
    door = endpoint(name)

    assert ask(door, count) == [[host] for host in hosts]
    [record] = door.recorder.decisions
    assert [(pick.host, pick.nodename) for pick in record.picks] == [
        (host, host) for host in hosts]
    assert record.alternates == 0


def test_unknown_host_fails_with_the_driver_s_name(endpoint):
    with pytest.raises(ValueError, match="LostScheduler chose host 'z'"):
        ask(endpoint('LostScheduler'))


def test_pike_driver_gets_a_state_of_a_host_that_has_gone(endpoint):
    """It has the values of the decision, and none from the databases."""
    door = endpoint('PikeFilterScheduler')
    door.driver.host_manager.get_all_host_states = lambda context: iter(())

    assert ask(door)[0][0] == 'a'
    [state] = door.driver.answers
    assert (state.host, state.nodename, state.uuid) == ('a', 'a', A)
    assert state.limits['memory_mb'] == 32768


@pytest.mark.parametrize(('name', 'takes'), [
    ('OddStepsScheduler', r'_schedule takes \(self, request\)'),
    ('OddScheduler', r'select_destinations takes \(self\)')])
def test_signature_of_no_release_is_refused_at_start(endpoint, name, takes):
    with pytest.raises(exception.ConfigurationError, match=(
            takes + r'.*\(self, context, request_spec, filter_properties\) '
            r'\(Nova Juno to Liberty\).*'
            r'\(self, context, spec_obj\) \(Nova Mitaka')):
        endpoint(name)


def test_driver_reports_which_services_are_up(endpoint):
    driver = endpoint('MitakaScheduler').driver
    service = next(driver.host_manager.get_all_host_states(None)).service
    is_up = driver.servicegroup_api.service_is_up

    assert is_up(service)
    assert not is_up(dict(service, forced_down=True))
    assert driver.hosts_up(None, 'compute') == ['a', 'b', 'c']
    assert driver.hosts_up(None, 'conductor') == []


def test_selection_is_made_from_a_host_state(endpoint):
    driver = endpoint('MitakaScheduler').driver
    state = next(driver.host_manager.get_all_host_states(None))
    state.limits['memory_mb'] = 12
    made = Selection.from_host_state(state, {'allocations': {}}, '1.36')

    assert (made.service_host, made.nodename, made.compute_node_uuid,
            made.limits.memory_mb) == ('a', 'a', A, 12)
    assert made.allocation_request == '{"allocations": {}}'
    assert made.allocation_request_version == '1.36'


class OwnForm(drivers.Scheduler):
    def select_destinations(self, context, request_spec, filter_properties):
        """As in Kilo, in a class of this service."""


def test_driver_of_this_service_is_refused_in_older_forms():
    with pytest.raises(exception.ConfigurationError,
                       match=r'derive from nova\.scheduler\.driver'):
        loading.driver_class(f'{__name__}.OwnForm')
