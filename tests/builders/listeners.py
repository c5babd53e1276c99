"""A listener of requests without a broker, and messages that it hears."""

import bz2
import json

from kombu import message as kombu_message

from nova_sched.rpc import listener as rpc_listener


class Driver:
    prefetch_size = 16
    missing_destination_retry_timeout = 60


class Channel:
    no_ack_consumers = frozenset()

    def __init__(self):
        self.acknowledged, self.rejected, self.broken = [], [], False

    def basic_ack(self, tag, **_):
        if self.broken:
            raise ConnectionResetError('no broker')
        self.acknowledged.append(tag)

    def basic_reject(self, tag, **_):
        self.rejected.append(tag)


def a_listener():
    return rpc_listener.Listener(Driver(), None)


def arrives(listener, content, packed=False):
    """Have a listener hear a message: the kombu message."""
    body = json.dumps({'oslo.version': '2.0', 'oslo.message': content})
    headers = {}
    if packed:
        body = bz2.compress(body.encode())
        headers = {'compression': 'application/x-bz2'}
    raw = kombu_message.Message(
        body=body, delivery_tag=1, content_type='application/json',
        content_encoding='utf-8', headers=headers, channel=Channel(),
        delivery_info={'routing_key': 'scheduler', 'consumer_tag': '1'})
    listener(rpc_listener.Message(raw))
    return raw
