"""Messages in and out: the transport, and what crosses it."""

import oslo_messaging as messaging

from nova_sched import conf as config
from nova_sched import context as sched_context
from nova_sched.rpc import server as rpc_server

#: What the service is called, and the topic where Nova's services talk to
#: it, unless [DEFAULT] scheduler_topic says otherwise.
TOPIC = 'scheduler'


class ContextSerializer(messaging.NoOpSerializer):
    """The request context as a flat dict; arguments stay plain JSON.

    Objects become envelopes, and envelopes objects, at the door, where what
    is wrong with them can be told.
    """

    def serialize_context(self, context):
        return context.to_dict()

    def deserialize_context(self, context):
        # Making a context also makes it the thread's own, which is where the
        # log formatter finds it.
        return sched_context.RequestContext.from_dict(context)


def get_transport(conf):
    """The message transport of ``transport_url``.

    Raises ConfigurationError when the URL cannot be used.
    """
    return messaging.get_rpc_transport(conf, url=config.transport_url(conf))


def get_server(transport, conf, endpoints):
    """An RPC server for [DEFAULT] scheduler_topic; not started yet.

    One native thread a message, ``executor_thread_pool_size`` at most.
    Consumes the shared queue, this host's own, and the fanout queue.
    """
    target = messaging.Target(topic=conf.scheduler_topic, server=conf.host)
    return messaging.get_rpc_server(
        transport, target, endpoints,
        serializer=ContextSerializer(), server_cls=rpc_server.Server,
        access_policy=messaging.DefaultRPCAccessPolicy)


def get_client(transport, target, **kwargs):
    """An RPC client that speaks as Nova's services do."""
    return messaging.get_rpc_client(
        transport, target, serializer=ContextSerializer(), **kwargs)
