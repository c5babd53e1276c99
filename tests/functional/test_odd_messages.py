"""Messages that no client library sends do no harm to other callers.

A sender with a valid reply address gets an error, other messages cost a log
line; the connection for requests stays open.  Unit tests of nova_sched.rpc
have many more of them.
"""

import bz2
import json
import logging
import pickle
import uuid

import pytest

from tests.functional import conftest
from tests.functional import raw_bus
from tests.functional.processes import until

pytestmark = pytest.mark.real

BIG = 64 << 20
ZEROS = b'0' * BIG


@pytest.fixture(scope='module')
def season():
    url = conftest.broker()
    with raw_bus.bus(url) as bus, raw_bus.serving(url, bus):
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
    ({'method': None}, 'method = None'), ({'method': 5}, 'method = 5'),
    ({'method': ['tell']}, 'method = '), ({'method': {}}, 'method = {}'),
    ({'args': []}, 'args = []'), ({'args': 'arg'}, "args = 'arg'"),
    ({'args': None}, 'args = None'), ({'version': 4.5}, 'version = 4.5'),
    ({'version': None}, 'version = None'), ({'version': '4'}, "version = '4'"),
    ({'version': '1.' + '9' * 5000}, 'version = '),
    ({'version': 'one.two'}, 'version = '), ({'version': {}}, 'version = {}'),
    ({'_context_x': nested(600)}, 'message: cannot be read')])
def test_caller_gets_the_name_of_a_wrong_field(bus, odd, named):
    bus.call(**odd)

    kind, words = bus.failure()
    assert kind == 'InvalidInput'
    assert named in words


@pytest.mark.parametrize(('odd', 'kind'), [
    ({'args': {'self': 1}}, 'TypeError'), ({'args': {'ctxt': 1}}, 'TypeError'),
    ({'args': {'a b': 1}}, 'TypeError'), ({'args': {'': 1}}, 'TypeError'),
    ({'method': ''}, 'NoSuchMethod'), ({'method': '\ud800'}, 'NoSuchMethod'),
    ({'method': '__class__'}, 'NoSuchMethod'),
    ({'namespace': []}, 'UnsupportedVersion'),
    ({'namespace': 5}, 'UnsupportedVersion'),
    ({'version': '9.0'}, 'UnsupportedVersion')])
def test_missing_method_or_version_is_refused_as_by_nova(
        season, caplog, odd, kind):
    season.call(**odd)

    assert season.failure()[0] == kind
    assert 'Reconnected' not in caplog.text


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
    'no text': ({'body': b'\xff\xfe\xfd'}, 'Error'),
    'no message': ({'body': in_envelope('{')}, 'JSONDecodeError'),
    'an odd envelope': ({'body': in_envelope('{}', [])}, 'version'),
    'nested': ({'body': b'[' * 10 ** 5}, 'RecursionError'),
    'long number': ({'body': b'{"method": ' + b'9' * 5000 + b'}'}, 'Error'),
    'no type': ({'body': GOOD, 'content_type': ''}, 'content type'),
    'pickle': ({'body': pickle.dumps(CAST), 'content_encoding': 'binary',
                'content_type': 'application/x-python-serialize'},
               'content type'),
    'yaml': ({'body': b'!!python/object/apply:os.getpid []',
              'content_type': 'application/x-yaml'}, 'content type'),
    'msgpack': ({'body': b'\x81\xa1a\xc2', 'content_encoding': 'binary',
                 'content_type': 'application/x-msgpack'}, 'content type'),
    'a codec': ({'body': lambda: bz2.compress(ZEROS),
                 'content_encoding': 'bz2', 'content_type': 'text/x'},
                'content type'),
    'bzip2': (headed('bzip2', lambda: bz2.compress(ZEROS)),
              'unpack to more than'),
    'not packed': (headed('gzip', GOOD), 'Error'),
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


@pytest.mark.parametrize('address', [
    {'_reply_q': None}, {'_reply_q': {}}, {'_reply_q': 'x' * 256},
    {'_reply_q': '\ud800'}, {'_msg_id': {'a': 1}}], ids=str)
def test_call_without_a_reply_address_costs_a_line(bus, caplog, address):
    """It is not worked on, because its effects would have to be undone."""
    bus.call(**address)

    assert len(until(lambda: [
        record for record in caplog.records
        if 'reply address is invalid' in record.getMessage()],
        'it is dropped')) == 1


def test_compressed_messages_are_read(bus):
    inner = {**CAST, 'args': {'arg': 'packed'}, '_msg_id': uuid.uuid4().hex,
             '_reply_q': bus.replies.queue.name}
    for compression in ('gzip', 'bzip2', 'lzma'):
        bus.send(inner, compression=compression)
        assert bus.reply()['result'] == 'packed'


def test_message_without_an_envelope_is_read(bus):
    """As of releases before envelopes."""
    bus.publish(json.dumps({
        **CAST, 'args': {'arg': 'bare'}, '_msg_id': uuid.uuid4().hex,
        '_reply_q': bus.replies.queue.name}))

    assert bus.reply()['result'] == 'bare'
