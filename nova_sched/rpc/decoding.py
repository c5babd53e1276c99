"""Decoding of messages from the bus, within limits.

kombu decompresses a body without a limit: 1 KiB of bzip2 becomes 890 MB in
memory.  Here decompression stops at ``bounds.MESSAGE_BYTES``.  Larger
messages, and messages of another type than JSON, are unreadable.  The number
of JSON values is limited as well: 442 bytes of bzip2 can be 2.6 million empty
lists.
"""

import bz2
import json
import lzma
import zlib

from kombu import compression
from kombu import message as kombu_message

from nova_sched.objects import bounds
from nova_sched.rpc import frames

_JSON = 'application/json'

#: The header that names the compression of a body.
_COMPRESSION = 'compression'

#: Content type of a compression -> factory of an incremental decompressor.
_UNPACKERS = {'application/x-gzip': zlib.decompressobj,
              'application/x-bz2': bz2.BZ2Decompressor,
              'application/x-lzma': lzma.LZMADecompressor}


class Unreadable(ValueError):
    """A message that is neither a request nor a reply; the text is why."""


def received(delivered, channel):
    """Return a message of a channel as a kombu message, still compressed.

    delivered: amqp message; or kombu message, of an in-process transport,
        which is not compressed.
    """
    if isinstance(delivered, kombu_message.Message):
        delivered.headers.pop(_COMPRESSION, None)
        return delivered
    # With that header kombu would decompress the body.
    kind = (delivered.headers or {}).pop(_COMPRESSION, None)
    message = channel.message_to_python(delivered)
    if kind:
        message.headers[_COMPRESSION] = kind
    return message


def read(message, parts=None):
    """Return the content of a ``received`` message: dict.

    parts: maximum number of lists, objects and members, or None.
    Raises Unreadable, or the error of a decoder.
    """
    return opened(body(message), parts)


def body(message):
    """Return the octets of JSON of a ``received`` message.

    Raises the errors of ``read``.
    """
    if message.errors:
        raise message.errors[0][1]
    if message.content_type == frames.UNDECODED:
        raise Unreadable('its properties cannot be decoded: '
                         f'{message.properties.get("type")}')
    if message.content_type != _JSON:
        raise Unreadable(f'its content type is {message.content_type!r:.80}, '
                         f'not {_JSON}')
    kind = message.headers.get(_COMPRESSION)
    return unpack(message.body, kind) if kind else message.body


def opened(octets, parts=None):
    """Return the content of the envelope in a ``body``, as ``read`` does."""
    content = _loads(octets, parts)
    if isinstance(content, dict) and {'oslo.version', 'oslo.message'} <= {
            *content}:
        if not str(content['oslo.version']).startswith('2.'):
            raise Unreadable(f'its envelope is of version '
                             f'{content["oslo.version"]!r:.80}, not 2')
        content = _loads(content['oslo.message'], parts)
    if not isinstance(content, dict):
        raise Unreadable('it is no JSON object')
    return content


def unpack(body, name):
    """Return the decompressed octets of a body.

    name: of the compression in kombu: a content type, or such as 'gzip'.
    Raises Unreadable, KeyError for an unknown name, or the error of the
    decompressor.
    """
    _, kind = compression.get_encoder(name)
    if kind not in _UNPACKERS:
        raise Unreadable(f'its compression {kind} is not supported')
    unpacker = _UNPACKERS[kind]()
    unpacked = unpacker.decompress(body, bounds.MESSAGE_BYTES + 1)
    if len(unpacked) > bounds.MESSAGE_BYTES:
        raise Unreadable(f'{len(body)} bytes unpack to more than '
                         f'{bounds.MESSAGE_BYTES}')
    if not unpacker.eof:
        raise Unreadable('its compressed body ends too early')
    return unpacked


def _loads(text, limit):
    """Return the value in JSON text.

    text: str or octets, in any encoding of JSON.
    limit: maximum number of parts, or None.
    Raises Unreadable for text that may have more parts, and the errors of
    json.loads.
    """
    # json.loads rejects other types.
    if limit is not None and isinstance(text, (str, bytes, bytearray)):
        # Counts marks within strings as well: fast, and an upper bound.
        marks = '[{,' if isinstance(text, str) else (b'[', b'{', b',')
        count = sum(text.count(mark) for mark in marks)
        if count > limit:
            raise Unreadable(f'it has {count} lists, objects and members; '
                             f'the limit is {limit}')
    return json.loads(text)
