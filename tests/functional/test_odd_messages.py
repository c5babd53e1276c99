"""Messages that no client library sends do no harm to other callers.

A sender with a valid reply address gets an error, other messages cost a log
line; the connection for requests stays open.  Unit tests of nova_sched.rpc
have many more of them.
"""

import bz2
import json
import logging
import pickle

import pytest

from tests.functional import conftest
from tests.functional import raw_bus
from tests.functional.processes import until

pytestmark = pytest.mark.real

BIG = 64 << 20
ZEROS = b'0' * BIG


@pytest.fixture(scope='module')
def season():
    with raw_bus.bus(conftest.broker()) as bus, raw_bus.serving(bus):
        yield bus


@pytest.fixture
def bus(season, caplog):
    """A RawBus; fails if the server had to reconnect."""
    caplog.set_level(logging.INFO)
    yield season
    season.call(args={'arg': 'good'})
    assert season.reply()['result'] == 'good'
    for trouble in ('Reconnected', 'Traceback', 'Unexpected exception',
                    'unreachable', 'Unable to connect', 'Failed to'):
        assert trouble not in caplog.text


def nested(depth):
    return json.loads('[' * depth + ']' * depth)


@pytest.mark.parametrize('odd', [
    {'_context_self': 1}, {'_context_': 1}, {'_context_cls': {}},
    {'_context_values': [1]}, {'_context_msg_id': 5}, {'_context_a b': 1},
    {'_context_conf': 1}, {'_context_client_timeout': 'x'},
    {'_context_roles': [[{}]]}, {'_context_timestamp': {}},
    {'_context_is_admin': []}, {'_context_request_id': []},
    {'_context_service_catalog': 3}, {'_context_read_deleted': []},
    {'_context_global_request_id': '\ud800'}, {'_timeout': 10 ** 40},
    {'_unique_id': {'a': 1}}, {'no_such_key': nested(50)}], ids=str)
def test_odd_context_timeout_or_id_does_the_call_no_harm(bus, odd):
    bus.call(args={'arg': 'echo'}, **odd)

    assert bus.reply()['result'] == 'echo'


@pytest.mark.parametrize(('odd', 'named'), [
    ({'method': None}, 'method = None'), ({'args': []}, 'args = []'),
    ({'version': 4.5}, 'version = 4.5'),
    ({'_context_x': nested(600)}, 'message: cannot be read')])
def test_caller_gets_the_name_of_a_wrong_field(bus, odd, named):
    bus.call(**odd)

    kind, words = bus.failure()
    assert kind == 'InvalidInput'
    assert named in words


def in_envelope(inner, version='2.0'):
    return json.dumps({'oslo.version': version, 'oslo.message': inner})


CAST = {'method': 'tell', 'args': {}, 'version': '1.0'}
GOOD = in_envelope(json.dumps(CAST)).encode()


def headed(kind, body):
    return {'body': body, 'headers': {'compression': kind}}


#: Unreadable messages, and words of their log lines.  A body may be a
#: function, so that importing this file does not compress it.
UNREADABLE = {
    'no JSON': ({'body': b'{'}, 'JSONDecodeError'),
    'an odd envelope': ({'body': in_envelope('{}', [])}, 'version'),
    'nested': ({'body': b'[' * 10 ** 5}, 'RecursionError'),
    'long number': ({'body': b'{"method": ' + b'9' * 5000 + b'}'}, 'Error'),
    'pickle': ({'body': pickle.dumps(CAST), 'content_encoding': 'binary',
                'content_type': 'application/x-python-serialize'},
               'content type'),
    'bzip2': (headed('bzip2', lambda: bz2.compress(ZEROS)),
              'unpack to more than'),
    'unknown': (headed('no such', GOOD), 'KeyError'),
    'odd header': (headed({'a': [1]}, GOOD), 'TypeError'),
}


@pytest.mark.parametrize('name', UNREADABLE)
def test_unreadable_message_costs_one_line(bus, caplog, name):
    message, words = UNREADABLE[name]
    body = message['body']

    bus.publish(**message | {'body': body() if callable(body) else body})
    dropped = until(lambda: [record.getMessage() for record in caplog.records
                             if 'is dropped' in record.getMessage()],
                    'it is dropped')

    assert len(dropped) == 1
    assert words in dropped[0]
    assert len(dropped[0]) < 600


def test_call_without_a_reply_address_costs_a_line(bus, caplog):
    """It is not worked on, because its effects would have to be undone."""
    bus.call(_reply_q='\ud800')

    assert len(until(lambda: [
        record for record in caplog.records
        if 'reply address is invalid' in record.getMessage()],
        'it is dropped')) == 1
