"""Reading the frames of AMQP, whatever the properties in them hold.

The AMQP library decodes a message's properties while it reads its frames.  A
time after the year 9999, a name that is no UTF-8 or a table too deep raises
there, before the message is one that could be acknowledged: the connection is
torn down, and the broker gives the message to the next worker.  Here such a
message goes on, marked as ``UNDECODED``, for its consumer to drop.
"""

import amqp
from amqp import method_framing
from amqp import serialization
from amqp import spec

#: Content type of a message whose properties were not decoded; its ``type``
#: is the reason.
UNDECODED = 'application/x-undecoded'

#: Type of the frames that hold the properties of a message.
_HEADER = 2
#: Octets of such a frame ahead of the properties: class, weight, body's size.
_AHEAD = 12
#: What a Deliver method has, in the words of ``serialization``, behind the
#: octets that name the method.
_DELIVER, _METHOD = 'sLbss', 4
#: Of a text that has at most 255 octets, so that it has them when written.
_SHORT = 200


class FrameHandler:
    """What an amqp.Connection hands each frame that it reads to."""

    def __init__(self, connection):
        self._dispatch = connection.on_inbound_method
        self._take = method_framing.frame_handler(connection, self._deliver)

    def __call__(self, frame):
        """Return whether a method is complete with this frame."""
        try:
            return self._take(frame)
        except Exception:
            kind, channel, payload = frame
            reason = _why_undecodable(payload) if kind == _HEADER else ''
            if not reason:
                raise
        # The message still waits for its header.
        return self._take((kind, channel, payload[:_AHEAD] + _marks(reason)))

    def _deliver(self, channel, method, arguments, content):
        """Hand on a method, one that names what is no UTF-8 as well."""
        try:
            self._dispatch(channel, method, arguments, content)
            return
        except UnicodeDecodeError as error:
            if method != spec.Basic.Deliver or _are_names(arguments):
                raise
            reason = _told(error)
        content.properties = {'content_type': UNDECODED, 'type': reason}
        self._dispatch(channel, method, _readable(arguments), content)


def take_over(channel):
    """Have a channel's connection read by a FrameHandler, and return it.

    The channel leaves the bodies of messages as they are; by default it
    decodes them with whatever codec a message names, which may take minutes.

    channel: kombu's; nothing is done to one of another transport than AMQP,
        or which the broker has closed: None is returned then.
    """
    if not isinstance(channel, amqp.Channel) or channel.connection is None:
        return None
    channel.auto_decode = False
    connection = channel.connection
    if not isinstance(connection.on_inbound_frame, FrameHandler):
        connection.on_inbound_frame = FrameHandler(connection)
    return connection


def _why_undecodable(payload):
    """Return why the properties in a header frame cannot be decoded, or ''."""
    try:
        amqp.Message().inbound_header(payload)
    except Exception as error:
        return _told(error)
    return ''


def _told(error):
    text = f'{type(error).__name__}: {error}'
    return text.encode('ascii', 'backslashreplace').decode()[:_SHORT]


def _marks(reason):
    """Return the properties of a message that was not decoded: octets."""
    return amqp.Message(content_type=UNDECODED,
                        type=reason)._serialize_properties()


def _are_names(arguments):
    """Return whether a Deliver method names nothing but UTF-8."""
    try:
        serialization.loads(_DELIVER, arguments, _METHOD)
    except UnicodeDecodeError:
        return False
    return True


def _readable(arguments):
    """Return those of a Deliver method with names that can be decoded."""
    tag, offset = _name(arguments, _METHOD)
    (delivery, redelivered), offset = serialization.loads('Lb', arguments,
                                                          offset)
    exchange, offset = _name(arguments, offset)
    key, _ = _name(arguments, offset)
    return arguments[:_METHOD] + serialization.dumps(
        _DELIVER, (tag, delivery, redelivered, exchange, key))


def _name(octets, offset):
    """Return the name at an offset, as readable text, and where it ends."""
    begin = offset + 1
    end = begin + octets[offset]
    return (bytes(octets[begin:end]).decode('utf-8',
                                            'backslashreplace')[:_SHORT], end)
