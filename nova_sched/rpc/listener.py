"""What the service hears: messages as they come, read ahead of the threads.

oslo.messaging's listener acknowledges a request when it reads it, so it must
not read what no thread is free for; while it waits for a thread it sends no
heartbeat either, and the broker closes the connection.  Here requests are
read as they come, at most ``rabbit_qos_prefetch_count`` of each queue, and
acknowledged when a thread takes them.  What was not taken goes back to the
broker with the connection.  Further,

- a body that cannot be read (``decoding.py``), or that asks for an answer and
  has no address for it, costs one line; there the listener rejects what it
  has acknowledged, and has to connect again;
- a context so large that each line of the log would go through much of it is
  refused;
- names in a message that no keyword can be (``_context_self``) do not reach
  the library, and its context of odd values is made of none;
- an exchange that is gone and a binding that is gone with it, which a broker
  tells nobody, are looked for every LOOK seconds;
- it is known when the loop has turned last (``turned``).

This is of listeners that are made within ``ours`` alone. Other servers of the
process, such as those of a conductor that calls by our client, and all
clients hear as the library has it.
"""

import collections
import contextlib
import threading
import time

import amqp
from oslo_log import log as logging
from oslo_messaging._drivers import amqpdriver
from oslo_messaging._drivers import impl_rabbit

from nova_sched.objects import bounds
from nova_sched.rpc import decoding
from nova_sched.rpc import replies

LOG = logging.getLogger(__name__)

#: Seconds that an idle listener waits for a message at a time.
IDLE = 0.5
#: Seconds between two looks at exchanges and bindings, and that a broker has
#: for each answer to one.
LOOK, PATIENCE = 10, 5
#: How many messages are read at a time while no thread is free.
AHEAD = 100

#: Bytes of an id, and of the name of a queue, which AMQP limits to this.
NAME_BYTES = 255
#: Lists, objects and members of a context, which is copied as it is heard,
#: and gone through for each line of the log; a large catalogue of services
#: has a few hundred.
CONTEXT_PARTS = 10_000
#: Seconds; a caller that gives up later needs no keepalives.
LONGEST = 7 * 24 * 3600

#: Of this thread: whether what it makes, or hears, is ``ours``.
_of_thread = threading.local()

#: Of the broker: an exchange is gone, or a queue.
_GONE = (amqp.NotFound, amqp.ConsumerCancelled)


class Message(impl_rabbit.RabbitMessage):
    """A request of any content.

    unread: whether nothing can be made of it; the log says why.
    refused: None, or what its sender is to be told in place of an answer.
    """

    refused = None

    def __init__(self, raw):
        self._raw_message, self.unread = raw, False
        try:
            dict.__init__(self, decoding.read(raw, bounds.MESSAGE_PARTS))
        except Exception as error:
            self.unread = True
            LOG.warning('A message to %(queue)s is dropped: %(error)s', {
                'queue': self.routing_key,
                'error': f'{type(error).__name__}: {error}'[:400]})

    @property
    def routing_key(self):
        return self._raw_message.delivery_info.get('routing_key')

    @property
    def consumer(self):
        """The tag of the consumer that has got it."""
        return self._raw_message.delivery_info.get('consumer_tag')

    @property
    def context(self):
        """The values of the context in it: list."""
        return [value for name, value in self.items()
                if name.startswith('_context_')]

    def drop(self):
        """Have the broker forget it."""
        self._raw_message.reject()

    def refuse(self, reason):
        """Leave nothing of its content but where an answer goes."""
        kept = {name: self.get(name) for name in ('_msg_id', '_reply_q')}
        self.clear()
        self.update(kept)
        self.refused = reason


class Consumer(impl_rabbit.Consumer):
    """A consumer whose listener knows how often it has begun.

    A request that is too large is not decoded; what others hear may be of
    any size.
    """

    def consume(self, conn, tag):
        if isinstance(self.callback, Listener):
            self.callback.begun[str(tag)] += 1
        super().consume(conn, tag)

    def _callback(self, message):
        if not isinstance(self.callback, Listener):
            super()._callback(message)
            return
        size = len(message.body)
        if size > bounds.MESSAGE_BYTES:
            LOG.warning('A message to %(queue)s is dropped: %(size)d bytes, '
                        'and at most %(limit)d are read',
                        {'queue': self.queue_name, 'size': size,
                         'limit': bounds.MESSAGE_BYTES})
            message.channel.basic_reject(message.delivery_tag, requeue=False)
            return
        with ours():
            super()._callback(message)


class Listener(amqpdriver.AMQPListener):
    """Where requests come in, and wait until they are taken.

    turned: when the loop has turned last, by time.monotonic().
    letters: replies.Letters.
    """

    message_cls = replies.Request

    def __init__(self, driver, conn):
        super().__init__(driver, conn)
        self.begun, self.turned = collections.Counter(), time.monotonic()
        self.letters = replies.Letters(driver,
                                       self._obsolete_reply_queues.add)
        self._next_look = self.turned + LOOK

    @property
    def stopping(self):
        return self._shutdown.is_set()

    def __call__(self, message):
        if message.unread or not _answerable(message):
            message.drop()
            return
        # The library would take it for its own argument.
        message.pop('_context_self', None)
        message['_timeout'] = _seconds(message.get('_timeout'))
        if not _is_name(message.get('_unique_id')):
            message.pop('_unique_id', None)
        if _is_of_more_parts(message.context, CONTEXT_PARTS):
            message.refuse(f'context: more than {CONTEXT_PARTS} lists, '
                           f'objects and members')
        message.seen = self.begun[message.consumer]
        address = {name: message.get(name)
                   for name in ('_msg_id', '_reply_q')}
        try:
            self._hear(message)
        except Exception as error:
            message.update(address)
            message.refuse(f'message: cannot be taken in: {error!r:.200}')
            self._hear(message)

    def _hear(self, message):
        heard = len(self.incoming)
        super().__call__(message)
        if len(self.incoming) == heard:
            message.acknowledge()    # it has come before

    def take(self, request):
        """Acknowledge a request; False if it is not ours any more."""
        message = request.message
        if message.seen != self.begun[message.consumer]:
            return False
        try:
            message.acknowledge()
        except Exception as error:
            LOG.info('A request goes back to the broker, which has closed '
                     'the connection: %s', error)
            return False
        self.msg_id_cache.add(request.unique_id)
        return True

    def poll(self, timeout=None, batch_size=1, batch_timeout=None):
        """Wait for a request: list of one, or of none once it is stopped."""
        while not self.stopping:
            self._turn()
            if self.incoming:
                return [self.incoming.pop(0)]
            self._read(IDLE)
        self._shutoff.set()
        return []

    def look(self, taken):
        """Read what has come, while no thread is free.

        taken: function of a request, whether it can do without.
        """
        self._turn()
        for _ in range(AHEAD):
            # Each may take a while; that is no loop which has stopped.
            self.turned = time.monotonic()
            if not self._read(0.001):
                break
        self.incoming[:] = [request for request in self.incoming
                            if not taken(request)]

    def _read(self, seconds):
        """Whether there was something to read within a time."""
        try:
            self.conn.consume(timeout=seconds)
            return True
        except amqpdriver.rpc_common.Timeout:
            return False

    def _turn(self):
        self.turned = time.monotonic()
        if self.turned > self._next_look:
            self._next_look = self.turned + LOOK
            self._look_at_bindings()

    def _look_at_bindings(self):
        """Bind all queues again, on a channel of its own.

        Where nothing has changed that changes nothing.
        """
        rabbit = self.conn.connection
        if not rabbit.connection.connected:
            # Opening a channel would connect, and nobody consume; whoever
            # reads next connects, and consumes again.
            return
        try:
            self._bind_again(rabbit)
        except _GONE as error:
            LOG.warning('What requests come by is gone from the broker, and '
                        'is declared again: %s', error)
            # The next time that it reads it declares all and consumes.
            rabbit._new_tags = set(rabbit._consumers.values())
            rabbit._set_current_channel(None)
        except Exception as error:
            LOG.debug('Bindings cannot be looked at: %s', error)

    def _bind_again(self, rabbit):
        rabbit.set_transport_socket_timeout(PATIENCE)
        try:
            with contextlib.closing(rabbit.connection.channel()) as channel:
                for consumer in rabbit._consumers:
                    if consumer.queue is not None:
                        consumer.queue.queue_bind(channel=channel)
        finally:
            rabbit.set_transport_socket_timeout()


def _answerable(message):
    """Whether a message wants no answer, or says where it goes."""
    wanted = message.get('_msg_id')
    if not wanted or (_is_name(wanted) and _is_name(message.get('_reply_q'))):
        return True
    LOG.warning('A call to %(queue)s is dropped: its answer cannot be '
                'addressed, to _reply_q = %(reply)s for _msg_id = %(id)s',
                {'queue': message.routing_key, 'id': f'{wanted!r:.80}',
                 'reply': f'{message.get("_reply_q")!r:.80}'})
    return False


def _is_name(value):
    """Whether a value is a text that AMQP can have as a name."""
    try:
        return (isinstance(value, str)
                and 0 < len(value.encode()) <= NAME_BYTES)
    except UnicodeEncodeError:
        return False


def _is_of_more_parts(value, most):
    """Whether a value of JSON has more parts than that, at any depth."""
    found, waiting = 0, [value]
    while waiting and found <= most:
        each = waiting.pop()
        found += 1
        if isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
    return found > most


def _seconds(value):
    """A caller's time-out in seconds; None for what is none."""
    try:
        seconds = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if 0 < seconds < LONGEST else None


@contextlib.contextmanager
def ours():
    """For the time of a block, listeners that this thread makes are ours.

    So are messages that it hears.
    """
    _of_thread.is_ours = True
    try:
        yield
    finally:
        _of_thread.is_ours = False


def _either(here, elsewhere):
    """A function that makes the one within ``ours``, the other elsewhere."""
    return lambda *args: (here if getattr(_of_thread, 'is_ours', False)
                          else elsewhere)(*args)


impl_rabbit.RabbitMessage = _either(Message, impl_rabbit.RabbitMessage)
impl_rabbit.Consumer = Consumer
amqpdriver.RpcAMQPListener = _either(Listener, amqpdriver.RpcAMQPListener)
