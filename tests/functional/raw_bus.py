"""Messages of any kind to a server of this process, on a real broker."""

import contextlib
import functools
import json
import threading
import uuid

import kombu
import oslo_messaging as messaging

from nova_sched import rpc
from tests.builders import messages
from tests.builders import rules
from tests.functional import broker
from tests.functional.processes import PATIENCE

JSON = 'application/json'


class Endpoint:
    """An endpoint with a quick method and one that waits.

    begun: released when ``work`` begins.  done: lets ``work`` return.
    server: of the endpoint.
    """

    target = messaging.Target(version='1.0')

    def __init__(self):
        self.begun, self.done = threading.Semaphore(0), threading.Event()

    def tell(self, ctxt, arg=None):
        return arg

    def work(self, ctxt):
        self.begun.release()
        assert self.done.wait(PATIENCE)
        return 'done'


class RawBus:
    """Publishes any message, and has a queue for replies.

    url: of the broker.  topic: of the server, and the name of its exchange.
    """

    def __init__(self, url, topic):
        self.url, self.topic = url, topic
        self.connection = kombu.Connection(broker.plain_url(url))
        self.replies = self._queue(f'reply_{uuid.uuid4().hex}')

    def _queue(self, name):
        return self.connection.SimpleQueue(
            kombu.Queue(name, durable=False, exclusive=True), no_ack=True)

    def close(self):
        self.connection.close()

    def call(self, method='tell', queue=None, **message):
        """Send a call; returns its _msg_id.

        queue: for replies, instead of its own.  message: other keys.
        """
        inner = {'method': method, 'args': {}, 'version': '1.0',
                 '_msg_id': uuid.uuid4().hex, '_unique_id': uuid.uuid4().hex,
                 '_reply_q': queue or self.replies.queue.name, **message}
        self.send(inner)
        return inner['_msg_id']

    def send(self, inner, **properties):
        """Send a message in its envelope."""
        self.publish(json.dumps({'oslo.version': '2.0',
                                 'oslo.message': json.dumps(inner)}),
                     **properties)

    def publish(self, body, content_type=JSON, content_encoding='utf-8',
                exchange=None, **properties):
        """Send bytes or a text unchanged."""
        self.connection.Producer().publish(
            body, exchange=exchange or self.topic, routing_key=self.topic,
            content_type=content_type, content_encoding=content_encoding,
            **properties)

    def reply(self, seconds=PATIENCE):
        """Receive the next ending reply: dict with result and failure."""
        while True:
            got = _received(self.replies, seconds)
            if got['ending']:
                return got

    @contextlib.contextmanager
    def replies_to(self, queue):
        """Declare a queue for a block; function that receives its replies."""
        with self._queue(queue) as late:
            yield functools.partial(_received, late)

    def answered(self, seconds):
        """Whether a reply arrives within a time."""
        try:
            return bool(self.reply(seconds))
        except self.replies.Empty:
            return False

    def failure(self):
        """Receive an error reply: (class, message)."""
        error = json.loads(self.reply()['failure'])
        return error['class'], error['message']


def _received(queue, seconds=PATIENCE):
    """Receive the next reply, or keepalive, to a queue: dict."""
    return json.loads(json.loads(
        queue.get(timeout=seconds).body)['oslo.message'])


def conf(topic, **options):
    """Options of a server with queues that expire after it."""
    return rules.a_conf(**{
        'DEFAULT__host': 'here', 'DEFAULT__scheduler_topic': topic,
        'DEFAULT__control_exchange': topic,
        'oslo_messaging_rabbit__rabbit_transient_queues_ttl': 60, **options})


@contextlib.contextmanager
def bus(url):
    """A RawBus for a block; its queues are deleted at the end."""
    bus = RawBus(url, f'raw-{uuid.uuid4().hex[:8]}')
    try:
        yield bus
    finally:
        for queue in (bus.topic, f'{bus.topic}.here'):
            bus.connection.default_channel.queue_delete(queue)
        bus.close()


@contextlib.contextmanager
def serving(bus, *others, url=None, **options):
    """The Endpoint of a server on a RawBus, for a block.

    others: further endpoints.  url: of the broker, if it is another.
    """
    endpoint, made = Endpoint(), conf(bus.topic, **options)
    with messages.transport(made, url or bus.url) as transport:
        endpoint.server = rpc.get_server(transport, made,
                                         [endpoint, *others])
        endpoint.server.start()
        try:
            yield endpoint
        finally:
            endpoint.server.stop()
            endpoint.done.set()
            endpoint.server.wait()
