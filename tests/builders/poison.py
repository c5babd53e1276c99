"""Messages of AMQP 0-9-1 with properties that no client library writes.

Properties are bytes in the protocol's form, so that they can have values
outside of their types.
"""

import struct

import amqp

JSON = b'application/json'

#: Properties with short texts -> bit in the flags.
TEXTS = {'content_type': 15, 'content_encoding': 14, 'correlation_id': 10,
         'reply_to': 9, 'expiration': 8, 'message_id': 7, 'type': 5,
         'user_id': 4, 'app_id': 3, 'cluster_id': 2}
_HEADERS, _DELIVERY_MODE, _PRIORITY, _TIMESTAMP = 13, 12, 11, 6

NOT_UTF8 = b'\xff\xfe\xfd'

_ODD_TEXTS = {
    'empty': b'', 'not UTF-8': NOT_UTF8, 'a surrogate': b'\xed\xa0\x80',
    'cut': b'\xe2\x82', 'NUL': b'\0', 'lines': b'a\nb\r\x1b[31m',
    'long': b'x' * 255, 'long and not UTF-8': b'\xff' * 255}
_ENCODINGS = (b'punycode', b'idna', b'zlib', b'bz2', b'hex', b'uu', b'rot13',
              b'undefined', b'utf-7', b'utf-16', b'unicode_escape', b'cp037',
              b'no such', b'binary')
_TYPES = (b'application/x-python-serialize', b'application/x-yaml',
          b'application/data', b'text/plain', b'application/json; x=y')
_BIG = (10 ** 12, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 1)


def _short(octets):
    return struct.pack('B', len(octets)) + octets


def _long(octets):
    return struct.pack('>I', len(octets)) + octets


def _nested(kind, depth):
    """Tables or arrays nested ``depth`` levels deep."""
    item = b'V'
    for _ in range(depth):
        item = kind + _long(item if kind == b'A' else _short(b'k') + item)
    return item


def _items():
    """{description: item of a table, with its type}."""
    found = {f'T {number}': b'T' + struct.pack('>Q', number)
             for number in (0, 1, 253402300800, *_BIG)}
    found |= {f'{kind} {number}': kind.encode() + struct.pack('>Q', number)
              for kind in 'lL' for number in _BIG}
    found |= {f'{kind} {value}': kind.encode() + struct.pack(form, value)
              for kind, form in (('f', '>f'), ('d', '>d'))
              for value in (float('nan'), float('inf'), -0.0, 1e30)}
    found |= {f'D {scale}': b'D' + struct.pack('>Bi', scale, -2 ** 31)
              for scale in (0, 28, 255)}
    found |= {f'{kind} {value}': kind.encode() + struct.pack(form, value)
              for kind, form in (('b', 'b'), ('B', 'B'), ('t', 'B'),
                                 ('s', '>h'), ('u', '>H'), ('I', '>i'),
                                 ('i', '>I'))
              for value in (0, 127)}
    found |= {f'{kind} {name}': kind.encode() + _long(text)
              for kind in 'Sx' for name, text in _ODD_TEXTS.items()}
    found |= {f'{kind} {depth} deep': _nested(kind.encode(), depth)
              for kind in 'FA' for depth in (1, 100, 5000)}
    return {'V': b'V', **found}


#: Items of tables that a broker accepts.
ITEMS = _items()


class Message(amqp.Message):
    """A message with properties as bytes.

    body: bytes.  properties: {bit in the flags: bytes}.
    """

    def __init__(self, body, properties):
        super().__init__(body)
        self.octets = properties

    def _serialize_properties(self):
        flags = sum(1 << bit for bit in self.octets)
        return struct.pack('>H', flags) + b''.join(
            self.octets[bit] for bit in sorted(self.octets, reverse=True))


def message(body, texts=None, headers=None, **others):
    """Return a Message of JSON text.

    texts: {name of a property: bytes}, in place of the defaults.
    headers: {key as bytes: item with its type}.
    others: delivery_mode, priority, timestamp; numbers.
    """
    texts = {'content_type': JSON, 'content_encoding': b'utf-8',
             **(texts or {})}
    properties = {TEXTS[name]: _short(text) for name, text in texts.items()}
    if headers is not None:
        properties[_HEADERS] = _long(b''.join(
            _short(key) + item for key, item in headers.items()))
    for name, bit, form in (('delivery_mode', _DELIVERY_MODE, 'B'),
                            ('priority', _PRIORITY, 'B'),
                            ('timestamp', _TIMESTAMP, '>Q')):
        if name in others:
            properties[bit] = struct.pack(form, others[name])
    return Message(body, properties)


def _odd():
    """Yield (description, arguments of ``message``) for each odd kind."""
    for name in TEXTS:
        for what, text in _ODD_TEXTS.items():
            yield f'{name} {what}', {'texts': {name: text}}
    for name, texts in (('content_encoding', _ENCODINGS),
                        ('content_type', _TYPES)):
        for text in texts:
            yield f'{name} {text}', {'texts': {name: text}}
    for name, numbers in (('timestamp', (0, *_BIG)),
                          ('delivery_mode', (0, 3, 255)),
                          ('priority', (0, 3, 255))):
        for number in numbers:
            yield f'{name} {number}', {name: number}


def _odd_headers():
    """Yield (description, headers) for each odd kind."""
    yield 'no headers', {}
    for key in (b'x-odd', b'compression', b'x-stream-offset'):
        for what, item in ITEMS.items():
            yield f'{key} of {what}', {key: item}
    for what, key in _ODD_TEXTS.items():
        yield f'key {what}', {key: b'V'}


def messages(body):
    """Yield (description, Message) for each odd kind."""
    for what, arguments in _odd():
        yield what, message(body, **arguments)
    for what, headers in _odd_headers():
        yield what, message(body, headers=headers)
