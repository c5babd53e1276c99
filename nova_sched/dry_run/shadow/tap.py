"""A tap on the messages to the live schedulers.

The tap is a separate queue that is bound to the live schedulers' exchange and
topic, so that the broker copies each request into it. The queue is bounded,
drops its oldest requests first, and ends with the process.

The exchange is looked up, and never declared: the first declaration sets its
properties, and the broker refuses a later one that differs.
"""

import collections
import contextlib
import dataclasses
import uuid

from amqp import exceptions as amqp
import kombu
from kombu import exceptions as kombu_exceptions

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.options import spelling
from nova_sched.rpc import brokers
from nova_sched.rpc import decoding

#: Errors of a connection to a broker.
_ERRORS = (amqp.AMQPError, kombu_exceptions.KombuError, OSError)

#: Messages that are prefetched; the others wait at the broker.
_PREFETCH = 16

#: Maximum length of the tap's queue.  Beyond it, the broker drops the oldest
#: request.
MAX_WAITING = 1000

#: Milliseconds for which a quorum queue outlives its consumer: it cannot be
#: exclusive to a connection, as other queues are.
_EXPIRES = 60_000

_CONTEXT = '_context_'

#: The RPC method that the shadow scheduler replays.
SELECT_DESTINATIONS = 'select_destinations'


class ConnectionLost(exception.NovaSchedException):
    """The tap has no connection to the broker, for the reason in the text."""


@dataclasses.dataclass(frozen=True)
class Call:
    """An RPC call to the scheduler.

    method: name, with the namespace in front if there is one.
    args: dict of plain JSON.  context: the caller's, as on the wire.
    """

    method: str
    args: dict = dataclasses.field(repr=False)
    context: dict = dataclasses.field(repr=False)

    @classmethod
    def from_message(cls, message):
        """Return the Call in a message, the dict returned by decoding.read.

        Raises ValueError for a message that is no RPC call.
        """
        try:
            method, args = message['method'], dict(message.get('args') or {})
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError('it is no RPC message') from error
        if message.get('namespace'):
            method = f'{message["namespace"]}.{method}'
        return cls(method, args, {
            name.removeprefix(_CONTEXT): value
            for name, value in message.items() if name.startswith(_CONTEXT)})


@spelling.errors_as_in_files
def problems(conf):
    """Return the configuration errors that prevent a tap.

    A list of ConfigurationError.
    """
    url = config.transport_url(conf)
    return [] if brokers.urls(conf, url) else [exception.ConfigurationError(
        '[DEFAULT] transport_url', config.masked(url),
        'only requests that pass through RabbitMQ can be listened to; name '
        'the broker of the live scheduler as '
        'rabbit://USER:PASSWORD@HOST:5672/')]


class Tap:
    """The queue and the connection to it; for use by one thread.

    conf: ConfigOpts without ``problems``.

    queue: name of the queue.
    """

    def __init__(self, conf):
        self._conf = conf
        self._connection = self._bound = None
        self._messages = collections.deque()
        self.queue = f'{conf.scheduler_topic}_shadow_{uuid.uuid4().hex}'
        self._url = config.transport_url(conf)
        self._hosts = len(brokers.urls(conf, self._url))

    def open(self):
        """Bind the queue, so that it receives a copy of each request.

        Drops requests from before a lost connection, which are too old to
        compare. Raises ConnectionLost.
        """
        self.close()
        with self._translated_errors():
            self._connection = brokers.connection(
                self._conf, self._url, self.queue)
            self._connection.ensure_connection(
                max_retries=self._hosts, interval_start=0, interval_step=0)
            self._bound = self._kombu_queue()(self._connection.channel())
            self._bound.declare()
            self._bound.purge()
            self._bound.channel.basic_qos(0, _PREFETCH, False)
            # A kombu.Consumer would decompress a message without a limit.
            self._bound.consume(callback=self._messages.append)

    def next(self, seconds):
        """Return the next Call, or None if none arrives in this time.

        Raises ConnectionLost, and ValueError for a message that is no call.
        """
        with self._translated_errors():
            if not self._messages:
                with contextlib.suppress(TimeoutError):
                    self._connection.drain_events(timeout=seconds)
                self._connection.heartbeat_check()
            if not self._messages:
                return None
            message = decoding.received(self._messages.popleft(),
                                        self._bound.channel)
            message.ack()
        try:
            return Call.from_message(decoding.read(message))
        except ValueError:
            raise
        except Exception as error:
            # Decoders raise various errors for malformed input.
            raise ValueError(_text(error)) from error

    def queue_length(self):
        """Return the number of messages waiting at the broker.

        Raises ConnectionLost.
        """
        with self._translated_errors():
            # Restores the binding if the exchange was declared again.
            self._bound.declare()
            return self._bound.queue_declare(passive=True).message_count

    def close(self):
        """Delete the queue if the broker can be reached."""
        connection, self._connection = self._connection, None
        self._messages.clear()
        if connection is None:
            return
        with contextlib.suppress(*_ERRORS):
            # Otherwise the broker deletes it, at the latest after _EXPIRES.
            if connection.connected and self._bound is not None:
                self._bound.delete()
        self._bound = None
        with contextlib.suppress(*_ERRORS):
            connection.release()

    def _kombu_queue(self):
        """Return a kombu.Queue of the same type as the cloud's queues."""
        quorum = self._conf.oslo_messaging_rabbit.rabbit_quorum_queue
        arguments = {'x-max-length': MAX_WAITING,
                     'x-overflow': 'drop-head'}
        if quorum:
            arguments |= {'x-queue-type': 'quorum', 'x-expires': _EXPIRES}
        return kombu.Queue(
            self.queue, kombu.Exchange(
                self._conf.control_exchange, type='topic', passive=True),
            routing_key=self._conf.scheduler_topic, durable=quorum,
            exclusive=not quorum, auto_delete=not quorum,
            queue_arguments=arguments)

    @contextlib.contextmanager
    def _translated_errors(self):
        """Raise ConnectionLost in place of the broker's errors."""
        try:
            yield
        except amqp.NotFound as error:
            if self._conf.control_exchange not in str(error):
                raise ConnectionLost(_text(error)) from error
            raise ConnectionLost(
                f'there is no exchange {self._conf.control_exchange}; start '
                f'the live scheduler, or set [DEFAULT] control_exchange to '
                f'the value that it uses') from error
        except _ERRORS as error:
            raise ConnectionLost(_text(error)) from error


def _text(error):
    return str(error) or type(error).__name__
