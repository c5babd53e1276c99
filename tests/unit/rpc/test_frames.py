"""FrameHandler turns any frames into a message."""

import struct
import types
from unittest import mock

import amqp
from amqp import serialization
from amqp import spec
import hypothesis
from hypothesis import strategies
import pytest

from nova_sched.rpc import frames

METHOD, HEADER, BODY = 1, 2, 3
BASIC = spec.Basic.CLASS_ID
JSON = {'content_type': 'application/json'}


class Bus:
    """A connection with a FrameHandler, and the delivered messages.

    Decodes methods as amqp.Channel does.
    """

    bytes_recv = 0

    def __init__(self):
        self.delivered = []
        self.handler = frames.FrameHandler(self)

    def on_inbound_method(self, channel, method, arguments, content):
        names = serialization.loads('sLbss', arguments, 4)[0]
        self.delivered.append((channel, names, content))

    def deliver(self, properties, body=b'{}', key=b'scheduler'):
        """Return the names and the content that octets are delivered as."""
        key = struct.pack('B', len(key)) + key
        self.handler((METHOD, 1, struct.pack('>HH', *spec.Basic.Deliver)
                      + b'\1t' + struct.pack('>QB', 7, 1) + b'\4nova' + key))
        complete = self.handler((HEADER, 1, struct.pack(
            '>HHQ', BASIC, 0, len(body)) + properties))
        if body:
            assert not complete
            complete = self.handler((BODY, 1, body))
        assert complete
        (channel, names, content), = self.delivered
        assert channel == 1
        return names, content


def octets(**properties):
    return amqp.Message(**properties)._serialize_properties()


@pytest.mark.parametrize('body', [b'', b'{}'])
def test_decodable_message_is_unchanged(body):
    names, content = Bus().deliver(octets(**JSON), body)

    assert names == ['t', 7, True, 'nova', 'scheduler']
    assert content.properties == JSON
    assert content.body_size == len(body)


@hypothesis.given(strategies.binary(max_size=300))
def test_any_octets_become_a_message(properties):
    _, content = Bus().deliver(properties)

    if content.properties.get('content_type') == frames.UNDECODED:
        with pytest.raises(Exception):    # noqa: B017 - any error
            serialization.decode_properties_basic(properties, 0)


def test_next_message_is_read_after_an_undecodable_one():
    bus = Bus()
    bus.deliver(b'\xff')
    bus.delivered.clear()

    assert bus.deliver(octets(**JSON))[1].properties == JSON


def test_error_of_a_consumer_is_raised():
    bus = Bus()

    def fail(*_):
        raise UnicodeDecodeError('utf-8', b'\xff', 0, 1, 'of a consumer')

    bus.handler = frames.FrameHandler(types.SimpleNamespace(
        on_inbound_method=fail, bytes_recv=0))
    for body in (b'', b'{}'):
        with pytest.raises(UnicodeDecodeError, match='of a consumer'):
            bus.deliver(octets(**JSON), body)


def test_closed_channel_is_left_alone():
    closed = mock.create_autospec(amqp.Channel, instance=True)
    closed.connection = None

    frames.take_over(closed)

    assert closed.mock_calls == []


def test_frames_out_of_order_are_an_error():
    with pytest.raises(amqp.exceptions.UnexpectedFrame):
        Bus().handler((BODY, 1, b'{}'))
