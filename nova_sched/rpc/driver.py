"""The driver of oslo.messaging for RabbitMQ in this service.

It is RabbitDriver of oslo.messaging with the same options and these changes:

- an RPC server receives through ``Listener``, and ``RequestConsumer`` turns
  the broker's deliveries into the server's requests;
- a message with undecodable properties does not close the connection
  (``frames``);
- a deleted exchange and its bindings are declared again; a broker does not
  report the deletion (``Connection.bind_again``);
- user and password in ``transport_url`` may contain a /;
- it notices a request to stop within ``IDLE`` seconds instead of five;
- a lost connection is restored by one attempt at each broker of
  ``transport_url`` (``Connection.consume``).

oslo.messaging loads it by its entry point.  ``transport`` selects it for URLs
with ``rabbit`` or ``kombu``, so operators need not configure it.  Other users
of oslo.messaging in the process keep the library's driver.
"""

import contextlib
import copy
import functools
import time

import amqp
from kombu.utils.url import parse_url
from oslo_log import log as logging
import oslo_messaging as messaging
from oslo_messaging._drivers import base
from oslo_messaging._drivers import common
from oslo_messaging._drivers import impl_rabbit
from stevedore import exception as stevedore

from nova_sched import remote
from nova_sched.concurrency import turns
from nova_sched.objects import bounds
from nova_sched.rpc import brokers
from nova_sched.rpc import call_scope
from nova_sched.rpc import decoding
from nova_sched.rpc import frames
from nova_sched.rpc import message as messages
from nova_sched.rpc.listener import IDLE
from nova_sched.rpc.listener import Listener

LOG = logging.getLogger(__name__)

#: The entry point of ``Driver``.
NAME = 'nova_sched_rabbit'

#: Schemes of transport URLs for ``Driver``, with or without a +suffix.
SCHEMES = ('rabbit', 'kombu')

#: Timeout of each broker operation during a check of bindings, in seconds.
PATIENCE = 5

#: The broker's errors for a deleted exchange or queue.
_GONE = (amqp.NotFound, amqp.ConsumerCancelled)


def transport(make, conf, url):
    """Return the transport of a URL, with ``Driver`` for a URL in SCHEMES.

    make: function of oslo.messaging that makes a transport.
    url: text, as in [DEFAULT] transport_url.
    Raises messaging.DriverLoadFailure as ``make`` does.
    """
    parsed = messaging.TransportURL.parse(conf, url)
    scheme = parsed.transport
    if scheme.partition('+')[0] in SCHEMES:
        parsed.transport = f'{NAME}+{scheme}'
    try:
        return make(conf, url=parsed)
    except messaging.DriverLoadFailure as error:
        reason = error.ex
        if isinstance(reason, stevedore.NoMatches):
            reason = (f'there is no entry point {NAME} in '
                      'oslo.messaging.drivers; install nova_sched again')
        raise messaging.DriverLoadFailure(scheme, reason) from error


class Driver(impl_rabbit.RabbitDriver):
    """RabbitDriver with the Connection of this service.

    url: TransportURL of ``transport``: its scheme has the prefix NAME.
    """

    def __init__(self, conf, url, *args, **kwargs):
        url = copy.copy(url)
        url.transport = url.transport.removeprefix(f'{NAME}+')
        super().__init__(conf, url, *args, **kwargs)
        # The pool of this driver has made no connection yet.
        self._connection_pool.connection_cls = Connection

    def listen(self, target, batch_size, batch_timeout):
        """Return a listener for an RPC server."""
        conn = self._get_connection(common.PURPOSE_LISTEN)
        listener = Listener(self, conn)
        declare_consumers(conn, self._get_exchange(target), target, listener)
        return base.PollStyleListenerAdapter(listener, batch_size,
                                             batch_timeout)


def declare_consumers(conn, exchange, target, callback):
    """Declare the consumers of an RPC server.

    conn: Connection.  exchange: name of the target's exchange.
    target: messaging.Target; with ``fanout`` only the fanout queue is
        declared.
    """
    topics = () if target.fanout else (
        target.topic, f'{target.topic}.{target.server}')
    for topic in topics:
        conn.declare_topic_consumer(
            exchange_name=exchange, topic=topic, callback=callback)
    conn.declare_fanout_consumer(target.topic, callback)


class Connection(impl_rabbit.Connection):
    """A connection to RabbitMQ, or to another transport of kombu.

    contact: Contact with the broker.
    gone_count: number of times that a queue or exchange was found deleted.
    gone_at: time of the last, seconds since the epoch, or None.
    is_gone: whether it is still missing.
    """

    #: The amqp.Connection of its channel; None for other transports.
    _amqp_connection = None
    gone_count, gone_at, is_gone = 0, None, False
    #: Called after each failed attempt to reach a broker.
    on_failed_attempt = staticmethod(lambda: None)

    def __init__(self, *args, **kwargs):
        self.contact, self._unreachable = remote.Contact(), set()
        super().__init__(*args, **kwargs)
        # Interval of the check for a request to stop.
        self._poll_timeout = min(self._poll_timeout, IDLE)

    def _transform_transport_url(self, url, host, default_username='',
                                 default_password='', default_hostname=''):
        # The library does not quote a / in user or password, which kombu
        # takes for the end of the host.
        return brokers.kombu_url(url, messaging.TransportHost(
            host.hostname or default_hostname, host.port,
            host.username or default_username,
            host.password or default_password))

    def _set_current_channel(self, new_channel):
        if new_channel is not None:
            self._amqp_connection, lost = (
                frames.take_over(new_channel), self._amqp_connection)
            if lost not in (None, self._amqp_connection):
                # kombu does not close the socket of a connection that was
                # lost between reads.
                lost.collect()
            # The library sets the same channel repeatedly: wrap it once.
            if self._amqp_connection is not None and not isinstance(
                    new_channel.wait, functools.partial):
                new_channel.wait = functools.partial(_wait, new_channel.wait)
        super()._set_current_channel(new_channel)

    def consume(self, timeout=None):
        """Consume for some seconds; raises Timeout as the library does.

        Restores a lost connection first, with one attempt at each broker.
        With a short timeout the library tries one broker, then advances by
        three: among three brokers it would try the same one for ever.
        """
        if timeout is not None and not self.connection.connected:
            with self._connection_lock:
                self._connect_again()
        super().consume(timeout)

    def _connect_again(self):
        """Connect to the next broker that answers.

        Raises Timeout after ``kombu_reconnect_delay`` if none does.
        """
        count = max(1, len(self.connection.alt))
        try:
            self.connection.ensure_connection(
                self._log_unreachable, max_retries=count - 1,
                interval_start=0, interval_step=0, interval_max=0,
                reraise_as_library_errors=False)
        except self.connection.connection_errors as error:
            self._log_unreachable(error)
            self.connection.maybe_switch_next()
            time.sleep(self.kombu_reconnect_delay)
            raise common.Timeout() from error
        self._unreachable.clear()
        self._declare_again_at_next_read()
        self.set_transport_socket_timeout()
        LOG.info('Connected again to the message broker at %s', self._broker)

    def _declare_again_at_next_read(self):
        """Let the next read declare all queues, and consume from them."""
        self._set_current_channel(None)
        self._new_tags = set(self._consumers.values())

    @property
    def _broker(self):
        """Host and port of the broker in use, or being tried."""
        return f'{self.connection.hostname}:{self.connection.port}'

    def _log_unreachable(self, error, interval=0):
        """Log an unreachable broker, once until some broker is reached."""
        self._note(error)
        self.on_failed_attempt()
        broker = self._broker
        if broker in self._unreachable:
            return
        self._unreachable.add(broker)
        known = [f'{parts["hostname"]}:{parts["port"]}'
                 for parts in map(parse_url, self.connection.alt)]
        LOG.warning(
            'The message broker at %(broker)s is unreachable: %(error)s. '
            'Trying %(next)s next', {
                'broker': broker, 'error': error, 'next': known[
                    (known.index(broker) + 1) % len(known)]
                if broker in known else 'it again'})

    def ensure(self, method, retry=None, recoverable_error_callback=None,
               **kwargs):
        """Call the library's method; record the errors it recovers from."""
        def note(error):
            self._note(error)
            # Do not delay this work: the reply may wait long for the broker.
            call_scope.run_after_reply()
            if recoverable_error_callback is not None:
                recoverable_error_callback(error)
        return super().ensure(method, retry, note, **kwargs)

    def _note(self, error):
        """Record an error of the broker."""
        if isinstance(error, _GONE):
            self.gone_count += 1
            self.gone_at, self.is_gone = time.time(), True
        # An error without text only starts a reconnection of the library.
        elif (getattr(error, 'reply_text', error)
              or not self.contact.failures):
            self.contact.failed(error)

    def note_alive(self):
        """Record, after a read, that the broker answers."""
        if self.connection.connected:
            self.contact.answered()
            self.is_gone = self.is_gone and bool(self._new_tags)

    def declare_consumer(self, consumer):
        """Declare a consumer; a RequestConsumer for a Listener."""
        if isinstance(consumer.callback, Listener):
            consumer = RequestConsumer(consumer)
        return super().declare_consumer(consumer)

    def bind_again(self):
        """Bind all queues again, on a separate channel.

        Existing bindings do not change.
        """
        if not self.connection.connected:
            # The next read reconnects and consumes; a channel opened here
            # would connect without consuming.
            return
        try:
            self._bind_all()
        except _GONE as error:
            LOG.warning('The request queue or its exchange was deleted at the '
                        'broker; declaring it again: %s', error)
            self._note(error)
            self._declare_again_at_next_read()
        except Exception as error:
            LOG.debug('Cannot check the bindings: %s', error)

    def _bind_all(self):
        self.set_transport_socket_timeout(PATIENCE)
        try:
            with contextlib.closing(self.connection.channel()) as channel:
                for consumer in self._consumers:
                    if consumer.queue is not None:
                        consumer.queue.queue_bind(channel=channel)
        finally:
            self.set_transport_socket_timeout()


def _wait(wait, *args, **kwargs):
    """Wait for the broker's response on a channel, e.g. a publisher confirm.

    A call that waits here has usually sent its reply: it runs its work after
    the reply first, and releases its turn until its end.
    """
    call_scope.run_after_reply()
    turns.end_turn()
    return wait(*args, **kwargs)


class RequestConsumer(impl_rabbit.Consumer):
    """A consumer that turns deliveries of the broker into Messages.

    Drops and logs an unreadable message.  The library would reject it after
    the acknowledgement, and reconnect.

    consumer: the library's consumer of a Listener, not declared yet.
    """

    def __init__(self, consumer):
        vars(self).update(vars(consumer))

    def consume(self, conn, tag):
        self.callback.subscriptions[str(tag)] += 1
        super().consume(conn, tag)

    def _callback(self, delivered):
        """Pass a delivery to the Listener, or drop it."""
        self._remember_offset(delivered)
        raw = decoding.received(delivered, self.queue.channel)
        message = self._message(raw)
        if message is None:
            raw.reject()
            return
        try:
            self.callback(message)
        except Exception as error:
            LOG.warning('A message to %(queue)s is dropped: %(error)s',
                        {'queue': self.queue_name, 'error': error},
                        exc_info=True)
            raw.reject()

    def _message(self, raw):
        """Return the Message in a kombu message; None if it is unreadable."""
        size = len(raw.body)
        if size > bounds.MESSAGE_BYTES:
            LOG.warning('A message to %(queue)s is dropped: %(size)d bytes; '
                        'the limit is %(limit)d',
                        {'queue': self.queue_name, 'size': size,
                         'limit': bounds.MESSAGE_BYTES})
            return None
        try:
            return messages.Message(raw)
        except Exception as error:
            LOG.warning('A message to %(queue)s is dropped: %(error)s', {
                'queue': raw.delivery_info.get('routing_key'),
                'error': f'{type(error).__name__}: {error}'[:400]})
            return None

    def _remember_offset(self, delivered):
        """Remember the position in a stream, as the library does."""
        if self.rabbit_stream_fanout:
            offset = (delivered.headers or {}).get('x-stream-offset')
            if offset is not None:
                self.next_stream_offset = offset + 1
