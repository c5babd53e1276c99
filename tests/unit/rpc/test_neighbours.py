"""Other servers and clients of the process keep the library's driver.

A conductor that uses this package's client has a server of its own.
"""

import contextlib

import oslo_messaging as messaging
from oslo_messaging._drivers import amqpdriver
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
def conf():
    return rules.a_conf(DEFAULT__control_exchange='neighbours',
                        DEFAULT__transport_url='kombu+memory://',
                        DEFAULT__host='here')


@pytest.fixture(params=['of the library', 'ours'])
def transport(request, conf):
    """A transport of the library, and one for this package's clients."""
    made = (rpc.get_transport(conf) if request.param == 'ours'
            else messaging.get_rpc_transport(conf))
    yield made
    made.cleanup()


@contextlib.contextmanager
def serving(server):
    server.start()
    yield server
    server.stop()
    server.wait()


def another(transport):
    """A server of the library."""
    return messaging.get_rpc_server(
        transport, messaging.Target(topic='other', server='here'), [Echo()],
        executor='threading')


def test_server_of_this_package_has_its_listener(conf):
    with (messages.transport(conf, 'kombu+memory://') as transport,
          serving(rpc.get_server(transport, conf, [Echo()])) as server):
        assert isinstance(server.listener._listener, rpc_listener.Listener)


def test_server_of_the_library_has_its_listener(conf):
    transport = messaging.get_rpc_transport(conf)
    with serving(another(transport)) as server:
        found = server.listener._poll_style_listener
    assert type(found) is amqpdriver.RpcAMQPListener


def test_server_of_the_library_takes_more_than_the_prefetch_count(transport):
    client = messaging.get_rpc_client(
        transport, messaging.Target(topic='other', version='1.0'), timeout=20)
    with serving(another(transport)):
        assert [client.call({}, 'echo', arg=number)
                for number in range(20)] == list(range(20))
