"""A copy of what the live schedulers are asked.

The tap is a queue of its own, bound to their exchange under their topic: the
broker puts each request into it and into theirs. It is bounded, the oldest
requests going first, and ends with the process.

The exchange is looked for and never made: whoever makes it decides how long
it lives, and others that mean it otherwise are refused by the broker.
"""

import collections
import contextlib
import dataclasses
import json
import time
import uuid

from amqp import exceptions as amqp
import kombu
from kombu import exceptions as kombu_exceptions

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.rpc import brokers

#: What goes wrong with a broker.
_ERRORS = (amqp.AMQPError, kombu_exceptions.KombuError, OSError)

#: Requests that are taken ahead; the others wait at the broker.
_AHEAD = 16

#: Milliseconds for which a quorum queue outlives its consumer: it cannot be
#: bound to a connection, as others are.
_KEPT = 60_000

_CONTEXT = '_context_'


class Lost(exception.NovaSchedException):
    """There is no tap, or not any more; the text says why."""


@dataclasses.dataclass(frozen=True)
class Call:
    """A message to the scheduler.

    method: name, after that of its namespace, if it has one.  args: dict of
    plain JSON.  context: the caller's, as on the wire.  arrived: when it was
    taken, seconds since the epoch.
    """

    method: str
    args: dict = dataclasses.field(repr=False)
    context: dict = dataclasses.field(repr=False)
    arrived: float = dataclasses.field(default_factory=time.time)

    @classmethod
    def of(cls, body):
        """Read from a message's body: a dict, as JSON gives it.

        Raises ValueError when it is no message of an RPC caller.
        """
        try:
            inner = (json.loads(body['oslo.message'])
                     if 'oslo.version' in body else body)
            method, args = inner['method'], dict(inner.get('args') or {})
            context = {name.removeprefix(_CONTEXT): value
                       for name, value in inner.items()
                       if name.startswith(_CONTEXT)}
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError('it is no RPC message') from error
        if inner.get('namespace'):
            method = f'{inner["namespace"]}.{method}'
        return cls(method, args, context)

    @property
    def asks_for_hosts(self):
        """Whether it is a request of select_destinations."""
        return self.method == 'select_destinations'


def check(conf):
    """Raise ConfigurationError if transport_url names no RabbitMQ."""
    url = config.transport_url(conf)
    if not brokers.urls(conf, url):
        raise exception.ConfigurationError(
            '[DEFAULT] transport_url', config.masked(url),
            'only requests that pass through RabbitMQ can be listened to; '
            'name the broker of the live scheduler as '
            'rabbit://USER:PASSWORD@HOST:5672/')


class Tap:
    """The queue, and the connection to it; of one thread.

    conf: ConfigOpts.  Raises ConfigurationError when its broker is no
    RabbitMQ.

    queue: its name.
    """

    def __init__(self, conf):
        self._conf = conf
        self._connection = self._bound = None
        self._arrived = collections.deque()
        self.queue = f'{conf.scheduler_topic}_shadow_{uuid.uuid4().hex}'
        check(conf)
        self._url = config.transport_url(conf)
        self._hosts = len(brokers.urls(conf, self._url))

    def open(self):
        """Have a copy of each request put into the queue from now on.

        Drops what may be left in it, for it is too late to decide that.
        Raises Lost.
        """
        self.close()
        with self._losing():
            self._connection = brokers.connection(
                self._conf, self._url, self.queue)
            self._connection.ensure_connection(
                max_retries=self._hosts, interval_start=0, interval_step=0)
            self._bound = self._described()(self._connection.channel())
            self._bound.declare()
            self._bound.purge()
            self._connection.Consumer(
                [self._bound], channel=self._bound.channel,
                prefetch_count=_AHEAD,
                on_message=self._arrived.append).consume()

    def next(self, seconds):
        """The next message that comes in so many seconds: Call, or None.

        Raises Lost, and ValueError for a message that cannot be read.
        """
        with self._losing():
            if not self._arrived:
                with contextlib.suppress(TimeoutError):
                    self._connection.drain_events(timeout=seconds)
                self._connection.heartbeat_check()
            if not self._arrived:
                return None
            message = self._arrived.popleft()
            message.ack()
        try:
            return Call.of(message.payload)
        except kombu_exceptions.KombuError as error:
            raise ValueError(str(error)) from error

    def waiting(self):
        """How many requests the broker holds for it.  Raises Lost."""
        with self._losing():
            # An exchange that was made anew knows nothing of the queue.
            self._bound.declare()
            return self._bound.queue_declare(passive=True).message_count

    def close(self):
        """Remove the queue, as far as the broker can be reached."""
        connection, self._connection = self._connection, None
        self._arrived.clear()
        if connection is None:
            return
        with contextlib.suppress(*_ERRORS):
            # Without that it ends with the connection, or after _KEPT.
            if connection.connected and self._bound is not None:
                self._bound.delete()
        self._bound = None
        with contextlib.suppress(*_ERRORS):
            connection.release()

    def _described(self):
        """The kombu.Queue, of the kind that the cloud's queues are of."""
        kept = self._conf.oslo_messaging_rabbit.rabbit_quorum_queue
        arguments = {'x-max-length': self._conf.nova_sched.shadow_queue,
                     'x-overflow': 'drop-head'}
        if kept:
            arguments |= {'x-queue-type': 'quorum', 'x-expires': _KEPT}
        return kombu.Queue(
            self.queue, kombu.Exchange(
                self._conf.control_exchange, type='topic', passive=True),
            routing_key=self._conf.scheduler_topic, durable=kept,
            exclusive=not kept, auto_delete=not kept,
            queue_arguments=arguments)

    @contextlib.contextmanager
    def _losing(self):
        """A context in which trouble with the broker is a Lost."""
        try:
            yield
        except amqp.NotFound as error:
            if self._conf.control_exchange not in str(error):
                raise Lost(_words(error)) from error
            raise Lost(
                f'there is no exchange {self._conf.control_exchange}; start '
                f'the live scheduler, or set [DEFAULT] control_exchange as '
                f'it stands there') from error
        except _ERRORS as error:
            raise Lost(_words(error)) from error


def _words(error):
    return str(error) or type(error).__name__
