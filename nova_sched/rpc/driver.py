"""The driver of oslo.messaging that this service reaches RabbitMQ by.

It is RabbitDriver of oslo.messaging with the same options, except that

- an RPC server on it hears by ``Listener``, whose requests are those that
  ``RequestConsumer`` makes of what the broker delivers;
- a message whose properties cannot be decoded does not end the connection
  (``frames``);
- an exchange that is gone, and a binding that is gone with it, which a broker
  tells nobody, are declared again (``Connection.bind_again``);
- a user or a password of ``transport_url`` may have a / in it;
- it takes ``IDLE`` seconds to stop waiting for replies, not five;
- a lost connection that is read is made again by a try at each broker of
  ``transport_url`` (``Connection.consume``).

oslo.messaging loads it by its entry point.  ``transport`` chooses it where a
URL says ``rabbit`` or ``kombu``, so operators need not know of it; what else
the process does with oslo.messaging goes by the library's own driver.
"""

import contextlib
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

#: Of a consumer that gets what no other consumer of a queue has room for.
_LAST = {'x-priority': -1}

#: The entry point of ``Driver``.
NAME = 'nova_sched_rabbit'

#: Schemes of transport URLs, or what a + follows in them, that it is for.
SCHEMES = ('rabbit', 'kombu')

#: Seconds that a broker has for each answer to a look at its bindings.
PATIENCE = 5

#: Of the broker: an exchange is gone, or a queue.
_GONE = (amqp.NotFound, amqp.ConsumerCancelled)


def transport(make, conf, url):
    """Return the transport of a URL, by ``Driver`` if it is for that.

    make: function of oslo.messaging that makes a transport.
    url: text, as operators write it.
    Raises messaging.DriverLoadFailure as ``make`` does.
    """
    parsed = messaging.TransportURL.parse(conf, url)
    written = parsed.transport
    if written.partition('+')[0] in SCHEMES:
        parsed.transport = f'{NAME}+{written}'
    try:
        return make(conf, url=parsed)
    except messaging.DriverLoadFailure as error:
        reason = error.ex
        if isinstance(reason, stevedore.NoMatches):
            reason = (f'there is no entry point {NAME} in '
                      'oslo.messaging.drivers; install nova_sched again')
        raise messaging.DriverLoadFailure(written, reason) from error


class Driver(impl_rabbit.RabbitDriver):
    """RabbitMQ for this service.

    url: TransportURL of ``transport``, whose scheme is written behind NAME.
    """

    def __init__(self, conf, url, *args, **kwargs):
        url = messaging.TransportURL(
            conf, url.transport.removeprefix(f'{NAME}+'), url.virtual_host,
            url.hosts, url.query)
        super().__init__(conf, url, *args, **kwargs)
        # Of its own pool, which has made none yet.
        self._connection_pool.connection_cls = Connection

    def listen(self, target, batch_size, batch_timeout):
        """Return a listener for an RPC server, as of any driver."""
        conn = self._get_connection(common.PURPOSE_LISTEN)
        listener = Listener(self, conn)
        declare_consumers(conn, self._get_exchange(target), target, listener)
        return base.PollStyleListenerAdapter(listener, batch_size,
                                             batch_timeout)


def declare_consumers(conn, exchange, target, callback):
    """Declare what an RPC server consumes.

    conn: Connection.  exchange: name of the target's exchange.
    target: messaging.Target; with ``fanout``, nothing but its fanout queue is
        declared.
    """
    topics = () if target.fanout else (
        target.topic, f'{target.topic}.{target.server}')
    for topic in topics:
        conn.declare_topic_consumer(
            exchange_name=exchange, topic=topic, callback=callback)
    conn.declare_fanout_consumer(target.topic, callback)


class Connection(impl_rabbit.Connection):
    """A connection to RabbitMQ, or to what kombu has in place of it.

    contact: Contact with the broker.
    gone: how often what it consumes was gone from the broker; gone_at: when
        that was last, seconds since the epoch; is_gone: whether it still is.
    """

    #: The amqp.Connection that its channel is of, if it is one of AMQP.
    _reached_by = None
    gone, gone_at, is_gone = 0, None, False
    #: Called after each try at a broker that fails.
    tried = staticmethod(lambda: None)

    def __init__(self, *args, **kwargs):
        self.contact, self._unreachable = remote.Contact(), set()
        super().__init__(*args, **kwargs)
        # So often it looks whether it is to stop.
        self._poll_timeout = min(self._poll_timeout, IDLE)

    def _transform_transport_url(self, url, host, default_username='',
                                 default_password='', default_hostname=''):
        # The library leaves a / in a user or a password as it is, which ends
        # the name of the host for kombu.
        return brokers.kombu_url(url, messaging.TransportHost(
            host.hostname or default_hostname, host.port,
            host.username or default_username,
            host.password or default_password))

    def _set_current_channel(self, new_channel):
        if new_channel is not None:
            self._reached_by, lost = (
                frames.take_over(new_channel), self._reached_by)
            if lost not in (None, self._reached_by):
                # kombu forgets one that is lost while nobody reads, whose
                # socket would stay open.
                lost.collect()
            # The library sets the same one before and after all that it does.
            if self._reached_by is not None and not isinstance(
                    new_channel.wait, functools.partial):
                new_channel.wait = functools.partial(_wait, new_channel.wait)
        super()._set_current_channel(new_channel)

    def consume(self, timeout=None):
        """Consume for some seconds; raises Timeout as the library does.

        A lost connection is made again first, by a try at each broker.
        Within a short time-out the library tries one broker and moves on by
        three: of three brokers it would try the same one for ever.
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
        # The next read declares all, and consumes.
        self._set_current_channel(None)
        self._new_tags = set(self._consumers.values())
        self.set_transport_socket_timeout()
        LOG.info('Connected again to the message broker at %s', self._broker)

    @property
    def _broker(self):
        """Host and port of the broker that is connected to, or tried."""
        return f'{self.connection.hostname}:{self.connection.port}'

    def _log_unreachable(self, error, interval=0):
        """Log that a broker is unreachable: once, until one is reached."""
        self._note(error)
        self.tried()
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
        """As of the library; notes what it recovers from."""
        def note(error):
            self._note(error)
            # It may be long until the broker is back.
            call_scope.run_after_reply()
            if recoverable_error_callback is not None:
                recoverable_error_callback(error)
        return super().ensure(method, retry, note, **kwargs)

    def _note(self, error):
        """Note what went wrong with the broker."""
        if isinstance(error, _GONE):
            self.gone += 1
            self.gone_at, self.is_gone = time.time(), True
        # One without words is how the library begins to connect again.
        elif (getattr(error, 'reply_text', error)
              or not self.contact.failures):
            self.contact.failed(error)

    def note_alive(self):
        """Note, after a look for messages, that the broker is there."""
        if self.connection.connected:
            self.contact.answered()
            self.is_gone = self.is_gone and bool(self._new_tags)

    def declare_consumer(self, consumer):
        """Declare a consumer, ours if what it hears is for a Listener."""
        if isinstance(consumer.callback, Listener):
            consumer = RequestConsumer(consumer)
        return super().declare_consumer(consumer)

    def read_ahead(self, count):
        """Have room for so many more messages of the shared queue.

        0: for no more than ever.  What has come by then stays.
        """
        usual = self.rabbit_qos_prefetch_count
        if not (usual and self._consumers and self.connection.connected):
            return
        try:
            next(iter(self._consumers)).read_ahead(count, usual)
        except Exception as error:
            LOG.debug('No more is read ahead: %s', error)

    def bind_again(self):
        """Bind all queues again, on a channel of its own.

        Where nothing has changed that changes nothing.
        """
        if not self.connection.connected:
            # Opening a channel would connect, and nobody consume; whoever
            # reads next connects, and consumes again.
            return
        try:
            self._bind_all()
        except _GONE as error:
            LOG.warning('What requests come by is gone from the broker, and '
                        'is declared again: %s', error)
            self._note(error)
            # The next time that it reads it declares all and consumes.
            self._new_tags = set(self._consumers.values())
            self._set_current_channel(None)
        except Exception as error:
            LOG.debug('Bindings cannot be looked at: %s', error)

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
    """Wait for the broker's answer on a channel.

    A call waits for it when its reply is sent, and runs meanwhile what is left
    to do.  One that sends something else before goes on beside the others.
    """
    call_scope.run_after_reply()
    turns.end_turn()
    return wait(*args, **kwargs)


class RequestConsumer(impl_rabbit.Consumer):
    """A consumer of requests: what the broker delivers becomes a Message.

    A message that cannot be read costs a line of the log; the library would
    reject it after it has acknowledged it, and connect again.

    consumer: the library's, of a Listener, not declared yet.
    """

    #: The channel that it consumes on a second time, with more room.
    _ahead_on = None

    def __init__(self, consumer):
        vars(self).update(vars(consumer))

    def consume(self, conn, tag):
        self.callback.begun[str(tag)] += 1
        super().consume(conn, tag)

    def read_ahead(self, count, usual):
        """Consume a second time, with room for so many more messages.

        count: 0 ends it.  usual: how many others of a channel have room for.
        """
        channel, tag = self.queue.channel, f'{self.queue_name} ahead'
        if (self._ahead_on is channel) == bool(count):
            return
        if not count:
            self._ahead_on = None
            self.queue.cancel(tag)
            return
        # What is said of a channel holds for those that consume after it.
        channel.basic_qos(0, count, False)
        self.callback.begun[tag] += 1
        channel.basic_consume(
            queue=self.queue_name, callback=self._callback, consumer_tag=tag,
            arguments=_LAST)
        channel.basic_qos(0, usual, False)
        self._ahead_on = channel

    def _callback(self, delivered):
        """Hand what was delivered to the Listener, or drop it."""
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
        """Return the Message that a kombu message is; None if it is none."""
        size = len(raw.body)
        if size > bounds.MESSAGE_BYTES:
            LOG.warning('A message to %(queue)s is dropped: %(size)d bytes, '
                        'and at most %(limit)d are read',
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
        """Note where to go on in a stream, as the library does."""
        if self.rabbit_stream_fanout:
            offset = (delivered.headers or {}).get('x-stream-offset')
            if offset is not None:
                self.next_stream_offset = offset + 1
