"""The queue with a copy of all requests, and the calls in its messages."""

import json
import pathlib

from kombu.utils import functional
import pytest

from nova_sched.dry_run.shadow import tap
from tests.builders import rules

WIRE = pathlib.Path(__file__).parents[3] / 'wire'
SOON = 0.05


def captured(name):
    """Return the call of a captured request."""
    body = json.loads((WIRE / f'{name}.json').read_text())['request'][
        'body_raw']
    return tap.Call.from_message(json.loads(json.loads(body)['oslo.message']))


@pytest.mark.parametrize('name', [
    '34-simple-flavor', 'queens-simple-flavor', '34-kilo-style-call',
    'queens-cap-4-2-legacy-dicts'])
def test_captured_call_is_read(name):
    """Its text contains neither a token nor data of users."""
    call = captured(name)

    assert call.method == tap.SELECT_DESTINATIONS
    assert call.args.keys() & {'spec_obj', 'request_spec'}
    assert call.context['request_id'].startswith('req-')
    assert 'select_destinations' in repr(call)
    assert not [word for word in ('tok', 'spec_obj', 'nova_object')
                if word in repr(call)]


def test_ping_is_another_method():
    assert captured('34-baseapi-ping').method == 'baseapi.ping'


@pytest.mark.parametrize('message', [
    {}, {'oslo.version': '2.0'}, {'method': 'a', 'args': 7},
    {'method': 'a', 'args': 'text'}])
def test_other_message_is_refused(message):
    with pytest.raises(ValueError, match='no RPC message'):
        tap.Call.from_message(message)


@pytest.mark.parametrize(('url', 'options'), [
    ('rabbit://localhost/', []), ('fake://', ['[DEFAULT] transport_url'])])
def test_tap_requires_rabbitmq(url, options):
    assert [error.option for error in tap.problems(
        rules.a_conf(DEFAULT__transport_url=url))] == options


def test_connection_is_tried_once(monkeypatch):
    """The caller has other work before the next attempt."""
    waits = []
    monkeypatch.setattr(functional, 'sleep', waits.append)
    with pytest.raises(tap.ConnectionLost, match='refused'):
        tap.Tap(rules.a_conf(DEFAULT__transport_url=(
            'rabbit://u:p@127.0.0.1:1,u:p@127.0.0.1:2/'))).open()

    assert waits == []


@pytest.fixture
def listening(broker):
    """Function of options: return an open Tap."""
    opened = []

    def listening(**options):
        listener = tap.Tap(rules.a_conf(
            DEFAULT__transport_url='rabbit://u:p@localhost:1/',
            DEFAULT__control_exchange='nova', **options))
        opened.append(listener)
        listener.open()
        return listener
    yield listening
    for listener in opened:
        listener.close()


def methods(listener, count):
    """Return the methods of the next calls, None without a message."""
    calls = [listener.next(SOON) for _ in range(count)]
    return [call and call.method for call in calls]


def test_calls_are_received_once_and_in_order(broker, listening):
    """Also beyond the prefetch count; messages to other topics are not."""
    listener = listening()
    assert listener.queue_length() == 0
    broker.send({'method': 'build'}, topic='compute')
    for number in range(20):
        broker.call(f'call{number}')

    assert listener.queue_length() == 20
    assert methods(listener, 21) == [
        *(f'call{number}' for number in range(20)), None]


def test_queue_is_bound_to_a_new_exchange(broker, listening):
    listener = listening()
    broker.state.clear()
    broker.declare()
    listener.queue_length()
    broker.call('one')

    assert methods(listener, 1) == ['one']


def test_queue_has_a_unique_name(broker, listening):
    """Connections have the same name."""
    names = {listening().queue, listening().queue}

    assert len(names) == 2
    assert all(name.startswith('scheduler_shadow_') for name in names)
    assert names <= {*broker.asked}


@pytest.mark.parametrize(('quorum', 'described'), [
    (False, {'durable': False, 'exclusive': True, 'auto_delete': True,
             'arguments': {'x-max-length': 1000, 'x-overflow': 'drop-head'}}),
    (True, {'durable': True, 'exclusive': False, 'auto_delete': False,
            'arguments': {'x-max-length': 1000, 'x-overflow': 'drop-head',
                          'x-queue-type': 'quorum', 'x-expires': 60_000}})])
def test_queue_is_bounded_and_temporary(broker, listening, quorum, described):
    listener = listening(oslo_messaging_rabbit__rabbit_quorum_queue=quorum)

    assert broker.declared[listener.queue].items() >= described.items()


@pytest.mark.parametrize('prefetched', [True, False])
def test_old_calls_are_dropped_at_a_new_connection(
        broker, listening, prefetched):
    listener = listening()
    for _ in range(3):
        broker.call('late')
    if prefetched:
        assert methods(listener, 1) == ['late']
    else:
        listener._connection.release()
    listener.open()

    assert listener.next(SOON) is None
    broker.call('timely')
    assert methods(listener, 1) == ['timely']


@pytest.mark.parametrize(('body', 'properties'), [
    ('[', {}), ('x', {'content_type': 'application/x-python-serialize',
                      'content_encoding': 'utf-8'}), ('{}', {})])
def test_unreadable_message_is_skipped(broker, listening, body, properties):
    listener = listening()
    broker.send(body, **properties)
    broker.call('one')

    with pytest.raises(ValueError):
        listener.next(SOON)
    assert methods(listener, 2) == ['one', None]


def test_missing_queue_differs_from_missing_exchange(broker, listening):
    listener = listening()
    broker.forgetful = True

    with pytest.raises(tap.ConnectionLost, match='no queue '):
        listener.queue_length()


@pytest.mark.parametrize(('error', 'words'), [
    (ConnectionResetError('it went away'), 'it went away'),
    (OSError(), 'OSError')])
def test_lost_connection_is_an_error(broker, listening, error, words):
    listener = listening()
    broker.down = error

    with pytest.raises(tap.ConnectionLost, match=words):
        listener.next(SOON)
