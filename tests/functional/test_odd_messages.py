"""Messages that no client makes: each costs its sender alone.

Whoever can be answered is told what is wrong, of all others there is a line
in the log; and the connection that all requests come by stays as it is.
"""

import bz2
import json
import logging
import lzma
import pickle
import uuid
import zlib

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
    """A RawBus; nobody has had to connect again when the test ends."""
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
    {'_context_roles': 5}, {'_context_roles': [[{}]]},
    {'_context_timestamp': {}}, {'_context_timestamp': '9' * 400},
    {'_context_is_admin': []}, {'_context_user_id': {'a': 1}},
    {'_context_request_id': []}, {'_context_auth_token': 7},
    {'_context_service_catalog': 3}, {'_context_read_deleted': []},
    {'_context_global_request_id': '\ud800'},
    {'_timeout': 'soon'}, {'_timeout': []}, {'_timeout': -1},
    {'_timeout': 1e400}, {'_timeout': 10 ** 40}, {'_timeout': True},
    {'_unique_id': []}, {'_unique_id': {'a': 1}}, {'_unique_id': 'x' * 999},
    {'_unique_id': None}, {'no_such_key': nested(50)}], ids=str)
def test_what_says_nothing_about_the_call_does_it_no_harm(bus, odd):
    bus.call(args={'arg': 'told'}, **odd)

    assert bus.reply()['result'] == 'told'


@pytest.mark.parametrize(('odd', 'named'), [
    ({'method': None}, 'method = None'), ({'method': 5}, 'method = 5'),
    ({'method': ['tell']}, 'method = '), ({'method': {}}, 'method = {}'),
    ({'args': []}, 'args = []'), ({'args': 'arg'}, "args = 'arg'"),
    ({'args': None}, 'args = None'), ({'version': 4.5}, 'version = 4.5'),
    ({'version': None}, 'version = None'), ({'version': '4'}, "version = '4'"),
    ({'version': '1.' + '9' * 5000}, 'version = '),
    ({'version': 'one.two'}, 'version = '), ({'version': {}}, 'version = {}'),
    ({'_context_x': nested(600)}, 'message: cannot be read')])
def test_a_caller_is_told_what_is_wrong_with_its_message(bus, odd, named):
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
def test_what_is_asked_for_in_vain_is_refused_as_by_nova(
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


#: What nothing can be made of, and what the log says of it.  A body may be a
#: function: packing so much takes longer than to import this file.
UNREADABLE = {
    'no JSON': ({'body': b'{'}, 'JSONDecodeError'),
    'nothing': ({'body': b''}, 'JSONDecodeError'),
    'no text': ({'body': b'\xff\xfe\xfd'}, 'Error'),
    'a list': ({'body': b'[1, 2]'}, 'no JSON object'),
    'pairs': ({'body': b'[["method", "tell"]]'}, 'no JSON object'),
    'no message': ({'body': in_envelope('{')}, 'JSONDecodeError'),
    'no text within': ({'body': in_envelope(5)}, 'TypeError'),
    'a number within': ({'body': in_envelope('5')}, 'no JSON object'),
    'another envelope': ({'body': in_envelope('{}', '3.0')}, 'version'),
    'an odd envelope': ({'body': in_envelope('{}', [])}, 'version'),
    'nested': ({'body': b'[' * 10 ** 5}, 'RecursionError'),
    'many parts': ({'body': b'[' * 10 ** 6}, 'the limit is 300000'),
    'long number': ({'body': b'{"method": ' + b'9' * 5000 + b'}'}, 'Error'),
    'another type': ({'body': GOOD, 'content_type': 'text/plain'},
                     'content type'),
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
    'large': ({'body': b' ' * (9 << 20)}, 'at most 8388608'),
    'bzip2': (headed('bzip2', lambda: bz2.compress(ZEROS)),
              'unpack to more than'),
    'gzip': (headed('application/x-gzip', lambda: zlib.compress(ZEROS)),
             'unpack to more than'),
    'lzma': (headed('xz', lambda: lzma.compress(ZEROS)),
             'unpack to more than'),
    'cut': (headed('gzip', zlib.compress(GOOD)[:-9]), 'ends too early'),
    'not packed': (headed('gzip', GOOD), 'Error'),
    'unknown': (headed('no such', GOOD), 'KeyError'),
    'odd header': (headed({'a': [1]}, GOOD), 'TypeError'),
}


@pytest.mark.parametrize('name', UNREADABLE)
def test_what_cannot_be_read_is_a_line(bus, caplog, name):
    """And does not reach the memory in whole."""
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
    {'_reply_q': None}, {'_reply_q': 5}, {'_reply_q': {}}, {'_reply_q': ''},
    {'_reply_q': 'x' * 256}, {'_reply_q': '\ud800'}, {'_msg_id': []},
    {'_msg_id': ['x']}, {'_msg_id': {'a': 1}}, {'_msg_id': 'x' * 256},
    {'_msg_id': 7}], ids=str)
def test_a_call_without_an_address_is_a_line(bus, caplog, address):
    """And is not worked on: what it did would have to be undone."""
    bus.call(**address)

    if address['_reply_q' if '_reply_q' in address else '_msg_id'] == []:
        return    # an empty id is none: a cast
    assert len(until(lambda: [
        record for record in caplog.records
        if 'reply address is invalid' in record.getMessage()],
        'it is dropped')) == 1


def test_what_a_client_packs_is_read(bus):
    inner = {**CAST, 'args': {'arg': 'packed'}, '_msg_id': uuid.uuid4().hex,
             '_reply_q': bus.replies.queue.name}
    for compression in ('gzip', 'bzip2', 'lzma'):
        bus.send(inner, compression=compression)
        assert bus.reply()['result'] == 'packed'


def test_a_message_that_is_no_envelope_is_read_as_one_of_before_them(bus):
    bus.publish(json.dumps({
        **CAST, 'args': {'arg': 'bare'}, '_msg_id': uuid.uuid4().hex,
        '_reply_q': bus.replies.queue.name}))

    assert bus.reply()['result'] == 'bare'
