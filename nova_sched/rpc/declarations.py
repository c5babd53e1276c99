"""The exchanges and queues of an RPC server, compared with a broker's.

oslo.messaging makes the declarations from its options, as for a server.  Only
existing exchanges and queues are declared, which changes nothing: the broker
compares the declaration, and refuses one that differs.
"""

import dataclasses

import amqp
import oslo_messaging as messaging
from oslo_messaging._drivers import common

from nova_sched.rpc import driver

_OPTIONS = 'oslo_messaging_rabbit'


@dataclasses.dataclass(frozen=True)
class Declaration:
    """An exchange or a queue.

    kind: exchange or queue.  arguments: dict, as amqp has them.
    """

    kind: str
    name: str
    arguments: dict

    def consumers(self, connection):
        """Return the number of a queue's consumers; None without the queue.

        connection: of amqp, open.  Raises OSError and amqp.AMQPError.
        """
        try:
            return self._declare(connection, passive=True).consumer_count
        except amqp.NotFound:
            return None

    def refusal(self, connection):
        """Return the broker's reason to refuse the declaration, or None.

        See ``consumers`` for arguments and errors.
        """
        if not self.name:
            return None    # the default exchange
        try:
            # A passive declaration creates nothing.
            self._declare(connection, passive=True)
            self._declare(connection)
        except amqp.NotFound:
            return None
        except amqp.PreconditionFailed as error:
            return error.reply_text
        return None

    def _declare(self, connection, passive=False):
        # A refusal closes the channel.
        declare = getattr(connection.channel(), f'{self.kind}_declare')
        return declare(self.name, passive=passive, **self.arguments)


@dataclasses.dataclass(frozen=True)
class Refusal:
    """A Declaration that the broker refuses.

    reason: the broker's text.  bearable: whether oslo.messaging continues with
    the existing exchange, and with queues that are not durable.
    """

    declaration: Declaration
    reason: str
    bearable: bool


def of_server(conf, url):
    """Return the declarations of each consumer of this service's server: list.

    A consumer has one or two attempts.  oslo.messaging makes the second if the
    broker refuses the durable exchange of the first.  An attempt is a pair of
    Declarations: exchange and queue.
    url: text, for RabbitMQ.
    """
    server = _Server(conf, messaging.TransportURL.parse(conf, url))
    driver.declare_consumers(
        server, conf.control_exchange, messaging.Target(
            topic=conf.scheduler_topic, server=conf.host), None)
    return [_attempts(consumer) for consumer in server.consumers]


def refusals(connection, consumed):
    """Return the declarations that the broker refuses: list of Refusal.

    connection: of amqp, open.  consumed: result of ``of_server``.
    Raises OSError and amqp.AMQPError.
    """
    by_name = {}
    for first, *later in consumed:
        refused = _refused(connection, first)
        # Not if only the queue is refused: the first attempt has declared its
        # exchange durable by then, so that the second is refused as well.
        bearable = any(
            declaration.kind == 'exchange' and "'durable'" in reason
            for declaration, reason in refused) and any(
                not _refused(connection, attempt) for attempt in later)
        for declaration, reason in refused:
            name = declaration.kind, declaration.name
            if name not in by_name or by_name[name].bearable:
                by_name[name] = Refusal(declaration, reason, bearable)
    return list(by_name.values())


def _refused(connection, declarations):
    """Return the refused declarations: list of (Declaration, reason)."""
    return [(declaration, reason) for declaration in declarations
            if (reason := declaration.refusal(connection))]


def _attempts(consumer):
    """Return the attempts of a consumer, see ``of_server``: list."""
    attempts = [_pair(consumer, consumer.durable,
                      consumer.exchange_auto_delete)]
    # Quorum queues and streams are always durable.
    if consumer.durable and 'x-queue-type' not in consumer.queue_arguments:
        attempts.append(_pair(consumer, False, consumer.queue_auto_delete))
    return attempts


def _pair(consumer, durable, exchange_auto_delete):
    return (Declaration('exchange', consumer.exchange_name, {
                'type': consumer.type, 'durable': durable,
                'auto_delete': exchange_auto_delete}),
            Declaration('queue', consumer.queue_name, {
                'durable': durable, 'auto_delete': consumer.queue_auto_delete,
                'arguments': consumer.queue_arguments}))


class _Server(driver.Connection):
    """A connection that collects the consumers which a server declares.

    Each option of [oslo_messaging_rabbit] is an attribute.
    """

    def __init__(self, conf, url):
        self._options = getattr(
            common.ConfigOptsProxy(conf, url, _OPTIONS), _OPTIONS)
        self.rabbit_quorum_queue_config = self._get_quorum_configurations(
            self._options)
        # Without a manager each fanout queue gets a new name.
        self._q_manager = None
        self.consumers = []

    def __getattr__(self, name):
        return getattr(self._options, name)

    def declare_consumer(self, consumer):
        self.consumers.append(consumer)
