"""Servers and clients in one process, over fake:// or kombu+memory://."""

import contextlib

import oslo_messaging as messaging
from oslo_messaging.rpc import dispatcher
from oslo_messaging.rpc import server

from nova_sched import rpc
from tests.builders import waiting


class Recorder(dispatcher.RPCDispatcher):
    """Records each message before its endpoint is called."""

    def __init__(self, *endpoints):
        super().__init__(list(endpoints), rpc.ContextSerializer(),
                         messaging.DefaultRPCAccessPolicy)
        self.messages = []

    def dispatch(self, incoming):
        self.messages.append(incoming.message)
        return super().dispatch(incoming)


@contextlib.contextmanager
def transport(conf, url='fake://'):
    """The transport of a configuration, for a block."""
    conf.set_override('transport_url', url)
    made = rpc.get_transport(conf)
    yield made
    made.cleanup()


@contextlib.contextmanager
def serving(made, conf, *endpoints):
    """Run the service's own server with these endpoints for a block."""
    running = rpc.get_server(made, conf, list(endpoints))
    running.start()
    yield
    running.stop()
    running.wait()


@contextlib.contextmanager
def recording(made, conf, *endpoints):
    """Run a server as ``serving``; yield the list of its messages."""
    recorder = Recorder(*endpoints)
    running = server.RPCServer(
        made, messaging.Target(topic=rpc.TOPIC, server=conf.host), recorder)
    running.start()
    yield recorder.messages
    running.stop()
    running.wait()


def until_over(server):
    """Wait until a server works on no call.

    A call ends later than its answer is sent.
    """
    waiting.until(lambda: not server._work_executor._working,
                  'all calls are over')


def raw_client(made, version='4.0', **target):
    """A client that sends any method and arguments."""
    return rpc.get_client(
        made, messaging.Target(topic=rpc.TOPIC, version=version, **target))
