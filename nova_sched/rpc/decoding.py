"""What a message on the bus holds, whoever sent it and whatever it is.

kombu unpacks a compressed body in whole: a bzip2 of 1 KiB becomes 890 MB in
memory.  Here unpacking ends at ``bounds.MESSAGE_BYTES``, for all that uses
kombu in this process.  What is larger, of another type than JSON, or no
message at all, is unreadable; nothing else but JSON is decoded.  Nor do few
bytes become many objects: 442 bytes of bzip2 can be 2.6 million empty lists.
"""

import bz2
import json
import lzma
import zlib

from kombu import compression

from nova_sched.objects import bounds

_JSON = 'application/json'

#: Content type of a compression -> what makes a decompressor with a bound.
_UNPACKERS = {'application/x-gzip': zlib.decompressobj,
              'application/x-bz2': bz2.BZ2Decompressor,
              'application/x-lzma': lzma.LZMADecompressor}


class Unreadable(Exception):
    """Why a message is no request and no reply."""


def _unpacking(kind):
    def unpack(body):
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
    return unpack


for _kind in compression.encoders():
    _pack, _ = compression.get_encoder(_kind)
    compression.register(_pack, _unpacking(_kind), _kind)


def read(message, parts=None):
    """The message in the envelope of a kombu message: dict.

    parts: how many lists, objects and members it may have; None for any
        number.
    Raises Unreadable, or what a decoder says of text that is none.
    """
    if message.errors:
        raise message.errors[0][1]
    if message.content_type != _JSON:
        raise Unreadable(f'its content type is {message.content_type!r:.80}, '
                         f'not {_JSON}')
    found = _loads(message.body, parts)
    if isinstance(found, dict) and {'oslo.version', 'oslo.message'} <= {
            *found}:
        if not str(found['oslo.version']).startswith('2.'):
            raise Unreadable(f'its envelope is of version '
                             f'{found["oslo.version"]!r:.80}, not 2')
        found = _loads(found['oslo.message'], parts)
    if not isinstance(found, dict):
        raise Unreadable('it is no JSON object')
    return found


def _loads(text, most):
    """What JSON text holds; Unreadable if that may be more than so much.

    text: str or octets, of any encoding that JSON may have.
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
