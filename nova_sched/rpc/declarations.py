"""What an RPC server declares, and what a broker has in another form.

The library makes the declarations from its options, as for a server, but
nothing is declared that is not there.  To declare what is there changes
nothing: the broker compares, and refuses what is of another form.
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
        """Return how many consume a queue; None if there is no such queue.

        connection: of amqp, open.  Raises OSError and amqp.AMQPError.
        """
        try:
            return self._declare(connection, passive=True).consumer_count
        except amqp.NotFound:
            return None

    def refusal(self, connection):
        """Return what differs where it is there in another form, or None.

        As ``consumers``.
        """
        if not self.name:
            return None    # the exchange that every broker has
        try:
            # Passive: it is looked up, and never made.
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

    reason: of the broker.  bearable: whether the library goes on with what is
    there, and with queues that are not durable.
    """

    declaration: Declaration
    reason: str
    bearable: bool


def of_server(conf, url):
    """Return what a server of this service consumes: list.

    Each is a list of the declarations of the library's attempts, of which the
    second is for when the first is refused for being durable; each of these a
    pair of an exchange and a queue.
    url: text, of a RabbitMQ.
    """
    server = _Server(conf, messaging.TransportURL.parse(conf, url))
    driver.declare_consumers(
        server, conf.control_exchange, messaging.Target(
            topic=conf.scheduler_topic, server=conf.host), None)
    return [_attempts(consumer) for consumer in server.consumers]


def refusals(connection, consumed):
    """Return what the broker refuses: list of Refusal.

    connection: of amqp, open.  consumed: of ``of_server``.
    Raises OSError and amqp.AMQPError.
    """
    found = {}
    for first, *again in consumed:
        refused = _refused(connection, first)
        bearable = _is_of_durable_exchange(refused) and any(
            not _refused(connection, attempt) for attempt in again)
        for declaration, reason in refused:
            place = declaration.kind, declaration.name
            if place not in found or found[place].bearable:
                found[place] = Refusal(declaration, reason, bearable)
    return list(found.values())


def _refused(connection, declarations):
    """Return those that are refused: list of (Declaration, reason)."""
    return [(declaration, reason) for declaration in declarations
            if (reason := declaration.refusal(connection))]


def _is_of_durable_exchange(refused):
    """Return whether a first attempt fails for its exchange being durable.

    Where its queue alone does, the exchange is durable by then.
    """
    return any(declaration.kind == 'exchange' and "'durable'" in reason
               for declaration, reason in refused)


def _attempts(consumer):
    """Return the declarations of a consumer's attempts, as ``of_server``."""
    attempts = [_pair(consumer, consumer.durable,
                      consumer.exchange_auto_delete)]
    # There are no quorum queues and streams that are not durable.
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
    """Stands in for a connection; keeps what a server declares on it.

    Each option of the library's is an attribute.
    """

    def __init__(self, conf, url):
        self._options = getattr(
            common.ConfigOptsProxy(conf, url, _OPTIONS), _OPTIONS)
        self.rabbit_quorum_queue_config = self._get_quorum_configurations(
            self._options)
        # The queue of a fanout has a new name each time.
        self._q_manager = None
        self.consumers = []

    def __getattr__(self, name):
        return getattr(self._options, name)

    def declare_consumer(self, consumer):
        self.consumers.append(consumer)
