"""Other servers and clients of a process that imports ours stay as they are.

A conductor that calls by our client serves requests of its own.
"""

import oslo_messaging as messaging
from oslo_messaging._drivers import amqpdriver
from oslo_messaging._drivers import impl_rabbit
import pytest

from nova_sched import rpc
from nova_sched.rpc import listener as rpc_listener
from tests.builders import messages
from tests.builders import rules


class Echo:
    target = messaging.Target(version='1.0')

    def echo(self, ctxt, arg):
        return arg


@pytest.fixture
def transport():
    conf = rules.a_conf(DEFAULT__control_exchange='neighbours')
    with messages.transport(conf, 'kombu+memory://') as made:
        yield made


def listener_of(transport, server):
    """The listener of a server while it serves."""
    server.start()
    try:
        return server.listener._poll_style_listener
    finally:
        server.stop()
        server.wait()


def test_a_server_of_another_kind_hears_as_the_library_has_it(transport):
    found = listener_of(transport, messaging.get_rpc_server(
        transport, messaging.Target(topic='other', server='here'), [Echo()],
        executor='threading'))
    assert type(found).__module__ == amqpdriver.__name__
    assert isinstance(found, amqpdriver.AMQPListener)


def test_a_server_of_ours_hears_in_our_way(transport):
    server = rpc.get_server(
        transport, rules.a_conf(DEFAULT__host='here'), [Echo()])
    server.start()
    try:
        assert isinstance(server.listener._arrived, rpc_listener.Listener)
    finally:
        server.stop()
        server.wait()


def test_a_server_of_another_kind_takes_more_than_is_read_ahead(transport):
    server = messaging.get_rpc_server(
        transport, messaging.Target(topic='other', server='here'), [Echo()],
        executor='threading')
    client = messaging.get_rpc_client(
        transport, messaging.Target(topic='other', version='1.0'), timeout=20)
    server.start()
    try:
        assert [client.call({}, 'echo', arg=number)
                for number in range(20)] == list(range(20))
    finally:
        server.stop()
        server.wait()


def test_messages_of_others_are_the_library_s(monkeypatch):
    """Replies as well: of any size, and any number of parts."""
    raw = type('Raw', (), {
        'payload': {'oslo.version': '2.0', 'oslo.message': '{"result": 1}'}})
    found = impl_rabbit.RabbitMessage(raw)
    assert found == {'result': 1}
    assert not isinstance(found, rpc_listener.Message)
