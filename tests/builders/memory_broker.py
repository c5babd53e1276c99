"""A message broker in this process that behaves like RabbitMQ."""

import json

from amqp import exceptions as amqp
import kombu
from kombu.transport import memory
from kombu.transport import virtual


class MemoryBroker:
    """A broker with an exchange of live schedulers, once it is declared.

    declared: queue name -> arguments of its declaration: dict.
    asked: names of the connections.
    down: exception that clients get; None while the broker is up.
    forgetful: whether it loses queues at once.
    """

    def __init__(self):
        self.declared, self.asked, self.queues = {}, [], {}
        self.state, self.down = virtual.BrokerState(), None
        self.forgetful = False

    def connection(self, conf, url, name):
        """Replaces nova_sched.rpc.brokers.connection."""
        self.asked.append(name)
        return kombu.Connection(
            'memory://', transport=self._transport(),
            transport_options={'polling_interval': 0.001})

    def declare(self, exchange='nova'):
        """Declare the exchange, as a live scheduler does at its start."""
        with self.connection(None, None, 'live') as connection:
            kombu.Exchange(exchange, type='topic')(
                connection.channel()).declare()

    def send(self, body, exchange='nova', topic='scheduler', **kwargs):
        """Publish as a conductor; body: a dict, or a text."""
        with self.connection(None, None, 'conductor') as connection:
            kombu.Producer(connection.channel()).publish(
                body if isinstance(body, str) else json.dumps(body),
                exchange=exchange, routing_key=topic, **{
                    'content_type': 'application/json',
                    'content_encoding': 'utf-8', **kwargs})

    def call(self, method='ping', **args):
        """Send a call in oslo.messaging's form."""
        self.send({'oslo.version': '2.0', 'oslo.message': json.dumps(
            {'method': method, 'args': args})})

    def _transport(self):
        return type('Transport', (_Transport,), {
            'broker': self, 'global_state': self.state,
            'Channel': type('Channel', (_Channel,), {
                'broker': self, 'queues': self.queues})})


class _Channel(memory.Channel):
    """A channel with RabbitMQ's errors for missing queues and exchanges."""

    broker = None

    def exchange_declare(self, exchange=None, *args, passive=False, **kwargs):
        if passive and exchange not in self.state.exchanges:
            raise amqp.NotFound(f"no exchange '{exchange}'")
        return super().exchange_declare(exchange, *args, passive=passive,
                                        **kwargs)

    def queue_declare(self, queue=None, passive=False, **kwargs):
        if passive and self.broker.forgetful:
            raise amqp.NotFound(f"no queue '{queue}'")
        if not passive:
            self.broker.declared[queue] = kwargs
        return super().queue_declare(queue, passive, **kwargs)

    def close(self):
        # Keep the queues, which belong to the broker.
        virtual.Channel.close(self)


class _Transport(memory.Transport):
    """A transport to a MemoryBroker, which fails while that is down."""

    broker = None

    def establish_connection(self):
        self._reach()
        return super().establish_connection()

    def drain_events(self, *args, **kwargs):
        self._reach()
        return super().drain_events(*args, **kwargs)

    def _reach(self):
        if self.broker.down is not None:
            raise self.broker.down
