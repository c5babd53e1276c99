"""A listener of requests without a broker, and messages for it."""

import bz2
import json
import types

import amqp
from kombu import message as kombu_message
from kombu.transport import pyamqp
from oslo_messaging._drivers import impl_rabbit

from nova_sched import remote
from nova_sched.rpc import driver
from nova_sched.rpc import listener as rpc_listener


class Driver:
    prefetch_size = 16
    missing_destination_retry_timeout = 60


class Channel:
    """A channel without a broker; broken: whether acknowledgements fail."""

    no_ack_consumers = frozenset()

    def __init__(self):
        self.acknowledged, self.rejected, self.broken = [], [], False

    def message_to_python(self, delivered):
        return pyamqp.Message(delivered, channel=self)

    def basic_ack(self, tag, **_):
        if self.broken:
            raise ConnectionResetError('no broker')
        self.acknowledged.append(tag)

    def basic_reject(self, tag, requeue):
        assert not requeue
        self.rejected.append(tag)


def a_listener():
    """A listener without a connection."""
    return rpc_listener.Listener(
        Driver(), types.SimpleNamespace(contact=remote.Contact()))


def a_consumer(listener, **kwargs):
    """The consumer of a listener; kwargs: of oslo.messaging's Consumer."""
    made = driver.RequestConsumer(impl_rabbit.Consumer(**{
        'exchange_name': 'nova', 'queue_name': 'scheduler',
        'routing_key': 'scheduler', 'type': 'topic', 'durable': False,
        'exchange_auto_delete': False, 'queue_auto_delete': False,
        'callback': listener, **kwargs}))
    made.queue = type('Queue', (), {'channel': Channel()})
    return made


def delivered(body, headers=None, **properties):
    """A message as a channel of the amqp library delivers it."""
    message = amqp.Message(body, **{
        'content_type': 'application/json', 'content_encoding': 'utf-8',
        'application_headers': headers or {}, **properties})
    message.delivery_info = {'routing_key': 'scheduler', 'consumer_tag': '1',
                             'delivery_tag': 1}
    return message


def arrives(listener, content, packed=False):
    """Deliver a message to a listener; return its Channel.

    content: JSON within the envelope.
    """
    body = json.dumps({'oslo.version': '2.0', 'oslo.message': content})
    headers = {}
    if packed:
        body = bz2.compress(body.encode())
        headers = {'compression': 'application/x-bz2'}
    consumer = a_consumer(listener)
    consumer._callback(delivered(body, headers))
    return consumer.queue.channel


def of_memory(body, **kwargs):
    """A message as an in-memory transport delivers it."""
    return kombu_message.Message(
        body, delivery_tag=1, content_type='application/json', **kwargs)
