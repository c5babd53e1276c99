"""The message bus: transports, servers and clients of this service."""

from oslo_concurrency import lockutils
import oslo_messaging as messaging
from oslo_messaging.rpc import dispatcher as rpc_dispatcher

from nova_sched import conf as config
from nova_sched import context as sched_context
from nova_sched import exception
from nova_sched.rpc import driver
from nova_sched.rpc import server as rpc_server

#: What the service is called, and the topic where Nova's services talk to
#: it, unless [DEFAULT] scheduler_topic says otherwise.
TOPIC = 'scheduler'


class ContextSerializer(messaging.NoOpSerializer):
    """A serializer of the request context alone, as a flat dict.

    Arguments stay plain JSON.  Objects become envelopes, and envelopes
    objects, at the door, where what is wrong with them can be told.
    """

    def serialize_context(self, context):
        return context.to_dict()

    def deserialize_context(self, context):
        # Making a context also makes it the thread's own, which is where the
        # log formatter finds it.
        return sched_context.RequestContext.from_dict(context)


def get_transport(conf):
    """Return the message transport of ``transport_url``.

    Raises ConfigurationError when its URL, its options or the files that
    they name cannot be used.
    """
    config.check_tls_files(conf)
    if lock_path := config.lock_path(conf):
        # oslo.messaging locks by the global configuration, which has none.
        lockutils.set_defaults(lock_path)
    try:
        return driver.transport(messaging.get_rpc_transport, conf,
                                config.transport_url(conf))
    except messaging.DriverLoadFailure as error:
        raise exception.ConfigurationError(
            '[oslo_messaging_rabbit]', 'as configured',
            str(error)) from error


def get_server(transport, conf, endpoints, taken_calls=None):
    """Return an RPC server for [DEFAULT] scheduler_topic; not started yet.

    It consumes the shared queue, this host's own, and the fanout queue, and
    works on ``executor_thread_pool_size`` messages at a time at most, each in
    a native thread, of which one computes (``turns.py``).  It answers
    ``oslo_rpc_server_ping`` as well where [DEFAULT] rpc_ping_enabled says so.

    endpoints: objects of which callers may call what CALLS of each names, or
        all that is public of one without.
    taken_calls: TakenCalls that the workers of a service share.
    """
    target = messaging.Target(topic=conf.scheduler_topic, server=conf.host)
    dispatcher = rpc_server.Dispatcher(
        list(endpoints), ContextSerializer(), rpc_server.OnlyCalls)
    if conf.rpc_ping_enabled:
        # oslo.messaging looks for the option in the global configuration.
        dispatcher.endpoints.append(rpc_dispatcher.PingEndpoint())
    return rpc_server.Server(transport, target, dispatcher, taken_calls)


def get_client(transport, target, **kwargs):
    """Return an RPC client that speaks as Nova's services do."""
    return messaging.get_rpc_client(
        transport, target, serializer=ContextSerializer(), **kwargs)
