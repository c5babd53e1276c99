"""Reading AMQP frames whose message properties cannot be decoded.

The AMQP library decodes a message's properties while it reads the frames.  A
date after the year 9999, a name that is not UTF-8, or a table nested too deep
raises an error before the message can be acknowledged.  The library then
closes the connection, and the broker delivers the message to the next worker.
Here the message is marked as ``UNDECODED``, and its consumer drops it.
"""

import amqp
from amqp import method_framing
from amqp import serialization
from amqp import spec

#: Content type of a message with undecodable properties; its ``type`` has the
#: reason.
UNDECODED = 'application/x-undecoded'

#: Type of the frames with the properties of a message.
_HEADER = 2
#: Octets before the properties in such a frame: class, weight, body size.
_AHEAD = 12
#: Format of a Deliver method's arguments for ``serialization``, and the number
#: of octets before them.
_DELIVER, _METHOD = 'sLbss', 4
#: Characters of a text that must fit into 255 octets.
_SHORT = 200


class FrameHandler:
    """The handler of the frames that an amqp.Connection reads."""

    def __init__(self, connection):
        self._dispatch = connection.on_inbound_method
        self._take = method_framing.frame_handler(connection, self._deliver)

    def __call__(self, frame):
        """Handle a frame; return whether it completes a method."""
        try:
            return self._take(frame)
        except Exception:
            kind, channel, payload = frame
            reason = _why_undecodable(payload) if kind == _HEADER else ''
            if not reason:
                raise
        # The library still waits for the header of the message.
        marked = amqp.Message(content_type=UNDECODED, type=reason)
        return self._take((kind, channel, payload[:_AHEAD]
                           + marked._serialize_properties()))

    def _deliver(self, channel, method, arguments, content):
        """Dispatch a method, even if names in it are not UTF-8."""
        try:
            self._dispatch(channel, method, arguments, content)
            return
        except UnicodeDecodeError as error:
            if method != spec.Basic.Deliver or _are_names(arguments):
                raise
            reason = _as_ascii(error)
        content.properties = {'content_type': UNDECODED, 'type': reason}
        self._dispatch(channel, method, _readable(arguments), content)


def take_over(channel):
    """Install a FrameHandler on a channel's connection; return the connection.

    Also disables the decoding of bodies: the library uses any codec that a
    message names, which may take minutes.

    channel: of kombu.  Returns None, and changes nothing, for a transport
        other than AMQP and for a closed channel.
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
        return _as_ascii(error)
    return ''


def _as_ascii(error):
    text = f'{type(error).__name__}: {error}'
    return text.encode('ascii', 'backslashreplace').decode()[:_SHORT]


def _are_names(arguments):
    """Return whether all names in a Deliver method are UTF-8."""
    try:
        serialization.loads(_DELIVER, arguments, _METHOD)
    except UnicodeDecodeError:
        return False
    return True


def _readable(arguments):
    """Return the arguments of a Deliver method with names made UTF-8."""
    tag, offset = _name(arguments, _METHOD)
    (delivery, redelivered), offset = serialization.loads('Lb', arguments,
                                                          offset)
    exchange, offset = _name(arguments, offset)
    key, _ = _name(arguments, offset)
    return arguments[:_METHOD] + serialization.dumps(
        _DELIVER, (tag, delivery, redelivered, exchange, key))


def _name(octets, offset):
    """Return the name at an offset, as readable text, and its end."""
    begin = offset + 1
    end = begin + octets[offset]
    return (bytes(octets[begin:end]).decode('utf-8',
                                            'backslashreplace')[:_SHORT], end)
