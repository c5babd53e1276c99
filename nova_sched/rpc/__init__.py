"""The message bus: transports, servers and clients of this service."""

from oslo_concurrency import lockutils
import oslo_messaging as messaging
from oslo_messaging.rpc import dispatcher as rpc_dispatcher

from nova_sched import conf as config
from nova_sched import context as sched_context
from nova_sched import exception
from nova_sched.rpc import driver
from nova_sched.rpc import server as rpc_server

#: Name of the service, and default of [DEFAULT] scheduler_topic.
TOPIC = 'scheduler'


class ContextSerializer(messaging.NoOpSerializer):
    """A serializer of the request context only, as a flat dict.

    Arguments stay plain JSON.  The manager reads and writes objects, so that
    it can report errors in them to the caller.
    """

    def serialize_context(self, context):
        return context.to_dict()

    def deserialize_context(self, context):
        # The constructor also makes it the thread's context, for log lines.
        return sched_context.RequestContext.from_dict(context)


def get_transport(conf):
    """Return the message transport of ``transport_url``.

    Raises ConfigurationError for an unusable URL, option or file.
    """
    config.check_tls_files(conf)
    if lock_path := config.lock_path(conf):
        # oslo.messaging takes lock_path from the global configuration only.
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

    It consumes the shared queue, the queue of this host, and the fanout
    queue.  It processes at most ``executor_thread_pool_size`` messages at a
    time, each in a native thread; one thread at a time computes
    (``concurrency/turns.py``).  It answers ``oslo_rpc_server_ping`` if
    [DEFAULT] rpc_ping_enabled is true.

    endpoints: objects whose methods callers may call: the names in CALLS, or
        all public methods of an object without CALLS.
    taken_calls: TakenCalls that the workers of a service share.
    """
    target = messaging.Target(topic=conf.scheduler_topic, server=conf.host)
    dispatcher = rpc_server.Dispatcher(
        list(endpoints), ContextSerializer(), rpc_server.OnlyCalls)
    if conf.rpc_ping_enabled:
        # oslo.messaging reads the option from the global configuration only.
        dispatcher.endpoints.append(rpc_dispatcher.PingEndpoint())
    return rpc_server.Server(transport, target, dispatcher, taken_calls)


def get_client(transport, target, **kwargs):
    """Return an RPC client that sends contexts as Nova's services do."""
    return messaging.get_rpc_client(
        transport, target, serializer=ContextSerializer(), **kwargs)
