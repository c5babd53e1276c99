"""Reading messages from the bus, whoever sent them and whatever they hold.

kombu unpacks a compressed body in whole: a bzip2 of 1 KiB becomes 890 MB in
memory.  Here unpacking ends at ``bounds.MESSAGE_BYTES``.  What is larger, of
another type than JSON, or no message at all, is unreadable; nothing but JSON
is decoded.  Nor do few bytes become many objects: 442 bytes of bzip2 can be
2.6 million empty lists.
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

#: Content type of a compression -> what makes a decompressor with a bound.
_UNPACKERS = {'application/x-gzip': zlib.decompressobj,
              'application/x-bz2': bz2.BZ2Decompressor,
              'application/x-lzma': lzma.LZMADecompressor}


class Unreadable(ValueError):
    """Why a message is no request and no reply."""


def received(delivered, channel):
    """Return the kombu message of what a channel delivers, not unpacked yet.

    A transport within this process delivers a kombu message, unpacked.
    """
    if isinstance(delivered, kombu_message.Message):
        delivered.headers.pop(_COMPRESSION, None)
        return delivered
    # With that header kombu would unpack the body.
    kind = (delivered.headers or {}).pop(_COMPRESSION, None)
    message = channel.message_to_python(delivered)
    if kind:
        message.headers[_COMPRESSION] = kind
    return message


def read(message, parts=None):
    """Return what the envelope of a ``received`` message holds: dict.

    parts: how many lists, objects and members it may have; None for any
        number.
    Raises Unreadable, or what a decoder says of text that is none.
    """
    return opened(body(message), parts)


def body(message):
    """Return the octets of JSON that a ``received`` message has.

    Raises as ``read`` does.
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
    """Return what the envelope of a ``body`` holds, as of ``read``."""
    found = _loads(octets, parts)
    if isinstance(found, dict) and {'oslo.version', 'oslo.message'} <= {
            *found}:
        if not str(found['oslo.version']).startswith('2.'):
            raise Unreadable(f'its envelope is of version '
                             f'{found["oslo.version"]!r:.80}, not 2')
        found = _loads(found['oslo.message'], parts)
    if not isinstance(found, dict):
        raise Unreadable('it is no JSON object')
    return found


def unpack(body, name):
    """Return the octets of a compressed body.

    name: of the compression, as kombu knows it: a content type, or 'gzip'.
    Raises Unreadable, KeyError for a name that kombu does not know, or what
    the decompressor says.
    """
    _, kind = compression.get_encoder(name)
    if kind not in _UNPACKERS:
        raise Unreadable(f'its compression {kind} is not bounded here')
    unpacker = _UNPACKERS[kind]()
    unpacked = unpacker.decompress(body, bounds.MESSAGE_BYTES + 1)
    if len(unpacked) > bounds.MESSAGE_BYTES:
        raise Unreadable(f'{len(body)} bytes unpack to more than '
                         f'{bounds.MESSAGE_BYTES}')
    if not unpacker.eof:
        raise Unreadable('its compressed body ends too early')
    return unpacked


def _loads(text, most):
    """Return what JSON text holds.

    text: str or octets, of any encoding that JSON may have.
    most: how many parts it may have, or None.
    Raises Unreadable for text that may have more, and what json.loads does.
    """
    # Of what is no text json.loads says so.
    if most is not None and isinstance(text, (str, bytes, bytearray)):
        # Those within texts count, too: that is quick, and says no less.
        marks = '[{,' if isinstance(text, str) else (b'[', b'{', b',')
        found = sum(text.count(mark) for mark in marks)
        if found > most:
            raise Unreadable(f'{found} lists, objects and members, and at '
                             f'most {most} are read')
    return json.loads(text)
