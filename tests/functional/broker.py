"""The message broker without oslo.messaging: bytes in, bytes out."""

import contextlib
import json
import uuid

import kombu

from tests.functional.processes import PATIENCE

_PASSED_ON = ('content_type', 'content_encoding', 'delivery_mode', 'priority')


def plain_url(url):
    """A rabbit:// URL in the spelling that kombu and amqp know."""
    return url.replace('rabbit:', 'amqp:', 1)


class Wire:
    """Publishes captured messages and receives the replies to them.

    url: of the broker, as for oslo.messaging.
    """

    def __init__(self, url):
        self._connection = kombu.Connection(plain_url(url))
        self._channel = self._connection.channel()
        self._replies = kombu.Queue(
            f'reply_{uuid.uuid4().hex}', channel=self._channel,
            durable=False, exclusive=True)
        self._replies.declare()

    def close(self):
        self._connection.close()

    def cast(self, captured):
        """Publish a captured cast; returns its new unique id."""
        return self._publish(captured)['_unique_id']

    def call(self, captured, seconds=PATIENCE):
        """Publish a captured call; returns (inner request, raw reply).

        captured: the entry ``request`` of a capture.  The reply is in the
        form of the captures: properties, and ``decoded`` with the inner
        message parsed.
        """
        request = self._publish(captured)
        while True:
            reply = self._receive(seconds)
            inner = reply['decoded']['oslo.message']
            assert inner['_msg_id'] == request['_msg_id']
            # The others say that the server is still working on it.
            if inner['ending']:
                return request, reply

    def _publish(self, captured):
        """Publish as captured, but with ids and a reply queue of its own."""
        envelope = json.loads(captured['body_raw'])
        inner = json.loads(envelope['oslo.message'])
        inner['_unique_id'] = uuid.uuid4().hex
        if '_msg_id' in inner:
            inner['_msg_id'] = uuid.uuid4().hex
            inner['_reply_q'] = self._replies.name
        envelope['oslo.message'] = json.dumps(inner)
        properties = {name: captured['properties'][name]
                      for name in _PASSED_ON if name in captured['properties']}
        if 'expiration' in captured['properties']:
            properties['expiration'] = (
                int(captured['properties']['expiration']) / 1000)
        self._channel.Producer().publish(
            json.dumps(envelope), exchange=captured['exchange'],
            routing_key=captured['routing_key'],
            headers=captured['headers'], **properties)
        return inner

    def _receive(self, seconds):
        received = []
        with self._channel.Consumer(
                [self._replies], no_ack=True, on_message=received.append):
            while not received:
                self._connection.drain_events(timeout=seconds)
        message, = received
        decoded = json.loads(message.body)
        decoded['oslo.message'] = json.loads(decoded['oslo.message'])
        properties = dict(message.properties,
                          content_type=message.content_type,
                          content_encoding=message.content_encoding)
        headers = properties.pop('application_headers', {})
        return {'properties': properties, 'headers': headers,
                'decoded': decoded}


@contextlib.contextmanager
def wire(url):
    """A Wire for the time of a block."""
    wire = Wire(url)
    try:
        yield wire
    finally:
        wire.close()
