"""What a message on the bus holds, whoever sent it and whatever it is.

kombu unpacks a compressed body in whole: a bzip2 of 1 KiB becomes 890 MB in
memory.  Here unpacking ends at ``bounds.MESSAGE_BYTES``, for all that uses
kombu in this process.  What is larger, of another type than JSON, or no
message at all, is unreadable; nothing else but JSON is decoded.
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


def read(message):
    """The message in the envelope of a kombu message: dict.

    Raises Unreadable, or what a decoder says of text that is none.
    """
    if message.errors:
        raise message.errors[0][1]
    if message.content_type != _JSON:
        raise Unreadable(f'its content type is {message.content_type!r:.80}, '
                         f'not {_JSON}')
    found = json.loads(message.body)
    if isinstance(found, dict) and {'oslo.version', 'oslo.message'} <= {
            *found}:
        if not str(found['oslo.version']).startswith('2.'):
            raise Unreadable(f'its envelope is of version '
                             f'{found["oslo.version"]!r:.80}, not 2')
        found = json.loads(found['oslo.message'])
    if not isinstance(found, dict):
        raise Unreadable('it is no JSON object')
    return found
