"""Decompression and decoding of messages, within limits."""

import bz2
import json
import lzma
import tracemalloc
import types
import zlib

from kombu import compression
import pytest

from nova_sched.objects import bounds
from nova_sched.rpc import decoding
from tests.builders.listeners import Channel
from tests.builders.listeners import delivered
from tests.builders.listeners import of_memory

PACK = {'application/x-gzip': zlib.compress, 'application/x-bz2':
        bz2.compress, 'application/x-lzma': lzma.compress}


@pytest.mark.parametrize('kind', PACK)
def test_decompression_uses_little_memory(kind):
    """A few times the limit at most, for 48 MiB."""
    packed = PACK[kind](b'0' * (48 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(decoding.Unreadable, match='unpack to more than'):
            decoding.unpack(packed, kind)
        assert tracemalloc.get_traced_memory()[1] < 4 * bounds.MESSAGE_BYTES
    finally:
        tracemalloc.stop()


def test_compressions_of_the_client_are_supported():
    for name in ('gzip', 'zlib', 'bzip2', 'bzip', 'xz', 'lzma'):
        packed, kind = compression.compress('text', name)
        assert decoding.unpack(packed, kind) == b'text'


def test_other_compression_is_refused(monkeypatch):
    monkeypatch.setattr(compression, 'get_encoder',
                        lambda name: (None, f'application/x-{name}'))
    with pytest.raises(decoding.Unreadable, match='x-brotli is not supp'):
        decoding.unpack(b'', 'brotli')


@pytest.mark.parametrize('kind', PACK)
def test_body_of_the_limit_is_decompressed_unless_truncated(kind):
    body = b'0' * bounds.MESSAGE_BYTES
    assert decoding.unpack(PACK[kind](body), kind) == body
    packed = PACK[kind](bytes(range(256)) * 9)
    with pytest.raises(decoding.Unreadable, match='ends too early'):
        decoding.unpack(packed[:-9], kind)


class TestReceiving:
    """kombu would decompress all of a message."""

    def test_leaves_a_body_compressed(self):
        packed = bz2.compress(b'{"a": 1}')
        found = decoding.received(
            delivered(packed, {'compression': 'bzip2', 'other': 1}),
            Channel())
        assert found.body == packed
        assert found.headers == {'compression': 'bzip2', 'other': 1}
        assert found.errors == []
        assert decoding.read(found) == {'a': 1}

    @pytest.mark.parametrize('headers', [{}, None, {'other': 1}])
    def test_keeps_other_headers(self, headers):
        found = decoding.received(delivered('{}', headers), Channel())
        assert found.headers == (headers or {})
        assert decoding.read(found) == {}

    def test_accepts_messages_of_an_in_process_transport(self):
        found = decoding.received(of_memory(
            bz2.compress(b'{"a": 1}'), headers={'compression': 'bzip2'}),
            Channel())
        assert decoding.read(found) == {'a': 1}


class TestReading:
    @pytest.fixture
    def read(self):
        """Function of a body and a number of parts: the message in it."""
        def read(body, parts=None, **changes):
            return decoding.read(types.SimpleNamespace(**{
                'errors': [], 'content_type': 'application/json',
                'headers': {}, 'body': body, **changes}), parts)
        return read

    @pytest.mark.parametrize('version', ['2.0', '2.7', 2.0])
    def test_accepts_the_second_envelope_and_none(self, read, version):
        assert read('{"a": 1}') == {'a': 1}
        assert read(json.dumps({'oslo.version': version,
                                'oslo.message': '{"a": 1}'})) == {'a': 1}
        assert read('{"oslo.version": "3.0"}') == {'oslo.version': '3.0'}

    @pytest.mark.parametrize(('body', 'words'), [
        ('[]', 'it is no JSON object'), ('5', 'it is no JSON object'),
        ('{"oslo.version": "2.0", "oslo.message": "[]"}',
         'it is no JSON object'),
        ('{"oslo.version": "3.0", "oslo.message": "{}"}',
         "its envelope is of version '3.0', not 2"),
        ('{"oslo.version": "20", "oslo.message": "{}"}',
         "its envelope is of version '20', not 2")])
    def test_refuses_other_content(self, read, body, words):
        with pytest.raises(decoding.Unreadable) as caught:
            read(body)
        assert str(caught.value) == words

    @pytest.mark.parametrize('content_type', [
        'application/x-python-serialize', None])
    def test_refuses_other_content_types(self, read, content_type):
        with pytest.raises(decoding.Unreadable,
                           match=f'its content type is {content_type!r}, '
                                 'not application/json'):
            read('{}', content_type=content_type)

    def test_decompresses_by_the_header(self, read):
        assert read(bz2.compress(b'{"a": 1}'),
                    headers={'compression': 'bzip2'}) == {'a': 1}

    def test_raises_the_first_error_of_kombu(self, read):
        with pytest.raises(decoding.Unreadable, match='the first'):
            read('{}', errors=[(None, decoding.Unreadable('the first')),
                               (None, decoding.Unreadable('the second'))])

    @pytest.mark.parametrize('kind', [str, str.encode])
    def test_counts_lists_objects_and_members(self, read, kind):
        """Eight here: three lists or objects, and five commas."""
        body = kind('{"a": [1, 2, 3], "b": {"c": 4, "d": 5}, "e": 6}')
        assert read(body, 8)['e'] == 6
        assert read(body)['e'] == 6
        with pytest.raises(decoding.Unreadable, match=(
                '8 lists, objects and members; the limit is 7')):
            read(body, 7)
