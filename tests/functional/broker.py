"""The message broker without oslo.messaging: bytes in, bytes out."""

import collections
import contextlib
import json
import time
import uuid

import kombu
import sqlalchemy as sa

from tests.functional.processes import PATIENCE

_PASSED_ON = ('content_type', 'content_encoding', 'delivery_mode', 'priority')


def plain_url(url):
    """A rabbit:// URL in the spelling that kombu and amqp know."""
    return url.replace('rabbit:', 'amqp:', 1)


def in_virtual_host(url, name):
    """A rabbit:// URL of the same broker in another virtual host."""
    return sa.make_url(url).set(database=name).render_as_string(
        hide_password=False)


def of_cluster(urls):
    """A rabbit:// URL with the hosts of these, as operators write it."""
    hosts, _, path = zip(*(
        url.removeprefix('rabbit://').partition('/') for url in urls),
        strict=True)
    return f'rabbit://{",".join(hosts)}/{path[0]}'


@contextlib.contextmanager
def channel(url, **options):
    """A channel to a broker for a block; a refused operation closes it.

    options: of kombu's transport.
    """
    with kombu.Connection(plain_url(url),
                          transport_options=options) as connection:
        yield connection.default_channel


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
        # Consume all the time: the queue ends with its last consumer.
        self._received = collections.deque()
        kombu.Consumer(self._channel, [self._replies], no_ack=True,
                       on_message=self._received.append).consume()

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
            reply = self.receive(seconds)
            inner = reply['decoded']['oslo.message']
            assert inner['_msg_id'] == request['_msg_id']
            # Replies before the ending one are keepalives.
            if inner['ending']:
                return request, reply

    def _publish(self, captured):
        """Publish a capture with new ids and our reply queue."""
        message = self.fresh(captured)
        self.send(message)
        return message['body']['oslo.message']

    def fresh(self, captured):
        """The message of a capture, with new ids and our reply queue.

        A dict of ``body`` (its ``oslo.message`` parsed), ``properties``,
        ``headers``, ``exchange`` and ``routing_key``.
        """
        envelope = json.loads(captured['body_raw'])
        inner = json.loads(envelope['oslo.message'])
        inner['_unique_id'] = uuid.uuid4().hex
        if '_msg_id' in inner:
            inner['_msg_id'] = uuid.uuid4().hex
            inner['_reply_q'] = self._replies.name
        envelope['oslo.message'] = inner
        properties = {name: captured['properties'][name]
                      for name in _PASSED_ON if name in captured['properties']}
        if 'expiration' in captured['properties']:
            properties['expiration'] = (
                int(captured['properties']['expiration']) / 1000)
        return {'body': envelope, 'properties': properties,
                'headers': captured['headers'],
                'exchange': captured['exchange'],
                'routing_key': captured['routing_key']}

    def send(self, message):
        """Publish a message of the form of ``fresh``.

        An ``oslo.message`` that is text already stays as it is.
        """
        body = message['body']
        if isinstance(body, dict) and not isinstance(
                body.get('oslo.message', ''), str):
            body = body | {'oslo.message': json.dumps(body['oslo.message'])}
        self._channel.Producer().publish(
            json.dumps(body), exchange=message['exchange'],
            routing_key=message['routing_key'], headers=message['headers'],
            **message['properties'])

    def replies(self, ids, seconds=PATIENCE):
        """Receive replies to calls: {id: inner message of the reply}.

        ids: of the calls.  Returns when all are answered or the time is up.
        """
        found, deadline = {}, time.monotonic() + seconds
        while not found.keys() >= set(ids):
            left = deadline - time.monotonic()
            try:
                reply = self.receive(max(left, 0.001))
            except TimeoutError:
                break
            inner = reply['decoded']['oslo.message']
            # Replies echo changed ids as well, of any type.
            if inner.get('ending') and inner['_msg_id'] in list(ids):
                found[inner['_msg_id']] = inner
        return found

    def consumers(self, queue):
        """The number of consumers of a queue."""
        return self._channel.queue_declare(queue, passive=True).consumer_count

    def receives_any(self, seconds):
        """Whether any reply arrives within a time."""
        try:
            self.receive(seconds)
        except TimeoutError:
            return False
        return True

    def receive(self, seconds):
        while not self._received:
            self._connection.drain_events(timeout=seconds)
        message = self._received.popleft()
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
