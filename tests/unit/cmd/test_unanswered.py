"""nova-sched-manage request call: the request, and a missing answer."""

import amqp
from kombu import exceptions as kombu
import oslo_messaging as messaging
import pytest

from nova_sched.cmd.manage import request
from tests.unit.cmd.test_request_spec import spec_of


class API:
    """A client of schedulers; error: raised by its calls.

    requests: the instances of each call.
    """

    error, requests = None, []

    def __init__(self, conf, transport):
        pass

    def select_destinations(self, asker, spec_obj, uuids, **kwargs):
        self.requests.append((uuids, spec_obj['nova_object.data'].get(
            'instance_uuid')))
        raise self.error


@pytest.fixture
def ask(run, monkeypatch):
    """Function of an error and options: how the command ends."""
    monkeypatch.setattr(request.rpcapi, 'SchedulerAPI', API)
    monkeypatch.setattr(API, 'requests', [])

    def ask(error, *options):
        monkeypatch.setattr(API, 'error', error)
        return run('--transport-url', 'fake://u:open-sesame@h/', 'request',
                   'call', *options)
    return ask


@pytest.mark.parametrize('error', [
    messaging.MessageDeliveryFailure('it is full'),
    amqp.AccessRefused('it is full'), kombu.OperationalError('it is full'),
    ConnectionRefusedError('it is full')])
def test_a_broker_that_refuses_is_told_without_its_password(ask, error):
    ended = ask(error)

    assert ended.code == 3
    assert ('The broker at fake://u:***@h/ does not take the request: '
            in ended.err)
    assert 'it is full' in ended.err
    assert 'sesame' not in ended.err


@pytest.mark.parametrize(('count', 'more'), [
    (10, ''), (11, ' and 1 more'), (13, ' and 3 more')])
def test_ten_of_many_instances_are_named(ask, count, more):
    ended = ask(OSError('no'), '--count', count)

    [(uuids, first)] = API.requests
    assert len({*uuids}) == count
    assert first == uuids[0]
    assert (f' for instance(s) {", ".join(uuids[:10])}{more}\n' in ended.err)


@pytest.mark.parametrize(('data', 'count'), [
    ({}, 1), ({'num_instances': 3}, 3), ({'num_instances': 0}, 0),
    ({'num_instances': '3'}, 1), ({'num_instances': None}, 1), ([], 1),
    ({'instance_uuid': 'of a captured request'}, 1)])
def test_a_request_is_for_as_many_new_instances_as_it_says(data, count):
    """One if it is malformed, which the scheduler refuses."""
    uuids = request.name_instances({'nova_object.data': data})

    assert len({*uuids}) == count
    if data:
        assert data.get('instance_uuid') == (uuids[0] if uuids else None)


def test_a_property_of_an_image_that_cannot_be_read_is_named():
    with pytest.raises(request.exception.InvalidInput,
                       match='--image-property'):
        spec_of('--image-property', 'hw_numa_nodes=many')


def test_the_destination_is_optional():
    assert spec_of().requested_destination is None
    assert spec_of('--to-cell', 'c').requested_destination.host is None
