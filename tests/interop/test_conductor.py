"""Nova 34's own client, as its conductor uses it, asks the service."""

import uuid

import pytest

from tests.builders import requests
from tests.functional import conftest as functional
from tests.interop.conftest import Nova

pytestmark = pytest.mark.real


@pytest.fixture(scope='module')
def stage(tmp_path_factory):
    """A Stage with four hosts, on which nothing is ever consumed."""
    with functional.open_stage(tmp_path_factory.mktemp('conductor'),
                               nova_sched__pick_lifetime=0) as stage:
        stage.cloud(4)
        yield stage


@pytest.fixture(scope='module')
def daemon(stage):
    return stage.daemon()


@pytest.fixture
def nova(stage, daemon):
    """The Nova on the same message bus."""
    return Nova(stage.config_file('nova'))


def uuids(count):
    return [str(uuid.uuid4()) for _ in range(count)]


def hosts(answer):
    return [[selection['host'] for selection in chosen] for chosen in answer]


def test_an_instance_gets_a_host_and_alternates(nova):
    """They are Nova's own objects, with what a conductor reads of them."""
    (selected, *alternates), = nova.answer(
        'select_destinations', requests.a_request(), uuids(1),
        return_objects=True, return_alternates=True)

    assert len(alternates) == 2
    assert selected['nodename'] == selected['host']
    assert selected['limits']['memory_mb'] > 0
    assert len({host['host'] for host in (selected, *alternates)}) == 3


def test_a_conductor_of_before_pike_gets_dicts(nova):
    answer = nova.answer('select_destinations', requests.a_request(),
                         uuids(1))

    assert [sorted(found) for found in answer] == [
        ['host', 'limits', 'nodename']]


def test_several_instances_and_a_group_of_them(nova):
    """They go to hosts of their own, and there are not five."""
    for count in (3, 5):
        members = uuids(count)
        nova.will('select_destinations', requests.a_request(
            num_instances=count, group={'members': members}), members,
            return_objects=True)
    three, five = nova.answers()

    assert len({host for chosen in hosts(three['answer'])
                for host in chosen}) == 3
    assert five['error'] == 'NoValidHost'


def test_no_valid_host_is_the_exception_of_nova_and_says_why(nova, daemon):
    nova.will('select_destinations', requests.a_request(memory_mb=10 ** 7),
              uuids(1), return_objects=True)
    found, = nova.answers()

    assert found['error'] == 'NoValidHost'
    assert found['text'].startswith(
        'No valid host was found. There are not enough hosts available.')
    assert '4 RamFilter (need 10000000 MB' in found['text']
    assert not daemon.said('Traceback')


def test_a_wrong_request_is_an_error_that_names_the_field(nova):
    """And the next request is answered."""
    request = requests.a_request().obj_to_primitive()
    flavor = request['nova_object.data']['flavor']
    flavor['nova_object.data']['memory_mb'] = -1
    nova.will('select_destinations', request, uuids(1), return_objects=True)
    nova.will('select_destinations', requests.a_request(), uuids(1),
              return_objects=True)
    wrong, right = nova.answers()

    assert wrong['error'] == 'InvalidInput'
    assert 'flavor.memory_mb = -1' in wrong['text']
    assert len(right['answer']) == 1


def test_what_nova_tells_all_schedulers_is_taken(nova, daemon):
    """Casts of the API and of compute services; nobody answers them."""
    nova.will('cast', 'delete_instance_info', 'fake-0001', uuids(1)[0])
    nova.will('cast', 'sync_instance_info', 'fake-0001', uuids(2))
    nova.will('select_destinations', requests.a_request(), uuids(1),
              return_objects=True)

    assert not [found for found in nova.answers() if 'error' in found]
    assert not daemon.said('Traceback')
